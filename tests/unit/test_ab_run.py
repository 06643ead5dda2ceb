from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from diffcheck.ab import lock as gpu
from diffcheck.ab.bench import BASELINE, CANDIDATE, EMPTY, planted, planted_share
from diffcheck.ab.beside import BLOCKS
from diffcheck.ab.merge import Earlier, earlier_part, require_replaceable
from diffcheck.ab.pace import Pace
from diffcheck.ab.recompute import contradictions
from diffcheck.ab.rows import FLOOR_PLACES
from diffcheck.ab.run import Asked, Run, facts_of, journal_path, plan_controls
from diffcheck.errors import BadInputError, DiffcheckError, MissingRequirementError
from diffcheck.experiment.rows import experiment_rows
from diffcheck.receipts.ab.file import read_ab_receipt, write_ab_receipt
from diffcheck.receipts.ab.host import ForeignProcess, HostFacts
from diffcheck.receipts.ab.model import AbReceipt
from diffcheck.selftest.model import SelfTestNotRun
from tests.factory.ab import ab_content, small_experiment
from tests.factory.bench import FormulaBench, Watch

# Of fewer blocks an interval is too often on the wrong side of 1.
BUDGET = {"interval_width": 0.02, "seconds_per_row": 60.0, "min_blocks": 12, "max_blocks": 16}


def _pace() -> Pace:
    ticks: Iterator[float] = itertools.count(0.0, 0.01)
    return Pace(0.0, lambda _: None, lambda: next(ticks))


def _bench(**changes: object) -> FormulaBench:
    return FormulaBench(HostFacts.model_validate(ab_content("h200")["host"]), **changes)  # type: ignore[arg-type]


def _asked(folder: Path, rungs: tuple[int, ...] = ()) -> Asked:
    loaded = small_experiment(budget=BUDGET)
    reason = SelfTestNotRun(reason="not asked for")
    return Asked(loaded, "h200", rungs, ("ab", "promote-oxide"), folder / "h200.json", _pace(), reason)


def _run(bench: FormulaBench, asked: Asked) -> AbReceipt:
    facts = facts_of(bench, asked)
    receipt, journal = Run(bench, asked, facts, earlier_part(asked.receipt, facts.header)).measure(lambda _: None)
    write_ab_receipt(asked.receipt, receipt)
    journal.remove()
    return receipt


def test_a_whole_run_has_every_row_its_controls_and_floors(tmp_path: Path) -> None:
    bench = _bench()
    receipt = _run(bench, _asked(tmp_path))
    assert receipt.status == "complete"
    assert [row.status for row in receipt.rows] == ["timed", "timed"]
    assert {(control.kind, control.planted_percent) for control in receipt.controls} == {
        ("a/a", 0.0), ("planted", 2.0), ("planted", 10.0),
    }  # fmt: skip
    assert all(control.passed for control in receipt.controls)
    assert all({floor.name for floor in row.floors} == {"empty", "read"} for row in receipt.rows)
    assert contradictions(receipt) == []
    assert read_ab_receipt(tmp_path / "h200.json") == receipt
    assert not journal_path(tmp_path / "h200.json").exists()
    assert all(row.closed for row in bench.opened)


def test_what_stands_beside_the_arms_fits_them_slow_downs_or_not(tmp_path: Path) -> None:
    # The device is too hot now and then: some blocks are dropped, and some with peers are taken again.
    hot = Watch(throttle=lambda reading: ("hw_thermal_slowdown",) if reading % 31 == 0 else ())
    receipt = _run(_bench(monitor=hot, peers={"flashinfer": 1.5, "torch-flash": 1.2}), _asked(tmp_path))
    assert {len(peer.beside) for row in receipt.rows for peer in row.peers if peer.samples_us} == {BLOCKS}
    assert any(row.timing and row.timing.dropped_blocks for row in receipt.rows)
    assert contradictions(receipt) == []


def test_floors_take_turns_with_the_arms_there_and_back(tmp_path: Path) -> None:
    seen: list[str] = []
    receipt = _run(_bench(on_replay=seen.append), _asked(tmp_path))
    names = [BASELINE, CANDIDATE, EMPTY, "read, 1", "read, 2"]
    # Of a place's graphs, each is replayed once untimed.
    turn = [*names, *names, *reversed(names)] * FLOOR_PLACES
    first = seen.index(EMPTY) - 2
    assert seen[first : first + len(turn)] == turn
    for row in receipt.rows:
        assert {len(floor.samples_us) for floor in row.floors} == {2 * FLOOR_PLACES}


