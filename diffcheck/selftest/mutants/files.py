"""Altered sources, PTX and manifest of the Rust kernel, for `diffcheck oxide verify`. To add one, add it to `mutants`.

Each is planted in a copy of the files and must be found, with the altered file named.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from diffcheck import digest
from diffcheck.assemble.ptxas import ptxas_version
from diffcheck.oxide.build import describe
from diffcheck.oxide.files import OxideFiles, installed_files
from diffcheck.oxide.manifest import read_manifest
from diffcheck.oxide.verify import verify
from diffcheck.selftest.base import Finding, Mutant, StaleMutantError

# One target is enough: the files of all are checked alike.
TARGET = "sm_90"
CHECK = "verify"


@dataclass(frozen=True)
class FileFault:
    """A change of the files; `named` is the file that a problem must begin with, `says` what it must speak of."""

    named: str
    says: str
    change: Callable[[OxideFiles], None]

    def __call__(self) -> Finding:
        """Change a copy of the files and verify it."""
        with tempfile.TemporaryDirectory(prefix="diffcheck-selftest-") as folder:
            files = copy_files(Path(folder))
            self.change(files)
            problems = verify(files, (TARGET,)).problems
        meant = [problem for problem in problems if problem.startswith(f"{self.named}:") and self.says in problem]
        said = (meant or list(problems) or ["every check held"])[0]
        return Finding((CHECK,) if meant else (), said)


def copy_files(folder: Path) -> OxideFiles:
    """Return a copy of the sources and the PTX in a folder."""
    files = installed_files()
    copy = OxideFiles(folder / "kernel", folder / "ptx")
    for source in files.source_files():
        place = copy.crate / source.relative_to(files.crate)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, place)
    shutil.copytree(files.ptx, copy.ptx)
    return copy


def flip_bit(path: Path) -> None:
    """Change one bit in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


def _edited_text(pattern: str, replacement: str) -> Callable[[OxideFiles], None]:
    """An edit of the PTX whose hashes are put right afterwards: only its text can give it away."""

    def change(files: OxideFiles) -> None:
        path = files.ptx_file(TARGET)
        text, times = re.subn(pattern, replacement, path.read_text(encoding="utf-8"), count=1, flags=re.MULTILINE)
        if times != 1:
            raise StaleMutantError(f"pattern {pattern!r} is not in the PTX for {TARGET}")
        path.write_text(text, encoding="utf-8")
        manifest = read_manifest(files.manifest)
        stated = manifest.targets[TARGET].model_copy(update={"sha256": digest.of_file(path)})
        update = {"targets": {**manifest.targets, TARGET: stated}, "reproduced": None}
        files.manifest.write_text(manifest.model_copy(update=update).text(), encoding="utf-8")

    return change


def _other_registers(files: OxideFiles) -> None:
    """One register fewer than the ptxas at hand gives a kernel, which need not be the one that the manifest is of."""
    manifest = read_manifest(files.manifest)
    stated = describe(files.ptx_file(TARGET).read_bytes(), TARGET)
    entry, facts = next(iter(stated.kernels.items()))
    fewer = facts.model_copy(update={"registers": facts.registers - 1})
    changed = stated.model_copy(update={"kernels": {**stated.kernels, entry: fewer}})
    update = {"ptxas_version": ptxas_version(), "targets": {**manifest.targets, TARGET: changed}}
    files.manifest.write_text(manifest.model_copy(update=update).text(), encoding="utf-8")


def mutants() -> tuple[Mutant, ...]:
    """Return the mutants of the files; none where the sources are not installed."""
    if not installed_files().crate.is_dir():
        return ()
    ptx, arith = f"ptx/{TARGET}.ptx", "kernel/src/arith.rs"
    return (
        _files("source-altered", "one bit of a source", arith, "differs", lambda f: flip_bit(f.crate / "src/arith.rs")),
        _files("source-removed", "a source is gone", arith, "missing", lambda f: (f.crate / "src/arith.rs").unlink()),
        _files(
            *("source-added", "a source that the PTX does not know", "kernel/src/extra.rs", "older"),
            lambda f: (f.crate / "src/extra.rs").touch(),
        ),
        _files("ptx-altered", "one bit of the PTX", ptx, "differs", lambda f: flip_bit(f.ptx_file(TARGET))),
        _files("ptx-removed", "a PTX file is gone", ptx, "missing", lambda f: f.ptx_file(TARGET).unlink()),
        _files(
            *("ptx-added", "PTX that the manifest does not know", "ptx/sm_75.ptx", "not in the manifest"),
            lambda f: (f.ptx / "sm_75.ptx").touch(),
        ),
        _files("manifest-altered", "one bit of the manifest", "ptx/manifest.json", "", lambda f: flip_bit(f.manifest)),
        _files(
            *("manifest-registers", "a count of registers that ptxas does not give", "ptx/manifest.json", "reports"),
            _other_registers,
        ),
        _files(
            *("ptx-fusible", "an add without .rn, hashes put right", ptx, "rounding"),
            _edited_text(r"add\.rn\.f32", "add.f32"),
        ),
        _files(
            *("ptx-flushing", "an FMA with .ftz, hashes put right", ptx, "flushes"),
            _edited_text(r"fma\.rn\.f32", "fma.rn.ftz.f32"),
        ),
        _files(
            *("ptx-parameter", "a parameter of half the width, hashes put right", ptx, "parameters"),
            _edited_text(r"\.param \.u64 (splitk_reduce_d256_param_5)", r".param .u32 \1"),
        ),
        _files(
            *("ptx-entry-renamed", "an entry of another name, hashes put right", ptx, "no entry"),
            _edited_text(r"\.entry splitk_reduce_d256\(", ".entry splitk_reduce_d256_other("),
        ),
        _files(
            *("ptx-narrow-load", "a load of 8 bytes, hashes put right", ptx, "fewer than 16 bytes"),
            _edited_text(r"ld\.global\.nc\.v4\.u32 \{(%r\d+), (%r\d+), [^}]*\}", r"ld.global.nc.v2.u32 {\1, \2}"),
        ),
        _files(
            *("ptx-trap", "a trap, hashes put right", ptx, "trap"),
            _edited_text(r"^([ \t]*)bar\.sync", r"\1trap;\n\1bar.sync"),
        ),
    )


def _files(name: str, what: str, named: str, says: str, change: Callable[[OxideFiles], None]) -> Mutant:
    return Mutant(f"files-{name}", "files", what, CHECK, FileFault(named, says, change))
