"""`diffcheck oxide build`, with programs in the place of the compilers that answer as those do."""

from __future__ import annotations

import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from diffcheck import digest
from diffcheck.assemble.ptxas import find_ptxas, ptx_version, ptxas_version
from diffcheck.cli.main import run
from diffcheck.errors import BadInputError, MissingRequirementError
from diffcheck.oxide.files import OxideFiles, installed_files
from diffcheck.oxide.manifest import built_sha256, read_manifest
from diffcheck.oxide.toolchain import Wanted, find_toolchain
from diffcheck.oxide.verify import verify
from diffcheck.selftest.mutants.files import copy_files
from py_builder_kernel import TARGETS

RUSTC = """#!/bin/sh
case "$1" in
-vV) printf 'rustc 1.99.0-nightly (0)\\nhost: a-b-c\\nrelease: 1.99.0-nightly\\nLLVM version: 22.0.0\\n' ;;
--print) echo "{sysroot}" ;;
esac
"""
LLVM = """#!/bin/sh
printf 'Some LLVM version 22.0.0\\n  Optimized build.\\n'
"""
# Leaves what a build would, and checks that it was called as one.
CARGO = """#!/bin/sh
set -e
test "$CUDA_OXIDE_NO_FMA" = 1
test -z "$CUDA_OXIDE_VERBOSE$CARGO_ENCODED_RUSTFLAGS"
test -f "$RUSTC"
test -f Cargo.lock
test -f src/lib.rs
case "$RUSTFLAGS" in *-Zcodegen-backend={backend}*) ;; *) exit 3 ;; esac
{extra}
cp "{ptx}/$CUDA_OXIDE_TARGET.ptx" "$CUDA_OXIDE_PTX_DIR/splitk_kernels.ptx"
"""


