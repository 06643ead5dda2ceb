"""Field types that every receipt model uses."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, WithJsonSchema


def _json_number(value: float) -> float | str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


# A float whose NaN and infinities are strings in JSON, which has no such numbers.
Real = Annotated[
    float,
    PlainSerializer(_json_number, when_used="json"),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string", "enum": ["NaN", "Infinity", "-Infinity"]}]}),
]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Bits32 = Annotated[str, Field(pattern=r"^0x[0-9a-f]{8}$")]
Target = Annotated[str, Field(pattern=r"^sm_[0-9]{2,3}$")]
Count = Annotated[int, Field(ge=0)]
Name = Annotated[str, Field(min_length=1)]


class Model(BaseModel):
    """A record: frozen, with no unknown keys; attribute docstrings become the schema's descriptions."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
