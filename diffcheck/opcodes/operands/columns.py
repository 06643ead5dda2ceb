"""The rows that a form is tested on: from the types of its operands alone, so that sibling forms share them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod

import numpy as np

from diffcheck.opcodes.fields import Bits, Field
from diffcheck.opcodes.operands.formats import FORMATS, PAIRS
from diffcheck.opcodes.operands.halfway import FAMILIES, integers_between_floats
from diffcheck.opcodes.operands.specials import edges, specials
from diffcheck.opcodes.operands.stream import random_below, random_bits
from py_builder_kernel.ptx.dtype import DTYPES

BLOCK = 64
# Rows by the number of operands, and how many of them meet edge values in every combination at most.
_ROWS = {0: 64, 1: 256, 2: 448, 3: 576}
_MOST_ROWS = 640
_MOST_COMBINATIONS = 256
_FAMILY = 40


def rows_for(fields: Sequence[Field]) -> dict[str, Bits]:
    """Input columns for fields, by name."""
    columns = columns_for(tuple(field.type for field in fields))
    return {field.name: column for field, column in zip(fields, columns, strict=True)}


@cache
def columns_for(types: tuple[str, ...]) -> tuple[Bits, ...]:
    """Input columns for operands of these types.

    Edge values in every combination (a regular sample where there are too many), every special value of each operand
    beside an edge value of the others, constructed float cases, and random ones up to the number of rows.
    """
    if not types:
        return ()
    pair = next((name for name in types if name in PAIRS), None)
    if pair is not None:
        return _paired(types, pair)
    seed = " ".join(types)
    tables = [_combinations(types), _singles(types, seed), *_constructed(types, seed)]
    rows = sum(len(table) for table in tables)
    wanted = max(_ROWS.get(len(types), _MOST_ROWS), rows + BLOCK)
    wanted = -(-wanted // BLOCK) * BLOCK
    random = [_random(name, f"{seed} {place}", wanted - rows) for place, name in enumerate(types)]
    tables.append(np.stack(random, axis=1))
    return tuple(np.ascontiguousarray(column) for column in np.concatenate(tables).T)


def _combinations(types: tuple[str, ...]) -> Bits:
    """Edge values in every combination; every n-th of them where there are too many."""
    values = [np.array(edges(name), np.uint64) for name in types]
    sizes = [len(column) for column in values]
    total = prod(sizes)
    step = -(-total // _MOST_COMBINATIONS)
    numbers = np.arange(total // step)
    # An odd step would keep the last operand's value fixed where it divides the number of values: walk with a phase.
    chosen = np.unravel_index(numbers * step + numbers * 7 % step, sizes)
    return np.stack([column[index] for column, index in zip(values, chosen, strict=True)], axis=1)


def _singles(types: tuple[str, ...], seed: str) -> Bits:
    """Every special value at every place; the other places hold edge values that change from row to row."""
    tables = []
    for place, name in enumerate(types):
        values = np.array(specials(name), np.uint64)
        columns = []
        for other, other_name in enumerate(types):
            beside = np.array(edges(other_name), np.uint64)
            picked = beside[random_below(f"{seed} {place} {other}", len(values), len(beside)).astype(np.intp)]
            columns.append(values if other == place else picked)
        tables.append(np.stack(columns, axis=1))
    return np.concatenate(tables)


def _constructed(types: tuple[str, ...], seed: str) -> list[Bits]:
    """The float families that fit, where the first operands have one format."""
    fmt = types[0]
    alike = 0
    while alike < len(types) and types[alike] == fmt:
        alike += 1
    if fmt not in FORMATS:
        is_one_integer = len(types) == 1 and fmt != "pred"
        between = integers_between_floats(DTYPES[fmt].bits, f"{seed} between", _FAMILY // 2) if is_one_integer else None
        return [between[:, None]] if between is not None and len(between) else []
    tables = []
    for number, family in enumerate(FAMILIES.get(alike, ())):
        columns = list(family(fmt, f"{seed} family {number}", _FAMILY))
        count = len(columns[0])
        columns += [
            _random(other, f"{seed} beside {number} {place}", count) for place, other in enumerate(types[alike:])
        ]
        tables.append(np.stack(columns, axis=1))
    return tables


def _random(name: str, seed: str, count: int) -> Bits:
    """Random bits; of integers, a part is small and a part has a random length."""
    words = random_bits(seed, count)
    if name in FORMATS:
        return np.asarray(words & np.uint64(2 ** FORMATS[name].bits - 1))
    bits = DTYPES[name].bits
    if name == "pred":
        return np.asarray(words & np.uint64(1))
    words = words & np.uint64(2 ** max(bits, 32) - 1)
    small = random_below(f"{seed} small", count, 80)
    short = words >> random_below(f"{seed} length", count, bits)
    kind = random_below(f"{seed} kind", count, 4)
    return np.asarray(np.where(kind == 0, small, np.where(kind == 1, short, words)), np.uint64)


def _paired(types: tuple[str, ...], pair: str) -> tuple[Bits, ...]:
    """Two numbers in one register: the rows of the single format, and beside each the row at some distance."""
    one = PAIRS[pair]
    width = np.uint64(DTYPES[pair].bits // 2)
    mask = np.uint64(2 ** int(width) - 1)
    single = columns_for(tuple(one if name == pair else name for name in types))
    return tuple(
        np.asarray((column & mask) | (np.roll(column, 37) & mask) << width) if name == pair else column
        for name, column in zip(types, single, strict=True)
    )
