"""`diffcheck oxide verify`: holds for the tree, and names the file when anything in it changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from diffcheck.assemble.ptxas import find_ptxas
from diffcheck.cli.main import run
from diffcheck.errors import BadInputError, DiffcheckError, MissingRequirementError
from diffcheck.oxide.build import pinned_commit
from diffcheck.oxide.files import OxideFiles, installed_files
from diffcheck.oxide.manifest import read_manifest
from diffcheck.oxide.replace import replace_all
from diffcheck.oxide.verify import verify
from diffcheck.selftest.mutants.files import TARGET, copy_files, flip_bit
from diffcheck.selftest.mutants.files import mutants as file_mutants
from diffcheck.selftest.run import run_mutants
from py_builder_kernel import TARGETS


@pytest.fixture(autouse=True)
def ptxas() -> None:
    try:
        find_ptxas()
    except MissingRequirementError as error:
        pytest.skip(str(error))


@pytest.fixture
def files(tmp_path: Path) -> OxideFiles:
    return copy_files(tmp_path)


def problems_of(files: OxideFiles) -> tuple[str, ...]:
    return verify(files, (TARGET,)).problems


def test_the_tree_holds() -> None:
    verified = verify(installed_files(), tuple(TARGETS))
    assert verified.problems == ()
    assert verified.holds


def test_every_kernel_is_within_the_limits_that_the_manifest_states() -> None:
    manifest = read_manifest(installed_files().manifest)
    assert set(manifest.targets) == set(TARGETS)
    for file in manifest.targets.values():
        for kernel in file.kernels.values():
            assert kernel.stack == kernel.spill_stores == kernel.spill_loads == 0
            assert kernel.registers * kernel.threads <= 65536


def test_the_manifest_says_that_the_files_were_reproduced() -> None:
    manifest = read_manifest(installed_files().manifest)
    assert manifest.reproduced is not None
    assert manifest.reproduced.targets == {target: file.sha256 for target, file in manifest.targets.items()}


@pytest.mark.parametrize("mutant", file_mutants(), ids=lambda mutant: mutant.name)
def test_file_mutants_are_caught(mutant: object) -> None:
    tested = run_mutants([mutant], lambda _name: None)  # type: ignore[list-item]
    assert tested.status == "holds", tested.mutants[0].evidence


@pytest.mark.parametrize("where", [0.0, 0.3, 0.7, 1.0])
def test_any_altered_byte_of_the_manifest_is_found(files: OxideFiles, where: float) -> None:
    content = bytearray(files.manifest.read_bytes())
    content[round(where * (len(content) - 1))] ^= 1
    files.manifest.write_bytes(bytes(content))
    (problem,) = problems_of(files)
    assert problem.startswith("ptx/manifest.json: ")
    assert "\n" not in problem


def test_every_source_is_hashed(files: OxideFiles) -> None:
    for source in files.source_files():
        before = source.read_bytes()
        flip_bit(source)
        name = source.relative_to(files.crate).as_posix()
        assert any(problem.startswith(f"kernel/{name}: ") for problem in problems_of(files))
        source.write_bytes(before)
    assert problems_of(files) == ()


def test_another_pinned_commit_is_found(files: OxideFiles) -> None:
    path = files.crate / "Cargo.toml"
    path.write_text(path.read_text(encoding="utf-8").replace(pinned_commit(files), "0" * 40), encoding="utf-8")
    assert any(problem.startswith(f"kernel/Cargo.toml: pins cuda-oxide {'0' * 40}") for problem in problems_of(files))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda path: path.unlink(), "cannot be read"),
        (lambda path: path.write_text("{", encoding="utf-8"), "cannot be read"),
        (lambda path: path.write_text("[]", encoding="utf-8"), "schema is None"),
        (lambda path: path.write_text('{"schema": "splitk-oxide-manifest/2"}', encoding="utf-8"), "allowed: "),
        (lambda path: path.write_text('{"schema": "splitk-oxide-manifest/1"}', encoding="utf-8"), "contract"),
    ],
)
def test_a_manifest_that_is_none_is_refused_in_one_line(
    files: OxideFiles, change: Callable[[Path], object], says: str
) -> None:
    change(files.manifest)
    with pytest.raises(DiffcheckError, match=says) as error:
        read_manifest(files.manifest)
    assert str(error.value).startswith("manifest.json: ")
    assert "\n" not in str(error.value)


def test_no_sources_is_a_missing_requirement(tmp_path: Path) -> None:
    with pytest.raises(MissingRequirementError, match="sources are not installed"):
        verify(OxideFiles(tmp_path / "kernel", installed_files().ptx), (TARGET,))


def test_the_command_says_what_holds(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    report = tmp_path / "verify.json"
    assert run(["oxide", "verify", "--json", str(report)]) == 0
    shown = capsys.readouterr().out
    assert "reproduced byte for byte" in shown
    assert shown.rstrip().endswith("holds")
    assert json.loads(report.read_text(encoding="utf-8"))["status"] == "holds"


def test_the_command_fails_and_names_the_file(
    files: OxideFiles, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    flip_bit(files.crate / "src/reduce.rs")
    monkeypatch.setattr("diffcheck.cli.oxide.installed_files", lambda: files)
    assert run(["oxide", "verify"]) == 1
    assert "kernel/src/reduce.rs: differs" in capsys.readouterr().out


def test_without_ptxas_the_command_says_so_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> str:
        raise MissingRequirementError("no assembler", "install one")

    monkeypatch.setattr("diffcheck.oxide.verify.ptxas_version", missing)
    assert run(["oxide", "verify"]) == 2
    assert capsys.readouterr().err == "diffcheck: no assembler; install one\n"


def test_a_wrong_count_of_registers_is_found_by_another_ptxas_too(monkeypatch: pytest.MonkeyPatch) -> None:
    planted = [mutant for mutant in file_mutants() if mutant.name == "files-manifest-registers"]
    for where in ("diffcheck.oxide.verify", "diffcheck.selftest.mutants.files"):
        monkeypatch.setattr(f"{where}.ptxas_version", lambda: "12.0, V12.0.1")
    result = run_mutants(planted, lambda _: None)
    assert result.status == "holds", result.mutants


def test_files_are_replaced_together_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(b"old")
    replace_all({first: b"new", second: b"new"})
    assert (first.read_bytes(), second.read_bytes()) == (b"new", b"new")
    second.unlink()
    real = Path.replace

    def fail_on_second(self: Path, target: Path) -> Path:
        if target == second:
            raise OSError("planted")
        return real(self, target)

    monkeypatch.setattr(Path, "replace", fail_on_second)
    with pytest.raises(OSError, match="planted"):
        replace_all({first: b"newer", second: b"newer"})
    assert first.read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["first"]


def test_a_folder_in_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError):
        replace_all({tmp_path: b"new"})