def test_a_row_that_fails_parity_is_not_timed_and_fails_the_run(tmp_path: Path) -> None:
    asked = _asked(tmp_path)
    first = experiment_rows(asked.experiment.content)[0].name
    receipt = _run(_bench(fails=frozenset({first})), asked)
    assert receipt.status == "fails"
    assert receipt.rows[0].timing is None
    assert receipt.rows[1].timing is not None


def test_parts_are_put_together(tmp_path: Path) -> None:
    assert _run(_bench(), _asked(tmp_path, (4096,))).status == "partial"
    whole = _run(_bench(), _asked(tmp_path, (60000,)))
    assert whole.status == "complete"
    assert contradictions(whole) == []
    assert [part.rungs for part in whole.parts] == [(4096,), (60000,)]


def test_a_part_of_another_device_is_not_completed(tmp_path: Path) -> None:
    _run(_bench(), _asked(tmp_path, (4096,)))
    other = _bench()
    other.facts = other.facts.model_copy(update={"uuid_sha256": "3" * 64})
    assert _run(other, _asked(tmp_path, (60000,))).status == "partial"


class _LostError(DiffcheckError):
    pass


def _failing_after(replays: int) -> FormulaBench:
    count = itertools.count()

    def fail(_: str) -> None:
        if next(count) >= replays:
            raise _LostError("row random-16x4-L60000-f16: the GPU failed (CUDA_ERROR_LAUNCH_FAILED)")

    return _bench(on_replay=fail)


def test_a_gpu_that_is_lost_midway_leaves_a_journal_and_no_receipt_and_the_next_run_goes_on(tmp_path: Path) -> None:
    asked = _asked(tmp_path)
    replays: list[str] = []
    _run(_bench(on_replay=replays.append), _asked(tmp_path / "whole"))
    lost = _failing_after(len(replays) - 5)
    with pytest.raises(_LostError):
        _run(lost, asked)
    assert not asked.receipt.exists()
    assert lost.opened[-1].closed
    again = _bench()
    receipt = _run(again, asked)
    assert [opened.row.name for opened in again.opened] == ["random-16x4-L60000-f16"]
    assert receipt.parts[-1].resumed
    assert contradictions(receipt) == []
    assert receipt.status == "complete"


def test_a_journal_whose_last_line_was_cut_off_gives_the_rows_before_it(tmp_path: Path) -> None:
    asked = _asked(tmp_path)
    with pytest.raises(_LostError):
        _run(_failing_after(60), asked)
    path = journal_path(asked.receipt)
    path.write_text(path.read_text(encoding="utf-8") + '{"row": {"case"', encoding="utf-8")
    again = _bench()
    assert _run(again, asked).status == "complete"


def test_a_journal_of_other_sources_is_not_taken_up(tmp_path: Path) -> None:
    asked = _asked(tmp_path)
    with pytest.raises(_LostError):
        _run(_failing_after(60), asked)
    path = journal_path(asked.receipt)
    header, *rest = path.read_text(encoding="utf-8").splitlines()
    changed = {**json.loads(header), "commit": "c" * 40}
    path.write_text("\n".join([json.dumps(changed), *rest]), encoding="utf-8")
    again = _bench()
    _run(again, asked)
    assert len(again.opened) == 2


def test_throttled_blocks_are_dropped_and_counted_and_a_power_cap_is_not(tmp_path: Path) -> None:
    hot = Watch(throttle=lambda reading: ("hw_thermal_slowdown",) if 8 < reading < 16 else ("sw_power_cap",))
    receipt = _run(_bench(monitor=hot), _asked(tmp_path))
    timing = receipt.rows[0].timing
    assert timing is not None
    assert 0 < timing.dropped_blocks < 4
    assert any("dropped, throttled" in warning for warning in receipt.warnings)
    assert not any("power cap" in warning for warning in receipt.warnings)


def test_a_power_cap_of_one_side_is_told(tmp_path: Path) -> None:
    last = [""]
    uneven = Watch(throttle=lambda _: ("sw_power_cap",) if last[0] == CANDIDATE else ())

    def remember(name: str) -> None:
        last[0] = name

    receipt = _run(_bench(monitor=uneven, on_replay=remember), _asked(tmp_path))
    assert any("power cap was met by one side" in warning for warning in receipt.warnings)
    assert all(row.timing and not row.timing.dropped_blocks for row in receipt.rows)


