"""What an import holds: what the file says, and what it lacks of an A/B receipt."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Literal

from pydantic import Field

from diffcheck.receipts.fields import Count, Model, Name, Real, Sha256, Target

SCHEMA: Literal["diffcheck-imported/1"] = "diffcheck-imported/1"
Microseconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Lack(str, Enum):
    """What an A/B receipt has, and a file of another tool may not."""

    TIMES = "times"
    SAMPLES = "raw samples"
    INTERVALS = "intervals"
    ORDER = "interleaved order"
    CLOCKS = "clocks and throttle reasons"
    CONTROLS = "controls"
    FLOORS = "floors"
    USERS = "other processes on the GPU"
    BITS = "comparison of bits"
    ORACLE = "error against f64"
    ROWS = "a parity check a row"
    PLANS = "plan of each row"
    PTX = "hashes of both PTX files"
    SUBJECTS = "hashes of contract, tile table, cases and timing code"
    COMMIT = "commit"
    DIRTY = "whether the tree was clean"
    HOST = "host"
    DEVICE = "device"
    DRIVER = "driver"
    PTXAS = "assembler"
    CUDA_OXIDE = "cuda-oxide commit"
    COMMAND = "command"
    DIGEST = "content digest"


class ImportedRow(Model):
    """One row; null where the file does not say."""

    num_q_heads: Count | None
    num_kv_heads: Count | None
    head_dim: Count | None
    kv_len: Count | None
    storage: Literal["f32", "f16"] | None
    chunk: Count | None
    n_splits: Count | None
    baseline_us: Microseconds | None
    candidate_us: Microseconds | None
    ratio: Microseconds | None
    """Candidate over baseline, as the file states it or as its two times give it."""
    candidate_vs_baseline_max_rel: Real | None
    candidate_vs_f64_max_rel: Real | None
    candidate_vs_f64_cosine: Real | None
    parity_passed: bool | None
    """As the file states it."""


class ImportedRecord(Model):
    """One record of one host and variant."""

    kernel: Name | None
    variant: Name | None
    baseline: Name | None
    """What the file calls the slower or older side."""
    candidate: Name | None
    host: Name | None
    arch: Target | None
    device: Name | None
    commit: Name | None
    cuda_oxide_commit: Name | None
    timing_method: Name | None
    rows: tuple[ImportedRow, ...]
    lacks: tuple[Lack, ...]
    """What an A/B receipt has and this has not: why it cannot count."""


class Imported(Model):
    """A file of another tool."""

    schema_name: Literal["diffcheck-imported/1"] = Field(default=SCHEMA, alias="schema")
    source_file: Name
    source_sha256: Sha256
    source_schema: Name
    shape: Literal["rows", "variants", "requirement", "rungs"]
    counts: Literal[False] = False
    """An import never counts for a verdict."""
    records: tuple[ImportedRecord, ...]
    required_hosts: tuple[Name, ...]
    """Hosts that must have a receipt, of a file that says so."""
    not_understood: tuple[Name, ...]
    """Keys of the file that no field here stands for."""
    raw: dict[str, Any]
    """The file's own content, whole."""
