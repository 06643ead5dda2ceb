"""A device without a PTX file of its own (sm_86), and one that is older than every file (sm_75)."""

from __future__ import annotations

from typing import Any

import pytest

from rust_kernel.decode import DeviceUnavailableError, PtxSetError, SplitKDecode

LINE = r"^no PTX for sm_86: the kernels of sm_80 run, assembled by the driver$"


def test_the_nearest_older_file_runs_and_a_warning_says_so(bench: Any) -> None:
    with pytest.warns(RuntimeWarning, match=LINE) as warned:
        decode = SplitKDecode(8, 2, 300)
    assert len(warned) == 1
    assert warned[0].filename == __file__
    assert (decode.target, decode.profile.name) == ("sm_80", "generic")
    bench.require_bits(decode, bench.case(300))


def test_a_warning_that_is_an_error_leaves_nothing_behind(driver: Any, bench: Any) -> None:
    before = driver.counts()
    with pytest.raises(RuntimeWarning, match=LINE):
        SplitKDecode(8, 2, 300)
    after = driver.counts()
    assert after["allocations"] - before["allocations"] == after["frees"] - before["frees"]
    assert after["loads"] - before["loads"] == after["unloads"] - before["unloads"]
    assert after["retained"] == before["retained"]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_profile_that_asks_for_a_tile_of_another_architecture_is_refused() -> None:
    with pytest.raises(PtxSetError, match=r"^[^\n]* the kernel splitk_partial_f16_g4_d256_w12r4 of sm_80\.ptx$"):
        SplitKDecode(8, 2, 34_642, profile="h200", device=0)
    assert SplitKDecode(8, 2, 34_641, profile="h200", device=0).plan(34_641).tile.name == "w8r4"


def test_a_device_older_than_every_file_is_refused(driver: Any, bench: Any) -> None:
    before = driver.counts()
    with pytest.raises(DeviceUnavailableError, match=r"^the device is sm_75; allowed: sm_80 and later$"):
        SplitKDecode(8, 2, 300, device=1)
    assert driver.counts() == before
