"""Where a run took place, from which sources, and who else was there."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from diffcheck.experiment.model import Positive, Slug, Whole
from diffcheck.receipts.fields import Count, Model, Name, Sha256, Target

Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")]
"""A whole object name of git."""


class SourceState(Model):
    """The state of the sources that ran."""

    origin: Literal["repository", "build stamp", "unknown"]
    """Where commit and dirty paths come from: git, a stamp in the build where there is no repository, or nowhere."""
    commit: Commit | None
    dirty: bool | None
    """Whether tracked files outside evidence/ and docs/ differ from that commit."""
    dirty_paths: tuple[Name, ...] | None
    """Those files."""

    @model_validator(mode="after")
    def _known_or_not(self) -> Self:
        unknown = [field is None for field in (self.commit, self.dirty, self.dirty_paths)]
        if any(unknown) != (self.origin == "unknown") or any(unknown) != all(unknown):
            raise ValueError(f"commit, dirty, dirty_paths: must be there unless origin is unknown; it is {self.origin}")
        if self.dirty != (bool(self.dirty_paths) if self.dirty_paths is not None else None):
            raise ValueError(f"dirty: {self.dirty} contradicts {len(self.dirty_paths or ())} dirty paths")
        return self


class AbTool(Model):
    """What wrote the receipt."""

    name: Literal["diffcheck"] = "diffcheck"
    version: Name
    command: tuple[str, ...]
    """The command line, without the program and the folders of files."""
    source: SourceState


class HostFacts(Model):
    """The host and its GPU."""

    id: Slug | None
    """From `--host`; null: not named, so the receipt counts for nothing."""
    machine: Name
    """The processor's architecture, such as x86_64 or aarch64."""
    device: Name
    arch: Target
    sms: Whole
    uuid_sha256: Sha256 | None
    """SHA-256 of the device's UUID: tells two devices apart and names neither."""
    l2_bytes: Whole
    memory_bytes: Whole
    driver: Name | None
    """The driver's own version."""
    cuda_driver: Name
    """The newest CUDA that the driver supports."""
    cuda_runtime: Name
    cupy: Name
    peak_memory_bytes_per_second: Positive | None
    """Bandwidth of the device's memory by its clock and bus width; null where the driver does not say."""


class ForeignProcess(Model):
    """Another process with a context on the GPU. It is not named."""

    kind: Literal["compute", "graphics"]
    state: Literal["live", "phantom"]
    """phantom: the driver still lists it and the operating system has it no more."""
    memory_bytes: Count | None


class GpuUsers(Model):
    """Who else had a context on the GPU; null where NVML does not say."""

    before: tuple[ForeignProcess, ...] | None
    after: tuple[ForeignProcess, ...] | None


class KernelBuild(Model):
    """One kernel as ptxas makes it for the device's architecture."""

    arm: Name
    entry: Name
    registers: Count
    """32-bit registers a thread."""
    spill_stores: Count
    spill_loads: Count
    stack: Count
    """Bytes of local memory a thread."""
    blocks_per_sm: Count | None
    """Blocks that fit an SM at once, by registers, threads and shared memory."""


class PtxasFacts(Model):
    """What the assembler says of the kernels that were timed."""

    version: Name
    kernels: tuple[KernelBuild, ...]
