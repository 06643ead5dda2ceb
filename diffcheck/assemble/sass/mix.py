"""Kinds of instructions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from diffcheck.assemble.sass.nvdisasm import Sass

# The first pattern that an opcode fits names its kind. To tell another kind apart, add a line.
_KINDS: tuple[tuple[str, str], ...] = (
    ("FFMA", r"FFMA"),
    ("f32 add, multiply", r"(FADD|FMUL)"),
    ("f32 compare, select", r"(FMNMX|FSETP|FSEL|FSET|FCHK|FMNMX3)"),
    ("MUFU", r"MUFU"),
    ("conversion", r"(HADD2\.F32|F2F|F2I|I2F|F2FP|FRND|I2FP)"),
    ("global load", r"(LDG|LD)\b"),
    ("copy to shared", r"LDGSTS"),
    ("shared load", r"(LDS|LDSM)\b"),
    ("shared store", r"(STS|STSM)\b"),
    ("global store", r"(STG|ST)\b"),
    ("local", r"(LDL|STL)"),
    ("constant load", r"(LDC|ULDC|LDCU)"),
    ("shuffle", r"SHFL"),
    ("vote", r"(VOTE|VOTEU|MATCH|REDUX)"),
    ("move", r"(MOV|UMOV|IMAD\.MOV|CS2R|S2R|S2UR|CS2UR|R2UR|HFMA2\.MMA|HFMA2|R2P|P2R|UMOV)"),
    (
        "integer",
        r"(U?(IADD|IADD3|IMAD|LEA|LOP3|LOP|SHF|SHL|SHR|ISETP|SEL|IMNMX|PRMT|ISCADD|BMSK|POPC|FLO|IABS)|V?IADD|VI\w+)\b",
    ),
    ("integer", r"U(IADD3|IMAD|LEA|LOP3|SHF|ISETP|SEL|PRMT|VIADD|IADD3X)"),
    ("predicate", r"U?PLOP3"),
    ("synchronise", r"(BAR|DEPBAR|LDGDEPBAR|WARPSYNC|NANOSLEEP|MEMBAR|ERRBAR|CCTL|SYNCS|FENCE|ARRIVES)"),
    ("control", r"(BRA|BSSY|BSYNC|EXIT|RET|CALL|BREAK|BRX|NOP|YIELD|BMOV|ENDCOLLECTIVE|WARPSYNC)"),
)
_COMPILED = tuple((kind, re.compile(pattern)) for kind, pattern in _KINDS)
_WITH_WIDTH = {"global load", "copy to shared", "shared load", "shared store", "global store", "local"}
_WIDTH = re.compile(r"\.(8|16|32|64|128|256)\b|\.[US](8|16)\b")


def kind_of(instruction: Sass) -> str:
    """Return an instruction's kind; loads and stores with their width in bits, what is not known by its own name."""
    for kind, pattern in _COMPILED:
        if pattern.match(instruction.opcode):
            return f"{kind} {width_of(instruction)}" if kind in _WITH_WIDTH else kind
    return instruction.base


def width_of(instruction: Sass) -> int:
    """Return how many bits a lane's load or store moves."""
    found = _WIDTH.search(instruction.opcode)
    return int(found[1] or found[2]) if found else 32


def mix_of(instructions: Iterable[Sass]) -> dict[str, int]:
    """Count instructions by kind, the most frequent first."""
    counted = Counter(kind_of(instruction) for instruction in instructions if not is_padding(instruction))
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))


def is_padding(instruction: Sass) -> bool:
    """Tell whether an instruction does nothing in no lane."""
    return instruction.base == "NOP" or instruction.guard == "!PT"


def row_bytes_requested(instruction: Sass) -> int:
    """Return the bytes that a lane's instruction asks of global memory by 16-byte loads; 0 for any other."""
    return 16 if instruction.base in {"LDG", "LDGSTS"} and width_of(instruction) == 128 else 0
