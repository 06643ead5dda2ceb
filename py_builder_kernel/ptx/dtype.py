"""PTX data types, and which register may stand where an instruction asks for one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class DType:
    """A PTX fundamental type: its name, its width in bits, and its kind (`u`, `s`, `b`, `f` or `pred`)."""

    name: str
    bits: int
    kind: str

    @property
    def register_class(self) -> tuple[str, str]:
        """The prefix of a register of this type and the type that it is declared with."""
        if self.kind == "pred":
            return "%p", "pred"
        if self.bits == 16:
            return "%rs", "b16"
        if self.kind == "f":
            return ("%f", "f32") if self.bits == 32 else ("%fd", "f64")
        return ("%r", "b32") if self.bits == 32 else ("%rd", "b64")

    def __str__(self) -> str:
        return self.name


_INTEGERS_AND_BITS: Final = tuple(DType(f"{kind}{bits}", bits, kind) for bits in (8, 16, 32, 64) for kind in "bus")
_FLOATS: Final = (DType("f16", 16, "f"), DType("bf16", 16, "f"), DType("f32", 32, "f"), DType("f64", 64, "f"))
# Several numbers in one register are types of arithmetic only: their registers are plain bits.
_OTHERS: Final = (
    DType("pred", 1, "pred"),
    DType("f32x2", 64, "x2"),
    DType("f16x2", 32, "x2"),
    DType("bf16x2", 32, "x2"),
    DType("u16x2", 32, "x2"),
    DType("s16x2", 32, "x2"),
    DType("e4m3x2", 16, "x2"),
    DType("e5m2x2", 16, "x2"),
    DType("tf32", 32, "x2"),
)
DTYPES: Final[dict[str, DType]] = {dtype.name: dtype for dtype in (*_INTEGERS_AND_BITS, *_FLOATS, *_OTHERS)}

PRED: Final = DTYPES["pred"]
B16: Final = DTYPES["b16"]
U16: Final = DTYPES["u16"]
F16: Final = DTYPES["f16"]
B32: Final = DTYPES["b32"]
U32: Final = DTYPES["u32"]
S32: Final = DTYPES["s32"]
F32: Final = DTYPES["f32"]
B64: Final = DTYPES["b64"]
U64: Final = DTYPES["u64"]
S64: Final = DTYPES["s64"]

_WIDE: Final = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}


def wide(dtype: DType) -> DType:
    """The type twice as wide as `dtype`, as `mul.wide` writes it."""
    return DTYPES[_WIDE[dtype.name]]


def fits(register: DType, wanted: DType) -> bool:
    """Whether a register of type `register` may be an operand of type `wanted`.

    PTX ISA, "Operand Type Checking": equal types; integers of one width whatever their sign; untyped bits of that
    width with anything. Nothing is widened, except that an 8-bit load or store, which has no register of its own
    width, goes through a 16-bit or 32-bit integer register.
    """
    if "pred" in (register.kind, wanted.kind):
        return register == wanted
    if wanted.bits == 8:
        return register.bits in (16, 32) and register.kind != "f"
    if register.bits != wanted.bits:
        return False
    kinds = {register.kind, wanted.kind}
    return len(kinds) == 1 or "b" in kinds or kinds == {"u", "s"}


def allowed_registers(wanted: DType) -> str:
    """The register types that fit `wanted`, for an error message."""
    return ", ".join(sorted(d.name for d in DTYPES.values() if d.bits != 8 and fits(d, wanted)))
