"""The receipt: facts of one run, in one versioned file. Nothing in it is a decision."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator
from typing_extensions import Self

from diffcheck.assemble.model import Assembled
from diffcheck.errors import BadInputError, first_wrong
from diffcheck.executors.builds import Build
from diffcheck.receipts.cases import InterpretedCase, MeasuredCase, ReferenceCase, StorageError
from diffcheck.receipts.complete import what_is_missing
from diffcheck.receipts.fields import Model, Name, Sha256, Target
from diffcheck.receipts.provenance import Tree
from diffcheck.regular_file import read_regular
from diffcheck.selftest.model import SelfTest, SelfTestNotRun

_MAX_BYTES = 256 * 1024 * 1024


class Tool(Model):
    """What wrote the receipt."""

    name: Literal["diffcheck"] = "diffcheck"
    version: Name
    tree: Tree
    command: tuple[str, ...]
    """The command line, without the program and the folders of files."""
    cases_sha256: Sha256
    """Digest of the cases, generators, oracle, bounds and comparators."""
    tile_table_sha256: Sha256
    """Digest of the planner's tile table."""


class ArmFacts(Model):
    """One arm and what it is made from."""

    name: Name
    role: Literal["reference", "bits", "bounded"]
    title: str
    sources: dict[str, Sha256]


class Reference(Model):
    """The reference arm on the host's CPU."""

    arm: Name
    host: Name
    """The host's processor architecture."""
    cases: tuple[ReferenceCase, ...] = Field(min_length=1)


class Interpreted(Model):
    """Tier interpreted: the PTX ran in the PTX machine."""

    machine_version: Name
    host: Name
    """The host's processor architecture."""
    target: Target
    cases: tuple[InterpretedCase, ...] = Field(min_length=1)


class Measured(Model):
    """Tier measured: the PTX ran on this device."""

    device: Name
    arch: Target
    """The device's own architecture; the PTX was for `target`."""
    sms: int
    driver_version: Name
    """The newest CUDA that the driver supports."""
    runtime_version: Name
    cupy_version: Name
    target: Target
    build: Build = "jit"
    """jit: the driver assembled the PTX as it loaded it; cubin-ON: ptxas did before, at level N."""
    ptxas_version: Name | None = None
    """The assembler's release and build; null where the driver assembled."""
    cases: tuple[MeasuredCase, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _ptxas_is_named_where_it_assembled(self) -> Self:
        if (self.build == "jit") != (self.ptxas_version is None):
            raise ValueError(f"ptxas_version: {self.ptxas_version} contradicts the build {self.build}")
        return self


class Receipt(Model):
    """Everything one `diffcheck parity` run established."""

    schema_name: Literal["diffcheck-receipt/1"] = Field(default="diffcheck-receipt/1", alias="schema")
    tool: Tool
    contract: Name
    arms: tuple[ArmFacts, ...] = Field(min_length=1)
    status: Literal["holds", "fails"]
    """Whether every case of every tier holds, and the self-test where it was run."""
    reference: Reference
    interpreted: Interpreted | None
    measured: Measured | None
    assembled: Assembled | None
    storage_errors: tuple[StorageError, ...]
    selftest: SelfTest | SelfTestNotRun = Field(discriminator="status")

    @model_validator(mode="after")
    def _status_follows_from_payload(self) -> Self:
        if self.interpreted is None and self.measured is None:
            raise ValueError("interpreted, measured: one of them must be there")
        parts = [case.status for case in self.reference.cases]
        parts += [case.status for case in self.interpreted.cases] if self.interpreted else []
        parts += [case.status for case in self.measured.cases] if self.measured else []
        parts += [self.assembled.status] if self.assembled else []
        parts += [self.selftest.status] if isinstance(self.selftest, SelfTest) else []
        expected = "fails" if "fails" in parts else "holds"
        if self.status != expected:
            raise ValueError(f"status: {self.status} contradicts the cases, which say {expected}")
        missing = what_is_missing(self)
        if missing:
            raise ValueError(missing)
        return self


def receipt_schema() -> dict[str, Any]:
    """Return the JSON Schema of a receipt as it is written."""
    return Receipt.model_json_schema(mode="serialization", by_alias=True)


def read_receipt(path: Path) -> Receipt:
    """Read and check a receipt. Raises `BadInputError` that names the first field that is wrong."""
    try:
        return Receipt.model_validate(json.loads(read_regular("receipt", path, _MAX_BYTES)))
    except BadInputError:
        raise
    except ValidationError as error:
        raise first_wrong(f"receipt {path.name}", error) from error
    except (ValueError, RecursionError) as error:
        raise BadInputError("receipt", str(path), f"a JSON file in UTF-8 ({error})") from error
