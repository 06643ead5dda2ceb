"""The hashes that make a receipt fresh: the lock is that of this tree, and a moved source is found."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

import diffcheck
from diffcheck import digest
from diffcheck.cases import Case, Storage
from diffcheck.cli.main import run
from diffcheck.errors import BadInputError, DiffcheckError
from diffcheck.planning import plan_for
from diffcheck.subjects import lock as lock_module
from diffcheck.subjects import tree
from diffcheck.subjects.lock import RENEW, Profile, computed_lock, read_lock
from diffcheck.subjects.sources import NO_TIMING, TIMING_SOURCES, locked_sources
from diffcheck.subjects.tree import newest_target, run_subjects, tree_subjects
from diffcheck.suites import GEOMETRIES, RUNG_LENGTHS


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


@pytest.mark.parametrize("profile", read_lock().profiles, ids=lambda one: one.name)
@pytest.mark.parametrize("policy", ["table", "note", "three-quarter-wave", "fixed:9", "chunk:77"])
@pytest.mark.parametrize("storage", ["f16", "f32"])
def test_the_lock_plans_as_the_planner_does(profile: Profile, policy: str, storage: Storage) -> None:
    for heads, kv_len in product(GEOMETRIES, (1, *RUNG_LENGTHS)):
        case = Case("c", *heads, kv_len, storage, "random", "bound", policy=policy)
        made = plan_for(case, profile.name)
        expected = (profile.name, made.policy, made.tile.name, made.chunk)
        assert read_lock().plan_of(case, profile.arch, profile.sms) == expected


def test_a_case_without_a_plan_is_one_line() -> None:
    case = Case("c", 64, 4, 4096, "f16", "random", "bound")
    with pytest.raises(DiffcheckError, match="c has no plan on sm_90: tiles: 0 rows fit c on sm_90"):
        read_lock().plan_of(case, "sm_90", 132)


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


def test_what_is_left_out_of_the_timing_code_exists_and_is_part_of_it() -> None:
    package = Path(diffcheck.__file__).parent
    for path in NO_TIMING:
        assert (package / path).exists(), path
        assert path.split("/")[0] in TIMING_SOURCES


def test_a_digest_leaves_out_what_it_is_told_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "some_package_of_a_test"
    (package / "inner").mkdir(parents=True)
    for name in ("__init__.py", "a.py", "b.py", "inner/c.py", "inner/d.toml"):
        (package / name).write_text(name)
    monkeypatch.syspath_prepend(str(tmp_path))

    def of(*without: str) -> str:
        digest.of_package.cache_clear()
        return digest.of_package(package.name, without=without)

    before = (of(), of("inner"), of("a.py", "inner/c.py"))
    assert len(set(before)) == 3
    (package / "inner" / "c.py").write_text("changed")
    after = (of(), of("inner"), of("a.py", "inner/c.py"))
    assert [one == other for one, other in zip(before, after, strict=True)] == [False, True, True]
