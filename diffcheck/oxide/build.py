"""From the crate to the checked-in PTX and its manifest, and the proof that they come from it."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from diffcheck.assemble.ptxas import AssembleError, assemble_all_entries, ptxas_version
from diffcheck.errors import DiffcheckError
from diffcheck.oxide.abi import planned_kernels
from diffcheck.oxide.compile import compile_target, flags
from diffcheck.oxide.files import OxideFiles
from diffcheck.oxide.manifest import KernelFacts, Manifest, Reproduced, TargetFile, read_manifest
from diffcheck.oxide.ptx_text import parse_module
from diffcheck.oxide.replace import replace_all
from diffcheck.oxide.toolchain import Installed
from diffcheck.version import CONTRACT

Advance = Callable[[str], None]


def pinned_commit(files: OxideFiles) -> str:
    """Return the commit of cuda-oxide that the crate names. Raises `DiffcheckError` when it names none."""
    path = files.crate / "Cargo.toml"
    found = re.search(r'^cuda-device = \{.*\brev = "([0-9a-f]{40})"', _text(path), re.MULTILINE)
    if found is None:
        raise DiffcheckError(f"{path.name}: cuda-device is not pinned to a commit (rev = 40 hex digits)")
    return found[1]


def build(files: OxideFiles, targets: Sequence[str], installed: Installed, advance: Advance) -> Manifest:
    """Compile every target and write all PTX files and the manifest, or none of them.

    `advance` is called with a target as it is done. Raises `CompileError` for a crate that is refused.
    """
    texts = _compile_all(files, targets, installed, advance)
    manifest = Manifest.model_validate(
        {
            "schema": "splitk-oxide-manifest/1",
            "contract": CONTRACT,
            "sources": files.source_hashes(),
            "cuda_oxide": installed.cuda_oxide,
            "toolchain": installed.versions,
            "flags": flags(),
            "ptxas_version": ptxas_version(),
            "targets": {target: describe(text, target) for target, text in texts.items()},
            "reproduced": None,
            "self_sha256": "0" * 64,
        }
    )
    written = {files.ptx_file(target): text for target, text in texts.items()}
    replace_all({**written, files.manifest: manifest.text().encode()})
    return read_manifest(files.manifest)


def check(files: OxideFiles, installed: Installed, advance: Advance) -> list[str]:
    """Compile every target of the manifest again and compare byte for byte; record it when all are the same.

    Returns what differs, one line each; the manifest changes only when nothing does.
    """
    manifest = read_manifest(files.manifest)
    problems = [
        f"kernel/{name}: is not what the manifest was written for"
        for name, value in files.source_hashes().items()
        if manifest.sources.get(name) != value
    ]
    texts = _compile_all(files, tuple(manifest.targets), installed, advance)
    for target, text in texts.items():
        problems += _differences(files.ptx_file(target), text)
    if not problems:
        reproduced = Reproduced(
            cuda_oxide=installed.cuda_oxide,
            toolchain=installed.versions,
            targets={target: _sha256(text) for target, text in texts.items()},
        )
        updated = manifest.model_copy(update={"reproduced": reproduced})
        replace_all({files.manifest: updated.text().encode()})
    return problems


@lru_cache(maxsize=16)
def describe(text: bytes, target: str) -> TargetFile:
    """Return what the manifest says of one PTX file. Raises `DiffcheckError` when ptxas refuses it."""
    decoded = text.decode()
    module = parse_module(decoded, f"{target}.ptx")
    resources = assemble_all_entries(decoded, tuple(module.entries), target)
    planned = {kernel.entry: kernel for kernel in planned_kernels(target)}
    missing = sorted(set(planned) - set(resources))
    if missing:
        raise AssembleError(f"{target}.ptx: has no entry {missing[0]}, which the tile table asks for")
    kernels = {
        entry: KernelFacts(
            threads=kernel.threads,
            dynamic_shared=kernel.dynamic_shared,
            static_shared=resources[entry].static_shared,
            registers=resources[entry].registers,
            stack=resources[entry].stack,
            spill_stores=resources[entry].spill_stores,
            spill_loads=resources[entry].spill_loads,
        )
        for entry, kernel in planned.items()
    }
    version = f"{module.version[0]}.{module.version[1]}"
    return TargetFile(sha256=_sha256(text), ptx_version=version, kernels=kernels)


def _compile_all(
    files: OxideFiles, targets: Sequence[str], installed: Installed, advance: Advance
) -> Mapping[str, bytes]:
    texts: dict[str, bytes] = {}
    for target in targets:
        with tempfile.TemporaryDirectory(prefix="diffcheck-oxide-") as folder:
            texts[target] = compile_target(files, target, installed, Path(folder))
        advance(target)
    return texts


def _differences(path: Path, text: bytes) -> list[str]:
    if not path.is_file():
        return [f"ptx/{path.name}: is missing"]
    there = path.read_bytes()
    if there == text:
        return []
    first = next((i for i, pair in enumerate(zip(there, text, strict=False)) if pair[0] != pair[1]), len(there))
    return [f"ptx/{path.name}: the rebuilt text differs from line {there[:first].count(10) + 1} on"]


def _sha256(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise DiffcheckError(f"{path.name}: cannot be read ({error.strerror}); the source tree has it") from error
