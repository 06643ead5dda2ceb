"""The column of llama.cpp's own operator benchmark."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from diffcheck.ab.peers.llama_cpp import NAME, Measured, read_llama_cpp, with_llama_cpp
from diffcheck.errors import BadInputError
from diffcheck.receipts.ab.model import AbReceipt
from diffcheck.receipts.ab.rows import PeerRow
from tests.factory.ab import ab_content, small_experiment

FIELDS = (
    *("test_time", "build_commit", "backend_name", "op_name", "op_params", "test_mode", "supported", "passed"),
    *("error_message", "time_us", "flops", "bandwidth_gb_s", "memory_kb", "n_runs", "device_description"),
    "backend_reg_name",
)
COMMIT = "d006858"


def parameters(kv: int = 4096, changes: dict[str, str] | None = None) -> str:
    said = {"hsk": "256", "hsv": "256", "nh": "4", "nr23": "[4,1]", "kv": str(kv), "nb": "1", "mask": "1"}
    said |= {"sinks": "0", "max_bias": "0.000000", "logit_softcap": "0.000000", "prec": "f32"}
    said |= {"type_K": "f16", "type_V": "f16", "permute": "[0,1,2,3]"} | (changes or {})
    return ",".join(f"{name}={value}" for name, value in said.items() if value)


def sql(params: str, us: str = "12.500000", **changes: str) -> str:
    values = dict(zip(FIELDS, [""] * len(FIELDS), strict=True))
    values.update(
        {"build_commit": COMMIT, "backend_name": "CUDA0", "op_name": "FLASH_ATTN_EXT", "op_params": params},
        test_mode="perf", supported="1", passed="1", time_us=us, backend_reg_name="CUDA",
        device_description="NVIDIA H200",
    )  # fmt: skip
    values.update(changes)
    quoted = ", ".join(f"'{value}'" for value in values.values())
    return f"INSERT INTO test_backend_ops ({', '.join(FIELDS)}) VALUES ({quoted});\n"


def read(folder: Path, text: str, commit: str | None = None) -> tuple[Measured, ...]:
    path = folder / "perf.txt"
    path.write_text("CREATE TABLE IF NOT EXISTS test_backend_ops (\n  test_time TEXT\n);\n\n" + text, encoding="utf-8")
    return read_llama_cpp(path, commit)


def column(measured: tuple[Measured, ...]) -> list[PeerRow]:
    receipt = AbReceipt.model_validate(ab_content("h200", small_experiment()))
    made = with_llama_cpp(receipt, measured)
    assert with_llama_cpp(made, measured) == made
    return [next(peer for peer in row.peers if peer.name == NAME) for row in made.rows]


def test_a_row_of_the_same_shape_gets_its_time_ratio_and_commit(tmp_path: Path) -> None:
    short, long = column(read(tmp_path, sql(parameters())))
    assert (short.version, short.samples_us, short.median_us) == (COMMIT, (12.5,), 12.5)
    receipt = AbReceipt.model_validate(ab_content("h200", small_experiment()))
    timing = receipt.rows[0].timing
    assert timing is not None
    assert short.ratio == 12.5 / timing.baseline_us
    assert (long.median_us, long.version, long.reason) == (None, COMMIT, "not measured in this shape")


@pytest.mark.parametrize(
    "older",
    [{"hsk": "", "hsv": "", "hs": "256"}, {"type_K": "", "type_V": "", "type_KV": "f16"}, {"nr23": "", "nr": "4"}],
)
def test_older_spellings_are_read(older: dict[str, str], tmp_path: Path) -> None:
    assert column(read(tmp_path, sql(parameters(changes=older))))[0].median_us == 12.5


@pytest.mark.parametrize(
    "other",
    [
        *({"nh": "8"}, {"nr23": "[6,1]"}, {"nr23": "[4,2]"}, {"nb": "2"}, {"hsv": "128"}, {"type_K": "q8_0"}),
        *({"type_V": "f32"}, {"sinks": "1"}, {"max_bias": "8.000000"}, {"logit_softcap": "10.000000"}),
    ],
)
def test_another_shape_is_not_taken(other: dict[str, str], tmp_path: Path) -> None:
    assert column(read(tmp_path, sql(parameters(changes=other))))[0].reason == "not measured in this shape"


def test_another_device_is_not_taken(tmp_path: Path) -> None:
    other = column(read(tmp_path, sql(parameters(), device_description="NVIDIA A100")))
    assert other[0].reason == "on another device"
    cpu = column(read(tmp_path, sql(parameters(), backend_name="CPU", backend_reg_name="CPU")))
    assert cpu[0].reason == "on no CUDA device"
    unnamed = column(read(tmp_path, sql(parameters(), device_description="", backend_reg_name="")))
    assert unnamed[0].median_us == 12.5


def test_the_consoles_text_needs_the_commit(tmp_path: Path) -> None:
    text = (
        "Backend 1/2: CUDA0\n  Device description: NVIDIA H200\n  Device memory: 143156 MB (142000 MB free)\n\n"
        f"  FLASH_ATTN_EXT({parameters()}):              8190 runs -    12.50 us/run -  33.55 MFLOP/run - "
        "\x1b[1;34m  2.68 TFLOPS\x1b[0m\n"
        f"  FLASH_ATTN_EXT({parameters(60000)}): not supported\n"
    )
    with pytest.raises(BadInputError, match="--llama-cpp-commit"):
        read(tmp_path, text)
    assert [peer.median_us for peer in column(read(tmp_path, text, COMMIT))] == [12.5, None]


@pytest.mark.parametrize("commit", ["HEAD", "d00685", "x" * 40, "1" * 40])
def test_a_commit_that_is_none_or_another_is_refused(commit: str, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="llama-cpp-commit"):
        read(tmp_path, sql(parameters()), commit)


@pytest.mark.parametrize(
    "text",
    [
        "",
        '"op_name","op_params","supported"\n"FLASH_ATTN_EXT","hsk=256","1"\n',
        sql(parameters(), "0.000000"),
        sql(parameters(), "nan"),
        sql(parameters(), test_mode="test"),
        sql(parameters(), supported="0"),
        sql(parameters(), op_name="MUL_MAT"),
    ],
)
def test_a_file_without_times_of_the_operator_is_refused_in_one_line(text: str, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"what `test-backend-ops perf .* printed; its CSV has no times") as refused:
        read(tmp_path, text)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["sinks", "max_bias", "logit_softcap"])
def test_what_is_no_number_is_refused_as_the_file_is_read(name: str, tmp_path: Path) -> None:
    line = f"llama-cpp, {name} of FLASH_ATTN_EXT: 'yes' is not allowed; allowed: a number"
    with pytest.raises(BadInputError, match=f"^{line}$"):
        read(tmp_path, sql(parameters(changes={name: "yes"})))


@pytest.mark.parametrize("second", ["12.500000", "13.500000"])
def test_one_line_twice_is_refused(second: str, tmp_path: Path) -> None:
    line = r"kv=4096,.* is not allowed; allowed: one time of it, and two are of CUDA, NVIDIA H200$"
    with pytest.raises(BadInputError, match=line):
        read(tmp_path, sql(parameters()) + sql(parameters(60000)) + sql(parameters(), second))
    other = sql(parameters(), second, device_description="NVIDIA A100")
    assert column(read(tmp_path, sql(parameters()) + other))[0].median_us == 12.5


@pytest.mark.parametrize("masks", [("0", "1"), ("1", "0")])
def test_of_two_lines_of_one_shape_the_fastest_is_taken_and_named(masks: tuple[str, str], tmp_path: Path) -> None:
    times = {"0": "11.500000", "1": "12.500000"}
    text = "".join(sql(parameters(changes={"mask": mask}), times[mask]) for mask in masks)
    short = column(read(tmp_path, text))[0]
    assert (short.median_us, short.version) == (11.5, f"{COMMIT}, the fastest of 2: mask=0")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="No such file"):
        read_llama_cpp(tmp_path / "none.sql")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "bench.sql")
    with pytest.raises(BadInputError, match="a regular file"):
        read_llama_cpp(tmp_path / "bench.sql")
