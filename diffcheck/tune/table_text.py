"""Tile tables as text, in the form that the planner reads (crates/splitk_plan/src/tiles.toml)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from diffcheck.visible import visible

if TYPE_CHECKING:
    from rust_kernel.plan import TileTable

Span: TypeAlias = tuple[int, int]
"""First and last number, both included."""

LAST = (1 << 32) - 1
ANY: Span = (0, LAST)
SCHEMA = "splitk-tiles/1"


@dataclass(frozen=True)
class TableRow:
    """A row of a tile table, with the fields of the file."""

    arch: Span
    head_dim: int
    storage: str
    group_size: Span
    kv_len: Span
    warps: int
    rows: int
    policy: str
    source: Literal["reasoned", "measured"]
    ground: str
    result: str | None = None

    @property
    def tile(self) -> str:
        """The tile's name, such as `w12r4`."""
        return f"w{self.warps}r{self.rows}"

    def text(self) -> str:
        """The row as TOML."""
        fields: dict[str, int | str] = {
            "arch": span_text(self.arch),
            "head_dim": self.head_dim,
            "storage": self.storage,
            "group_size": span_text(self.group_size),
            "kv_len": span_text(self.kv_len),
            "warps": self.warps,
            "rows": self.rows,
            "policy": self.policy,
            "source": self.source,
            **({} if self.result is None else {"result": self.result}),
            "ground": self.ground,
        }
        lines = [f"{name} = {_toml(value)}" for name, value in fields.items()]
        return "\n".join(("[[row]]", *lines)) + "\n"


def span_text(span: Span) -> str:
    """Return a range as the file writes it: `any`, `N`, `N-M` or `N-`."""
    first, last = span
    if span == ANY:
        return "any"
    if first == last:
        return str(first)
    return f"{first}-" if last == LAST else f"{first}-{last}"


def table_text(rows: Sequence[TableRow], comment: Sequence[str] = ()) -> str:
    """Return a table with these rows, below lines of comment."""
    # A comment has no escapes: a name in it must neither end its line nor hold what TOML has not.
    head = "".join(f"# {visible(' '.join(line.split()))}".rstrip() + "\n" for line in comment)
    return "\n".join([f'{head}schema = "{SCHEMA}"\n', *(row.text() for row in rows)])


def _toml(value: int | str) -> str:
    # A JSON string or number is one of TOML, too, but for DEL: JSON has it as it is, and TOML escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def rows_of(table: TileTable) -> list[TableRow]:
    """Return the rows of a table that the planner has read."""
    return [
        TableRow(
            arch=row["arch"],
            head_dim=row["head_dim"],
            storage=row["storage"],
            group_size=row["group_size"],
            kv_len=row["kv_len"],
            warps=row["tile"].warps,
            rows=row["tile"].rows,
            policy=row["policy"],
            source=row["source"],
            ground=row["ground"],
            result=row["result"],
        )
        for row in table.rows
    ]


def one_tile(warps: int, rows: int, policy: str, ground: str) -> TileTable:
    """Return a table that gives every call one tile and one policy; errors as `TileTable.parse`."""
    from rust_kernel.plan import TileTable

    return TileTable.parse(
        table_text(
            [
                TableRow(ANY, 256, storage, ANY, ANY, warps, rows, policy, "reasoned", ground)
                for storage in ("f16", "f32")
            ]
        )
    )