def test_a_device_that_throttles_all_the_time_is_an_error_in_one_line(tmp_path: Path) -> None:
    hot = Watch(throttle=lambda _: ("hw_slowdown",))
    with pytest.raises(DiffcheckError, match=r"held its clock down all the time \(throttled: hw_slowdown\)"):
        _run(_bench(monitor=hot), _asked(tmp_path))


def test_where_nothing_is_known_of_throttling_nothing_is_dropped(tmp_path: Path) -> None:
    receipt = _run(_bench(monitor=Watch(throttle=lambda _: None, users=None)), _asked(tmp_path))
    assert receipt.gpu_users.before is None
    assert all(row.timing and not row.timing.dropped_blocks for row in receipt.rows)


def test_users_of_every_part_are_kept(tmp_path: Path) -> None:
    other = ForeignProcess(kind="compute", state="live", memory_bytes=1)
    _run(_bench(monitor=Watch(users=(other,))), _asked(tmp_path, (4096,)))
    whole = _run(_bench(), _asked(tmp_path, (60000,)))
    assert whole.gpu_users.before == (other,)


def test_a_slow_down_that_is_not_found_fails_its_control(tmp_path: Path) -> None:
    receipt = _run(_bench(deaf=True), _asked(tmp_path))
    planted = [control for control in receipt.controls if control.kind == "planted"]
    assert [control.passed for control in planted] == [False, False]
    failed = sum(not control.passed for control in receipt.controls)
    assert sum("did not pass" in warning for warning in receipt.warnings) == failed


def test_a_planted_share_is_a_whole_number_of_calls() -> None:
    assert planted_share(planted(2.0)) * 50 == 1
    assert planted_share(planted(2.5)) * 40 == 1


def test_controls_lie_where_launches_and_where_bytes_decide() -> None:
    rows = experiment_rows(small_experiment().content)
    plans = plan_controls(rows, (2.0, 10.0), 60_000)
    assert plans["random-16x4-L4096-f16"].a_a
    assert plans["random-16x4-L60000-f16"].planted_percent == (2.0, 10.0)


def test_a_file_that_is_no_receipt_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(BadInputError, match=r"notes\.json"):
        require_replaceable(path)


def test_a_second_run_is_refused_while_one_holds_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with gpu.gpu_lock(path), pytest.raises(MissingRequirementError, match="another run holds"), gpu.gpu_lock(path):
        pass
    with gpu.gpu_lock(path):
        pass


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
def test_a_killed_holder_leaves_the_lock_free(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    code = (
        "import sys, time, pathlib; from diffcheck.ab.lock import gpu_lock\n"
        "with gpu_lock(pathlib.Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(MissingRequirementError), gpu.gpu_lock(path):
            pass
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
    with gpu.gpu_lock(path):
        pass


def test_the_lock_file_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert gpu.lock_path(tmp_path / "mine", "0000:01:00.0") == tmp_path / "mine"
    monkeypatch.setenv(gpu.ENVIRONMENT, str(tmp_path / "shared"))
    assert gpu.lock_path(None, "0000:01:00.0") == tmp_path / "shared"
    monkeypatch.delenv(gpu.ENVIRONMENT)
    assert gpu.lock_path(None, "0000:01:00.0").name == "diffcheck-gpu-0000-01-00-0.lock"


def test_nothing_earlier() -> None:
    assert not Earlier().has("random-16x4-L4096-f16")


def test_a_lock_file_of_another_user_can_be_taken() -> None:
    with tempfile.TemporaryDirectory(prefix="diffcheck-lock-") as folder:
        path = Path(folder) / "lock"
        path.touch()
        path.chmod(0o444)
        Path(folder).chmod(0o755)
        user = os.geteuid()
        try:
            if user == 0:
                os.seteuid(65534)
            held = pytest.raises(MissingRequirementError, match="another run holds")
            with gpu.gpu_lock(path), held, gpu.gpu_lock(path):
                pass
        finally:
            os.seteuid(user)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/null")])
def test_a_lock_is_a_regular_file(make: Callable[[Path], object], tmp_path: Path) -> None:
    make(tmp_path / "lock")
    with pytest.raises(BadInputError, match="lock"), gpu.gpu_lock(tmp_path / "lock"):
        pass
