"""Every kind of kernel, in one place. To add a kernel, add a Kind to KINDS."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from py_builder_kernel.kernels.naive import emit_naive
from py_builder_kernel.kernels.partial import emit_partial
from py_builder_kernel.kernels.reduce import emit_reduce
from py_builder_kernel.kernels.spec import HEAD_DIMS, NaiveSpec, PartialSpec, ReduceSpec
from py_builder_kernel.kernels.storage import STORAGES
from py_builder_kernel.ptx import Function, Module
from rust_kernel.plan import tile_table

Spec: TypeAlias = PartialSpec | ReduceSpec | NaiveSpec


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of kernel: how its entries are named and emitted, and which ones an architecture has.

    `pattern` matches a whole entry name, its groups named as the spec's fields; `planned` gives the specs that plans
    for an architecture (90 for sm_90) can ask for.
    """

    name: str
    pattern: re.Pattern[str]
    spec: Callable[..., Spec]
    emit: Callable[[Module, Spec], Function]
    planned: Callable[[int], Iterator[Spec]]


def _kind(
    name: str,
    pattern: str,
    spec: Callable[..., Spec],
    emit: Callable[..., Function],
    planned: Callable[[int], Iterator[Spec]],
) -> Kind:
    return Kind(name, re.compile(pattern), spec, emit, planned)


def _partials(arch: int) -> Iterator[Spec]:
    for row in tile_table():
        if row["arch"][0] <= arch <= row["arch"][1]:
            low, high = row["group_size"]
            for group in range(low, high + 1):
                yield PartialSpec(row["storage"], group, row["head_dim"], row["tile"].warps, row["tile"].rows)


def _reduces(_arch: int) -> Iterator[Spec]:
    return (ReduceSpec(head_dim) for head_dim in HEAD_DIMS)


def _naives(_arch: int) -> Iterator[Spec]:
    return (NaiveSpec(storage, head_dim) for storage in STORAGES for head_dim in HEAD_DIMS)


_NUMBER: Final = "[1-9][0-9]*"

KINDS: Final[tuple[Kind, ...]] = (
    _kind(
        "partial",
        rf"splitk_partial_(?P<storage>\w+?)_g(?P<group>{_NUMBER})_d(?P<head_dim>{_NUMBER})"
        rf"_w(?P<warps>{_NUMBER})r(?P<rows>{_NUMBER})",
        PartialSpec,
        emit_partial,
        _partials,
    ),
    _kind("reduce", rf"splitk_reduce_d(?P<head_dim>{_NUMBER})", ReduceSpec, emit_reduce, _reduces),
    _kind("naive", rf"naive_decode_(?P<storage>\w+?)_d(?P<head_dim>{_NUMBER})", NaiveSpec, emit_naive, _naives),
)


def kernel_named(entry: str) -> tuple[Kind, Spec]:
    """The kind and spec of an entry name; raises ValueError, with what is allowed, for one that no kernel has."""
    for kind in KINDS:
        match = kind.pattern.fullmatch(entry)
        if match is not None:
            fields = match.groupdict()
            return kind, kind.spec(**{name: int(v) if v.isdecimal() else v for name, v in fields.items()})
    raise ValueError(
        f"entry is {entry!r}; allowed: splitk_partial_<storage>_g<G>_d<D>_w<W>r<R>, splitk_reduce_d<D> or "
        "naive_decode_<storage>_d<D>"
    )


def planned_specs(arch: int) -> list[Spec]:
    """Every kernel that a plan for the architecture can ask for, each once, in a fixed order."""
    return list(dict.fromkeys(spec for kind in KINDS for spec in kind.planned(arch)))
