"""That the checked-in PTX, its manifest and its sources belong together, and that every file is fit to run.

This proves consistency. That the PTX comes from the sources is proved by `diffcheck oxide build --check`, whose result
the manifest carries.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from diffcheck import digest
from diffcheck.assemble.ptxas import AssembleError, ptxas_version
from diffcheck.assemble.run import register_limit
from diffcheck.errors import DiffcheckError, MissingRequirementError
from diffcheck.oxide.abi import planned_kernels
from diffcheck.oxide.build import describe, pinned_commit
from diffcheck.oxide.files import OxideFiles
from diffcheck.oxide.manifest import KernelFacts, Manifest, TargetFile, read_manifest
from diffcheck.oxide.ptx_text import ModuleText, PtxTextError, parse_module
from diffcheck.oxide.rules import text_problems
from diffcheck.version import CONTRACT


@dataclass(frozen=True)
class Verified:
    """What was found: `problems` one line each, beginning with the file; `manifest` None if it could not be read."""

    problems: tuple[str, ...]
    manifest: Manifest | None

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems and self.manifest is not None


def verify(files: OxideFiles, targets: tuple[str, ...]) -> Verified:
    """Check manifest, sources and the PTX for every target.

    Raises `MissingRequirementError` without ptxas or without the sources (which a wheel leaves out).
    """
    ptxas_version()
    if not files.crate.is_dir():
        raise MissingRequirementError("the Rust kernel's sources are not installed", "run it in the source tree")
    try:
        manifest = read_manifest(files.manifest)
    except DiffcheckError as error:
        return Verified((f"ptx/{error}",), None)
    problems = [
        *_origin_problems(files, manifest),
        *_source_problems(files, manifest),
        *_file_problems(files, manifest, targets),
    ]
    for target in targets:
        if files.ptx_file(target).is_file() and target in manifest.targets:
            problems += _target_problems(files, manifest, target)
    return Verified(tuple(problems), manifest)


def _origin_problems(files: OxideFiles, manifest: Manifest) -> Iterator[str]:
    if manifest.contract != CONTRACT:
        yield f"ptx/{files.manifest.name}: contract is {manifest.contract}, must be {CONTRACT}"
    try:
        pinned = pinned_commit(files)
    except DiffcheckError as error:
        yield f"kernel/{error}"
        return
    if manifest.cuda_oxide.commit != pinned:
        yield f"kernel/Cargo.toml: pins cuda-oxide {pinned}, the PTX was built by {manifest.cuda_oxide.commit}"
    second = manifest.reproduced
    if second is not None and second.targets != {name: file.sha256 for name, file in manifest.targets.items()}:
        yield f"ptx/{files.manifest.name}: what was reproduced is not what it lists"


def _source_problems(files: OxideFiles, manifest: Manifest) -> Iterator[str]:
    there = files.source_hashes()
    for name in sorted({*there, *manifest.sources}):
        if name not in there:
            yield f"kernel/{name}: went into the PTX and is missing"
        elif name not in manifest.sources:
            yield f"kernel/{name}: did not go into the PTX, which is older"
        elif there[name] != manifest.sources[name]:
            yield f"kernel/{name}: differs from what the PTX was built from"


def _file_problems(files: OxideFiles, manifest: Manifest, targets: tuple[str, ...]) -> Iterator[str]:
    known = {f"{target}.ptx" for target in manifest.targets} | {files.manifest.name}
    for path in sorted(files.ptx.iterdir()):
        if path.name not in known:
            yield f"ptx/{path.name}: is not in the manifest"
    for target in targets:
        if target not in manifest.targets:
            yield f"ptx/{target}.ptx: is not in the manifest, and the harness asks for it"
    for target, stated in manifest.targets.items():
        path = files.ptx_file(target)
        if not path.is_file():
            yield f"ptx/{path.name}: is missing"
        elif digest.of_file(path) != stated.sha256:
            yield f"ptx/{path.name}: differs from what the manifest lists"


def _target_problems(files: OxideFiles, manifest: Manifest, target: str) -> Iterator[str]:
    path = files.ptx_file(target)
    problems, made = _content_problems(path.read_bytes(), target)
    yield from (f"ptx/{path.name}: {problem}" for problem in problems)
    if made is None or ptxas_version() != manifest.ptxas_version:
        return
    stated = manifest.targets[target]
    if made.kernels != stated.kernels:
        entry = next(name for name in made.kernels if made.kernels[name] != stated.kernels.get(name))
        yield f"ptx/{files.manifest.name}: {target}: {entry} is not as this ptxas, the manifest's own, reports it"


@lru_cache(maxsize=16)
def _content_problems(content: bytes, target: str) -> tuple[tuple[str, ...], TargetFile | None]:
    """What is wrong with a file by itself, and what ptxas makes of it (None: nothing)."""
    try:
        module = parse_module(content.decode(), f"{target}.ptx")
    except UnicodeDecodeError as error:
        return (f"is not text (byte {error.start})",), None
    except PtxTextError as error:
        return (str(error).removeprefix(f"{target}.ptx: "),), None
    problems = list(_module_problems(module, target))
    try:
        made = describe(content, target)
    except (PtxTextError, AssembleError) as error:
        return (*problems, str(error).removeprefix(f"{target}.ptx: ")), None
    return (*problems, *_resource_problems(made)), made


def _module_problems(module: ModuleText, target: str) -> Iterator[str]:
    if module.target != target:
        yield f".target is {module.target}, must be {target}"
    for abi in planned_kernels(target):
        entry = module.entries.get(abi.entry)
        if entry is None:
            yield f"has no entry {abi.entry}, which the tile table asks for"
        else:
            yield from text_problems(entry, abi)


def _resource_problems(made: TargetFile) -> Iterator[str]:
    for entry, facts in made.kernels.items():
        yield from (f"{entry}: {problem}" for problem in _kernel_problems(facts))


def _kernel_problems(facts: KernelFacts) -> Iterator[str]:
    if facts.stack:
        yield f"stack of {facts.stack} bytes, must be 0"
    if facts.spill_stores or facts.spill_loads:
        yield f"spills {facts.spill_stores} bytes out and {facts.spill_loads} in, must be 0"
    limit = register_limit(facts.threads, 1)
    if facts.registers > limit:
        yield f"{facts.registers} registers a thread, at most {limit} leave room for a block"