@dataclass(frozen=True)
class Bench:
    """A copy of the tree, and a folder of programs that stand for a cuda-oxide."""

    files: OxideFiles
    checkout: Path
    programs: Path
    answers: Path

    def write(self, name: str, text: str) -> None:
        path = self.programs / name
        path.write_text(text, encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def cargo(self, extra: str = "") -> None:
        backend = self.checkout / "crates/rustc-codegen-cuda/target/release/librustc_codegen_cuda.so"
        self.write("cargo", CARGO.format(backend=backend.resolve(), extra=extra, ptx=self.answers))

    def options(self) -> list[str]:
        tools = [f"--{name}={self.programs / name}" for name in ("rustc", "cargo", "opt", "llc", "llvm-link")]
        return ["--cuda-oxide", str(self.checkout), *tools]

    def build(self, *more: str) -> int:
        return run(["oxide", "build", *self.options(), *more])


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    if shutil.which("git") is None or not Path("/bin/sh").exists():
        pytest.skip("git and a shell are needed")
    try:
        find_ptxas()
    except MissingRequirementError as error:
        pytest.skip(str(error))
    for name in ("CUDA_OXIDE_BACKEND", "RUSTC", "CARGO"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CUDA_OXIDE_VERBOSE", "1")
    monkeypatch.setenv("CARGO_ENCODED_RUSTFLAGS", "-Copt-level=0")
    bench = Bench(copy_files(tmp_path), tmp_path / "cuda-oxide", tmp_path / "bin", tmp_path / "answers")
    for folder in (bench.checkout / "crates/cuda-device", bench.programs):
        folder.mkdir(parents=True)
    backend = bench.checkout / "crates/rustc-codegen-cuda/target/release"
    backend.mkdir(parents=True)
    (backend / "librustc_codegen_cuda.so").touch()
    (bench.checkout / "crates/cuda-device/Cargo.toml").write_text("[package]\n", encoding="utf-8")
    commit = _commit(bench.checkout)
    _pin(bench.files, commit)
    shutil.copytree(bench.files.ptx, bench.answers)
    bench.write("rustc", RUSTC.format(sysroot=tmp_path))
    for name in ("opt", "llc", "llvm-link"):
        bench.write(name, LLVM)
    bench.cargo()
    monkeypatch.setattr("diffcheck.cli.oxide.installed_files", lambda: bench.files)
    return bench


def _commit(checkout: Path) -> str:
    git = ["git", "-C", str(checkout), "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "crates/cuda-device"], ["commit", "-q", "-m", "all"]):
        subprocess.run([*git, *command], check=True)
    return subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()


def _pin(files: OxideFiles, commit: str) -> None:
    path = files.crate / "Cargo.toml"
    old = read_manifest(files.manifest).cuda_oxide.commit
    path.write_text(path.read_text(encoding="utf-8").replace(old, commit), encoding="utf-8")


def snapshot(files: OxideFiles) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in files.ptx.iterdir()}


def test_a_build_writes_every_file_and_a_manifest_that_verifies(bench: Bench) -> None:
    before = read_manifest(installed_files().manifest)
    for path in bench.files.ptx_files():
        path.unlink()
    assert bench.build() == 0
    manifest = read_manifest(bench.files.manifest)
    assert manifest.targets == before.targets
    assert manifest.toolchain.rustc.startswith("rustc 1.99.0-nightly")
    assert manifest.toolchain.llc == "Some LLVM version 22.0.0"
    assert manifest.cuda_oxide.modified == {}
    assert manifest.reproduced is None
    assert verify(bench.files, tuple(TARGETS)).problems == ()


def test_a_check_records_that_every_byte_was_the_same(bench: Bench) -> None:
    assert bench.build() == 0
    ptx = snapshot(bench.files)
    built = digest.of_file(bench.files.manifest)
    assert built_sha256(bench.files.manifest) == built
    assert bench.build("--check") == 0
    reproduced = read_manifest(bench.files.manifest).reproduced
    assert reproduced is not None
    assert set(reproduced.targets) == set(TARGETS)
    assert {name: text for name, text in snapshot(bench.files).items() if name != "manifest.json"} == {
        name: text for name, text in ptx.items() if name != "manifest.json"
    }
    # What ran is what was built: receipts of before the check are of the same.
    assert digest.of_file(bench.files.manifest) != built
    assert built_sha256(bench.files.manifest) == built


def test_a_manifest_that_is_not_whole_has_the_hash_of_its_bytes(bench: Bench) -> None:
    assert bench.build() == 0
    built = built_sha256(bench.files.manifest)
    bench.files.manifest.write_text(bench.files.manifest.read_text(encoding="utf-8").replace("sm_90", "sm_9O", 1))
    assert built_sha256(bench.files.manifest) == digest.of_file(bench.files.manifest) != built


def test_a_check_that_differs_names_file_and_line_and_records_nothing(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench.build() == 0
    answer = bench.answers / "sm_90.ptx"
    answer.write_text(answer.read_text(encoding="utf-8").replace(".version 7.8", ".version 7.9"), encoding="utf-8")
    before = snapshot(bench.files)
    assert bench.build("--check") == 1
    assert "ptx/sm_90.ptx: the rebuilt text differs from line 5 on" in capsys.readouterr().out
    assert snapshot(bench.files) == before


def test_a_check_of_changed_sources_does_not_hold(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.build() == 0
    (bench.files.crate / "src/extra.rs").touch()
    assert bench.build("--check") == 1
    assert "kernel/src/extra.rs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("extra", "says"),
    [
        (
            "echo 'warning: #[unroll] requested but the loop was not unrolled: its count is not known' >&2",
            "not unrolled",
        ),
        ("echo 'error[E0308]: mismatched types' >&2; exit 101", r"cargo says: error[E0308]: mismatched types"),
        ("exit 0", "left no splitk_kernels.ptx"),
    ],
)
def test_a_failed_build_is_one_line_and_changes_nothing(
    bench: Bench, capsys: pytest.CaptureFixture[str], extra: str, says: str
) -> None:
    # The last target fails: what the others gave must not be left.
    bench.cargo(f'if [ "$CUDA_OXIDE_TARGET" = {list(TARGETS)[-1]} ]; then {extra}; fi')
    before = snapshot(bench.files)
    assert bench.build() == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert snapshot(bench.files) == before


def test_ptx_that_ptxas_refuses_is_not_written(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    answer = bench.answers / "sm_120.ptx"
    answer.write_text(answer.read_text(encoding="utf-8").replace("bar.sync", "bar.none"), encoding="utf-8")
    before = snapshot(bench.files)
    assert bench.build() == 2
    line = f"PTX {ptx_version(answer.read_text(encoding='utf-8'))}: ptxas {ptxas_version()} says: "
    assert line in capsys.readouterr().err
    assert snapshot(bench.files) == before


def test_a_modified_checkout_is_recorded(bench: Bench) -> None:
    (bench.checkout / "crates/cuda-device/Cargo.toml").write_text("[package]\n# changed\n", encoding="utf-8")
    assert bench.build() == 0
    assert list(read_manifest(bench.files.manifest).cuda_oxide.modified) == ["crates/cuda-device/Cargo.toml"]


def test_another_commit_is_refused(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    path = bench.files.crate / "Cargo.toml"
    path.write_text(path.read_text(encoding="utf-8").replace('rev = "', 'rev = "' + "0" * 40 + '" #'), encoding="utf-8")
    assert bench.build() == 2
    assert "allowed: a checkout of the commit that the crate pins" in capsys.readouterr().err


def test_without_cuda_oxide_there_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("CUDA_OXIDE_DIR", raising=False)
    monkeypatch.setattr("diffcheck.cli.oxide.find_ptxas", Path)
    assert run(["oxide", "build"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("diffcheck: no cuda-oxide was named; install cuda-oxide as ")
    assert error.count("\n") == 1


def test_a_part_that_is_missing_is_named(bench: Bench, tmp_path: Path) -> None:
    with pytest.raises(MissingRequirementError, match="no checkout of cuda-oxide"):
        find_toolchain(Wanted(checkout=tmp_path / "answers"), "0" * 40)
    with pytest.raises(BadInputError, match="cuda-oxide"):
        find_toolchain(Wanted(checkout=bench.checkout), "0" * 40)
    commit = subprocess.run(
        ["git", "-C", str(bench.checkout), "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()
    with pytest.raises(MissingRequirementError, match="no cuda-oxide backend at"):
        find_toolchain(Wanted(checkout=bench.checkout, backend=tmp_path / "none.so"), commit)
    with pytest.raises(MissingRequirementError, match="rustc cannot be found"):
        find_toolchain(Wanted(checkout=bench.checkout, rustc=str(tmp_path / "none")), commit)
