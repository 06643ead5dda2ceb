"""The hashes that make a receipt fresh: the lock is that of this tree, and a moved source is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffcheck.cli.main import run
from diffcheck.errors import BadInputError, DiffcheckError
from diffcheck.subjects import lock as lock_module
from diffcheck.subjects import tree
from diffcheck.subjects.lock import RENEW, computed_lock, read_lock
from diffcheck.subjects.sources import locked_sources
from diffcheck.subjects.tree import newest_target, run_subjects, tree_subjects


def test_the_lock_is_that_of_this_tree() -> None:
    assert read_lock() == computed_lock(), f"run: {RENEW}"
    assert read_lock().moved() == ()


def test_a_moved_source_is_found(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    moved = {**locked_sources(), "docs/contract.md": "0" * 64}
    monkeypatch.setattr(lock_module, "locked_sources", lambda: moved)
    assert read_lock().moved() == ("docs/contract.md",)
    assert run(["subjects"]) == 1
    assert "docs/contract.md" in capsys.readouterr().out
    with pytest.raises(DiffcheckError, match=r"docs/contract\.md"):
        run_subjects(("builder", "oxide"), "sm_90")


def test_a_lock_of_another_module_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "plans_sha256", lambda: "0" * 64)
    with pytest.raises(DiffcheckError, match="plans"):
        run_subjects(("builder", "oxide"), "sm_90")


def test_a_run_and_a_decision_name_the_same() -> None:
    for target in ("sm_89", "sm_121", "sm_90"):
        assert run_subjects(("builder", "oxide"), target) == tree_subjects(("builder", "oxide"), target)


def test_each_target_has_its_own_ptx() -> None:
    hashes = {
        ptx.sha256 for target in read_lock().builder_ptx for ptx in tree_subjects(("builder", "oxide"), target).ptx
    }
    assert len(hashes) == 2 * len(read_lock().builder_ptx)


def test_arms_of_one_builder_share_its_module() -> None:
    first, second = tree_subjects(("naive", "builder"), "sm_90").ptx
    assert first.sha256 == second.sha256


@pytest.mark.parametrize(
    ("arch", "target"), [("sm_86", "sm_80"), ("sm_89", "sm_89"), ("sm_103", "sm_90"), ("sm_121", "sm_121")]
)
def test_a_device_runs_the_newest_ptx_that_is_not_newer(arch: str, target: str) -> None:
    assert newest_target(arch, read_lock()) == target


def test_what_has_no_ptx_is_refused() -> None:
    with pytest.raises(BadInputError, match="sm_80 or newer"):
        newest_target("sm_75", read_lock())
    with pytest.raises(BadInputError, match="made of kernels"):
        tree_subjects(("twin",), "sm_90")
    with pytest.raises(BadInputError, match="target"):
        tree_subjects(("builder",), "sm_70")


def test_lock_that_cannot_be_read_says_how_to_renew_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(lock_module, "lock_path", lambda: tmp_path / "none.json")
    with pytest.raises(DiffcheckError, match="subjects --update"):
        read_lock()
