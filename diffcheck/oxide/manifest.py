"""The manifest of the checked-in PTX: what it was made from, with what, and what it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from diffcheck import digest
from diffcheck.errors import DiffcheckError
from diffcheck.receipts.fields import Count, Model, Name, Sha256, Target

SCHEMA: Literal["splitk-oxide-manifest/1"] = "splitk-oxide-manifest/1"
_UNSIGNED = "0" * 64


class CudaOxide(Model):
    """The cuda-oxide that compiled the kernels."""

    commit: Name
    """The commit that the crate pins and that was checked out."""
    modified: dict[str, Sha256 | Literal["deleted"]]
    """Tracked files of the checkout that differed from the commit, by path: their hash, or `deleted`."""


class Toolchain(Model):
    """The versions of everything that had a say in the text, each as the tool itself states it."""

    rustc: Name
    rustc_llvm: Name
    opt: Name
    llc: Name
    llvm_link: Name


class Flags(Model):
    """How the compiler was called; the backend's path is left out."""

    rustflags: tuple[str, ...]
    environment: dict[str, str]


class KernelFacts(Model):
    """One kernel: what a launch gives it and what ptxas says it takes. Bytes, except threads and registers."""

    threads: Count
    dynamic_shared: Count
    static_shared: Count
    registers: Count
    stack: Count
    spill_stores: Count
    spill_loads: Count


class TargetFile(Model):
    """One PTX file."""

    sha256: Sha256
    ptx_version: Name
    kernels: dict[str, KernelFacts] = Field(min_length=1)


class Reproduced(Model):
    """A second build from the same sources, in folders of its own, gave every file the same bytes."""

    cuda_oxide: CudaOxide
    toolchain: Toolchain
    targets: dict[Target, Sha256] = Field(min_length=1)
    """The hashes of the second build's files."""


class Manifest(Model):
    """What rust_kernel/ptx/manifest.json says."""

    schema_name: Literal["splitk-oxide-manifest/1"] = Field(alias="schema")
    contract: Name
    sources: dict[str, Sha256] = Field(min_length=1)
    """Every file of rust_kernel/kernel that went in."""
    cuda_oxide: CudaOxide
    toolchain: Toolchain
    flags: Flags
    ptxas_version: Name
    targets: dict[Target, TargetFile] = Field(min_length=1)
    reproduced: Reproduced | None
    """None: no second build was compared."""
    self_sha256: Sha256
    """The hash of this text with 64 zeros in this place."""

    def text(self) -> str:
        """The file's text, the manifest's own hash included."""
        unsigned = self.model_copy(update={"self_sha256": _UNSIGNED})._json()
        return self.model_copy(update={"self_sha256": digest.of_text(unsigned)})._json()

    def _json(self) -> str:
        return self.model_dump_json(indent=1, by_alias=True) + "\n"


def built_sha256(path: Path) -> str:
    """Return the SHA-256 that a manifest's file had when the PTX was built.

    A second build that gives the same bytes is stated in the file later, and changes nothing of what it describes. A
    file that is no whole manifest has the hash of its bytes.
    """
    try:
        manifest = read_manifest(path)
    except DiffcheckError:
        return digest.of_file(path)
    return digest.of_text(manifest.model_copy(update={"reproduced": None}).text())


def read_manifest(path: Path) -> Manifest:
    """Read a manifest. Raises `DiffcheckError`, one line that names the file, for anything but a whole one.

    One altered byte is found: the text must be the very one that its content is written as, own hash included.
    """
    try:
        text = path.read_text(encoding="utf-8")
        stated = json.loads(text)
    except (OSError, ValueError) as error:
        raise DiffcheckError(f"{path.name}: cannot be read ({_line(error)})") from error
    schema = stated.get("schema") if isinstance(stated, dict) else None
    if schema != SCHEMA:
        raise DiffcheckError(f"{path.name}: schema is {schema!r}; allowed: {SCHEMA}")
    try:
        manifest = Manifest.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or "the whole"
        raise DiffcheckError(f"{path.name}: {field}: {_line(first['msg'])}") from error
    if manifest.text() != text:
        raise DiffcheckError(f"{path.name}: was altered after it was written: its own hash does not fit")
    return manifest


def _line(error: object) -> str:
    return " ".join(str(error).split())
