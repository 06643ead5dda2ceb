"""`rust_kernel.decode` without a driver: what is refused before one is looked for, and which PTX a device runs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rust_kernel import decode
from rust_kernel.decode import DeviceUnavailableError, PtxSetError, SplitKDecode
from rust_kernel.plan import PlanError, tile_table
from rust_kernel.ptx import PtxModule

PTX = Path(__file__).resolve().parents[2] / "rust_kernel" / "ptx"
TARGETS = ["sm_80", "sm_89", "sm_90", "sm_120", "sm_121"]


def test_the_library_holds_the_files_of_the_tree() -> None:
    assert decode.ptx_targets() == TARGETS
    for target in TARGETS:
        hint = "the native module is older than the PTX: run `make setup`"
        assert decode.ptx_text(target) == (PTX / f"{target}.ptx").read_text(), hint
    with pytest.raises(ValueError, match=r'^target is "sm_91"; allowed: sm_80, sm_89, sm_90, sm_120, sm_121$'):
        decode.ptx_text("sm_91")


@pytest.mark.parametrize("target", TARGETS)
def test_every_kernel_of_the_tile_table_is_there_with_the_parameters_of_the_contract(target: str) -> None:
    module = PtxModule(decode.ptx_text(target), name=f"{target}.ptx")
    assert module.target == target
    params = {entry.name: [param[1] for param in entry.params] for entry in module.entries}
    for row in tile_table():
        for group_size in range(row["group_size"][0], row["group_size"][1] + 1):
            entry = f"splitk_partial_{row['storage']}_g{group_size}_d{row['head_dim']}_{row['tile'].name}"
            assert params[entry] == ["u64"] * 6 + ["u32"] * 3 + ["u64"] * 5
        assert params[f"splitk_reduce_d{row['head_dim']}"] == ["u64"] * 4 + ["u32", "u64"]


@pytest.mark.parametrize(
    ("arch", "target"),
    [(80, "sm_80"), (86, "sm_80"), (89, "sm_89"), (90, "sm_90"), (100, "sm_90"), (120, "sm_120"), (121, "sm_121")],
)
def test_a_device_runs_its_own_ptx_or_the_nearest_older_one(arch: int, target: str) -> None:
    assert decode.choose_target(arch) == target


def test_a_device_older_than_all_ptx_is_refused() -> None:
    with pytest.raises(DeviceUnavailableError, match=r"^the device is sm_75; allowed: sm_80 and later$"):
        decode.choose_target(75)


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        ((16, 3, 4096), {}, "num_q_heads is 16"),
        ((72, 8, 4096), {}, "num_q_heads is 72"),
        ((16, 4, 0), {}, "kv_capacity is 0; allowed: a whole number from 1 to 2147483647"),
        ((16, 4, 1 << 31), {}, "kv_capacity is 2147483648"),
        ((0, 4, 4096), {}, "num_q_heads is 0; allowed: a whole number from 1"),
        ((16, 4, 4096), {"head_dim": 72}, "head_dim is 72"),
        ((16, 4, 4096), {"storage": "bf16"}, "bf16"),
        ((16, 4, 4096), {"policy": "many"}, "policy"),
        ((16, 4, 4096), {"profile": "h300"}, "profile"),
        ((16, 4, 1 << 30), {"policy": "chunk:1"}, "n_splits is 1073741824"),
        ((16, 4, 4096), {"device": -1}, "device is -1"),
    ],
)
def test_what_has_no_kernel_is_refused_before_a_driver_is_looked_for(
    arguments: tuple[int, int, int], keywords: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        SplitKDecode(*arguments, **keywords)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, PlanError) or message.startswith(("kv_capacity", "device"))


@pytest.mark.parametrize("arguments", [("16", 4, 100), (16, 4.0, 100), (16, 4, None), (True, 1, 100)])
def test_what_is_no_whole_number_is_a_type_error(arguments: tuple[Any, Any, Any]) -> None:
    with pytest.raises(TypeError, match=r"allowed: a whole number from 1 to "):
        SplitKDecode(*arguments)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return Path(shutil.copytree(PTX, tmp_path / "ptx"))


def refusal(folder: Path) -> str:
    with pytest.raises(PtxSetError) as caught:
        SplitKDecode(16, 4, 4096, ptx_dir=folder)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, ValueError)
    return str(caught.value)


def edit(folder: Path, **changes: Any) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | changes))


def test_an_altered_file_is_found(copied: Path) -> None:
    text = (copied / "sm_89.ptx").read_text()
    (copied / "sm_89.ptx").write_text(text.replace("fma.rn.f32", "fma.rz.f32", 1))
    assert refusal(copied) == "sm_89.ptx is not the file that manifest.json describes"


def test_a_manifest_of_another_version_is_refused(copied: Path) -> None:
    edit(copied, schema="splitk-oxide-manifest/2")
    wanted = 'manifest.json: schema is "splitk-oxide-manifest/2"; allowed: "splitk-oxide-manifest/1"'
    assert refusal(copied) == wanted


def test_kernels_of_another_contract_are_refused(copied: Path) -> None:
    edit(copied, contract="splitk/2")
    assert refusal(copied) == 'manifest.json: contract is "splitk/2"; allowed: "splitk/1"'


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[1]"])
def test_what_is_no_manifest_is_refused(copied: Path, content: bytes) -> None:
    (copied / "manifest.json").write_bytes(content)
    assert "manifest.json" in refusal(copied)


def test_a_missing_or_oversized_file_is_refused(copied: Path, tmp_path: Path) -> None:
    (copied / "sm_90.ptx").write_text(" " * ((16 << 20) + 1))
    assert refusal(copied).endswith("sm_90.ptx cannot be read: longer than 16777216 bytes")
    (copied / "sm_90.ptx").unlink()
    assert "sm_90.ptx cannot be read: " in refusal(copied)
    assert "manifest.json cannot be read: " in refusal(tmp_path / "absent")


def test_without_a_driver_there_is_one_line_and_everything_else_works() -> None:
    program = (
        "from rust_kernel import decode, plan, twin\n"
        "for _ in range(2):\n"
        "    try: decode.SplitKDecode(16, 4, 4096, device=0)\n"
        "    except decode.DeviceUnavailableError as error: print(error)\n"
        "assert plan.make_plan(kv_len=5, num_q_heads=16, num_kv_heads=4).n_splits == 1\n"
        "assert twin.faults() and decode.choose_target(90) == 'sm_90'\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    if not done.stdout:
        pytest.skip("this machine has a CUDA driver and a device")
    first, second = done.stdout.splitlines()
    assert first == second
    assert first.startswith(("no CUDA driver: ", "no usable CUDA driver: "))
    assert done.stderr == ""


def test_exceptions_are_of_documented_kinds() -> None:
    assert issubclass(decode.PtxSetError, ValueError)
    for error in (decode.ContextError, decode.CudaError, decode.DeviceUnavailableError):
        assert issubclass(error, RuntimeError)
        assert error.__module__ == "rust_kernel.decode"
    assert (decode.CudaError.call, decode.CudaError.code, decode.CudaError.name) == ("", 0, "")
