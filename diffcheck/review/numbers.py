"""Numbers as a page writes them."""

from __future__ import annotations

import math

from diffcheck.receipts.ab.samples import Interval

NONE = "–"


def microseconds(value: float | None) -> str:
    """Write a time in µs with three to five digits that count."""
    if value is None:
        return NONE
    return f"{value:,.3f}" if value < 10 else f"{value:,.2f}" if value < 1000 else f"{value:,.1f}"


def interval(ratio: Interval | None) -> str:
    """Write the two ends of an interval."""
    return NONE if ratio is None else f"{ratio.low:.4f} – {ratio.high:.4f}"


def ratio_text(value: float | None) -> str:
    """Write a ratio of times."""
    return NONE if value is None else f"{value:.4f}"


def rate(value: float | None) -> str:
    """Write bytes a second as GB/s."""
    return NONE if value is None else f"{value / 1e9:,.0f}"


def percent(value: float | None) -> str:
    """Write a part as per cent."""
    return NONE if value is None else f"{100.0 * value:.1f} %"


def small(value: float | None) -> str:
    """Write an error."""
    if value is None:
        return NONE
    return f"{value:g}" if value == 0 or math.isnan(value) else f"{value:.2e}"


def size(value: float | None) -> str:
    """Write bytes in the unit that suits."""
    if value is None:
        return NONE
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{value:,.0f} {unit}" if value >= 100 or unit == "B" else f"{value:,.1f} {unit}"
        value /= 1024
    raise AssertionError("not reached")


def length(value: int) -> str:
    """Write a context's length."""
    return f"{value:,}"


def plain(text: str) -> str:
    """Return a text without control characters, which neither HTML nor SVG may hold, on one line."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "\ufffd" for c in text)
