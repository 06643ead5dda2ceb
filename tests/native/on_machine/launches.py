"""What an object loads, allocates and launches, and that its bits are the twin's."""

from __future__ import annotations

import gc
import hashlib
import json
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rust_kernel.decode import CudaError, DeviceArray, PtxSetError, SplitKDecode, ptx_text

ROOT = Path(__file__).resolve().parents[3]
PTX = ROOT / "rust_kernel" / "ptx"


@pytest.mark.parametrize("storage", ["f16", "f32"])
@pytest.mark.parametrize(("heads", "kv_heads"), [(16, 4), (1, 1), (4, 2), (3, 1), (5, 1), (6, 1), (7, 1), (8, 1)])
def test_bits_are_the_twins(bench: Any, heads: int, kv_heads: int, storage: str) -> None:
    decode = SplitKDecode(heads, kv_heads, 5000, storage=storage)
    assert (decode.target, decode.profile.name, decode.device) == ("sm_90", "h200", 0)
    for kv_len in (1, 65, 203):
        bench.require_bits(decode, bench.case(kv_len, heads, kv_heads, storage))


@pytest.mark.parametrize("policy", ["note", "fixed:7", "chunk:70"])
def test_any_policy_and_profile_runs(bench: Any, policy: str) -> None:
    for profile in ("gb10", "rtx4090"):
        decode = SplitKDecode(8, 2, 300, policy=policy, profile=profile)
        assert decode.profile.name == profile
        bench.require_bits(decode, bench.case(300))


def test_a_call_is_two_launches_and_nothing_else(driver: Any, bench: Any) -> None:
    decode = SplitKDecode(8, 2, 70_000)
    cases = [bench.case(kv_len) for kv_len in (1, 64, 400)]
    before = driver.counts()
    for case in cases:
        bench.call(decode, case.device, case.kv_len, out=case.out)
    after = driver.counts()
    assert after == before | {"launches": before["launches"] + 2 * len(cases), "programmatic": after["programmatic"]}


def test_a_result_does_not_depend_on_the_capacity_or_on_what_ran_before(bench: Any) -> None:
    exact, large = SplitKDecode(8, 2, 203), SplitKDecode(8, 2, 50_000)
    bench.require_bits(large, bench.case(1000))
    case = bench.case(203)
    assert exact.plan(203).key == large.plan(203).key
    bench.require_bits(exact, case)
    bench.require_bits(large, case)


def test_without_out_the_object_returns_its_own_array_each_time(bench: Any) -> None:
    decode, case = SplitKDecode(8, 2, 100), bench.case(100)
    first = bench.call(decode, case.device, 100)
    assert isinstance(first, DeviceArray)
    assert first.shape == (8, 256)
    bench.require_equal(first, case.expected(decode))
    assert bench.call(decode, case.device, 50) is first
    # The array outlives the object.
    wanted = case.expected(decode)
    bench.call(decode, case.device, 100)
    del decode
    gc.collect()
    bench.require_equal(first, wanted)


def test_what_an_object_made_goes_with_it(driver: Any, bench: Any) -> None:
    case = bench.case(5)
    before = driver.counts()
    decode = SplitKDecode(8, 2, 100)
    bench.require_bits(decode, case)
    held = driver.counts()
    assert held["allocations"] == before["allocations"] + 2
    assert held["loads"] == before["loads"] + 1
    assert held["retained"] == before["retained"] + 1
    del decode
    gc.collect()
    after = driver.counts()
    assert after["frees"] == before["frees"] + 2
    assert after["unloads"] == before["unloads"] + 1
    assert after["retained"] == before["retained"]


def test_two_objects_on_two_streams_give_the_bits_of_one_after_the_other(driver: Any, bench: Any) -> None:
    decoders, cases = [SplitKDecode(4, 1, 70) for _ in range(2)], [bench.case(70, 4, 1, seed=seed) for seed in (1, 2)]
    wanted = [case.expected(decode) for decode, case in zip(decoders, cases, strict=True)]
    streams = [driver.stream() for _ in decoders]
    for _ in range(20):  # a launch is over when it returns here; a GPU's hundred rounds are in test_decode_gpu.py
        outs = [driver.upload(np.full((4, 256), np.nan, dtype=np.float32)) for _ in cases]
        for decode, case, stream, out in zip(decoders, cases, streams, outs, strict=True):
            bench.call(decode, case.device, 70, out=out, stream=stream)
        for out, want in zip(outs, wanted, strict=True):
            bench.require_equal(out, want)


def test_threads_may_share_an_object_on_one_stream(driver: Any, bench: Any, context: int) -> None:
    decode = SplitKDecode(8, 2, 300)
    cases = [bench.case(300, seed=seed) for seed in range(4)]
    errors: list[BaseException] = []

    def work(case: Any) -> None:
        try:
            driver.set_current(context)
            for _ in range(5):
                bench.require_bits(decode, case)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(case,)) for case in cases]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def copied_set(folder: Path, text: str, kernels: dict[str, Any] | None = None) -> Path:
    """A folder with `text` as the PTX of sm_90, and a manifest that says so."""
    manifest = json.loads((PTX / "manifest.json").read_text())
    record = manifest["targets"]["sm_90"] | {"sha256": hashlib.sha256(text.encode()).hexdigest()}
    manifest["targets"] = {"sm_90": record | ({} if kernels is None else {"kernels": kernels})}
    folder.mkdir()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "sm_90.ptx").write_text(text)
    return folder


def test_a_folder_takes_the_place_of_the_ptx_in_the_library(bench: Any, tmp_path: Path) -> None:
    decode = SplitKDecode(8, 2, 100, ptx_dir=copied_set(tmp_path / "same", ptx_text("sm_90")))
    bench.require_bits(decode, bench.case(100))


def waiting_set(folder: Path, *kinds: str) -> Path:
    """A set whose kernels of these kinds, and no others, wait at their start for the kernel before them."""
    text = re.sub(r"^.*griddepcontrol.*\n", "", ptx_text("sm_90"), flags=re.MULTILINE)
    for kind in kinds:
        text = re.sub(
            rf"(\.entry splitk_{kind}_\w+\([^{{]*\{{\n)", r"\1\tgriddepcontrol.wait; // before anything else\n", text
        )
    return copied_set(folder, text)


@pytest.mark.parametrize("waiting", [(), ("partial",), ("reduce",), ("partial", "reduce")])
def test_a_kernel_that_waits_is_launched_programmatically(
    driver: Any, bench: Any, tmp_path: Path, waiting: tuple[str, ...]
) -> None:
    decode = SplitKDecode(8, 2, 300, ptx_dir=waiting_set(tmp_path / "set", *waiting))
    before = driver.counts()["programmatic"]
    for kv_len in (300, 65, 300):
        bench.require_bits(decode, bench.case(kv_len))
    assert driver.counts()["programmatic"] == before + 3 * len(waiting)


@pytest.mark.parametrize("late", ["partial", "reduce"])
def test_a_kernel_that_waits_too_late_fails(bench: Any, tmp_path: Path, late: str) -> None:
    waiting = waiting_set(tmp_path / "set", "partial", "reduce")
    # At its end instead: it is still launched programmatically.
    text = (waiting / "sm_90.ptx").read_text()
    entries = re.findall(rf"\.entry splitk_{late}_\w+\(.*?^\}}$", text, flags=re.DOTALL | re.MULTILINE)
    assert entries
    for entry in entries:
        assert entry.count("griddepcontrol.wait;") == 1
        moved = entry.replace("\tgriddepcontrol.wait;", "\t").replace("\tret;", "\tgriddepcontrol.wait;\n\tret;")
        text = text.replace(entry, moved)
    decode, case = SplitKDecode(8, 2, 100, ptx_dir=copied_set(tmp_path / "late", text)), bench.case(100)

    def twice() -> None:
        # What the partial kernel overwrites is what an earlier call's reduce kernel reads.
        bench.call(decode, case.device, 100, out=case.out)
        bench.call(decode, case.device, 100, out=case.out)

    with pytest.raises(CudaError, match=r"^cuLaunchKernelEx failed with CUDA_ERROR_LAUNCH_FAILED: "):
        twice()


def test_a_missing_kernel_is_refused_before_anything_is_loaded(driver: Any, bench: Any, tmp_path: Path) -> None:
    entry = SplitKDecode(8, 2, 100).plan(100).partial_entry
    text = ptx_text("sm_90")
    before = driver.counts()
    with pytest.raises(PtxSetError, match=rf"^sm_90\.ptx has no entry {entry}: "):
        SplitKDecode(8, 2, 100, ptx_dir=copied_set(tmp_path / "text", text.replace(entry, "other")))
    with pytest.raises(PtxSetError, match=rf"^manifest\.json does not name the kernel {entry} of sm_90\.ptx$"):
        SplitKDecode(8, 2, 100, ptx_dir=copied_set(tmp_path / "manifest", text, {}))
    assert driver.counts() == before
    bench.require_bits(SplitKDecode(8, 2, 100), bench.case(100))


def test_what_the_drivers_assembler_says_is_in_the_error(driver: Any, bench: Any, tmp_path: Path) -> None:
    text = ptx_text("sm_90").replace("fma.rn.f32", "fma.up.f32")
    before = driver.counts()
    with pytest.raises(CudaError, match=r"^cuModuleLoadDataEx failed with CUDA_ERROR_INVALID_PTX: .*fma\.up") as caught:
        SplitKDecode(8, 2, 100, ptx_dir=copied_set(tmp_path / "set", text))
    assert (caught.value.call, caught.value.code, caught.value.name) == (
        "cuModuleLoadDataEx", 218, "CUDA_ERROR_INVALID_PTX",
    )  # fmt: skip
    assert "\n" not in str(caught.value)
    assert driver.counts() == before
    bench.require_bits(SplitKDecode(8, 2, 100), bench.case(100))


def test_a_kernel_that_fails_is_one_line_and_the_next_launch_works(bench: Any) -> None:
    decode, case = SplitKDecode(8, 2, 100), bench.case(100)
    # K is said to have rows that its memory does not have: nothing but a launch can find out.
    k = bench.driver.upload(np.zeros((50, 2, 256), dtype=np.float16))
    k.shape = (100, 2, 256)
    with pytest.raises(CudaError, match=r"^cuLaunchKernel(Ex)? failed with CUDA_ERROR_LAUNCH_FAILED: "):
        decode(case.device[0], k, case.device[2], 100, out=case.out)
    bench.require_bits(decode, case)
