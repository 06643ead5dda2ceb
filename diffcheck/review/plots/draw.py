"""How every picture is drawn."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

from diffcheck import digest
from diffcheck.review.numbers import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Each colour stands for a variable of the page's style sheet, and is put in its place once the picture is drawn.
INK, MUTED, GRID, LIMIT = "#010101", "#010102", "#010103", "#010104"
BASELINE, CANDIDATE, FLOOR = "#010105", "#010106", "#010107"
GOOD, WARN, BAD = "#010108", "#010109", "#01010a"
PEERS = ("#01010b", "#01010c", "#01010d", "#01010e")
_VARIABLES = {
    INK: "ink",
    MUTED: "muted",
    GRID: "grid",
    LIMIT: "limit",
    BASELINE: "baseline",
    CANDIDATE: "candidate",
    FLOOR: "floor",
    GOOD: "good",
    WARN: "warn",
    BAD: "bad",
    **{colour: f"peer-{place}" for place, colour in enumerate(PEERS, start=1)},
}
PEER_MARKERS = ("v", "D", "P", "X")
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",  # texts stay texts: they can be searched, and the page's font is used
    "svg.hashsalt": "diffcheck",  # the same receipt gives the same page, byte for byte
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "font.family": ["sans-serif"],
    "font.size": 9.0,
    "axes.titlesize": 9.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 8.0,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
}


def svg(width: float, height: float, label: str, fill: Callable[[Figure], None]) -> str:
    """Return a picture of `width` by `height` inches as an SVG element; `label` says what it shows."""
    with _settings():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width, height), layout="constrained", facecolor="none")
        fill(figure)
        for axes in figure.axes:
            axes.set_facecolor("none")
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return _inline(out.getvalue(), label)


def panels(figure: Figure, count: int, columns: int) -> list[Axes]:
    """Return `count` axes in a grid; what is left of the last line stays empty."""
    lines = -(-count // columns)
    grid = figure.subplots(lines, columns, squeeze=False)
    found = [axes for line in grid for axes in line]
    for unused in found[count:]:
        unused.set_visible(False)
    return found[:count]


def legend_below(figure: Figure, axes: Axes) -> None:
    """Put one legend for all panels at the foot, by the labels of one of them."""
    handles, labels = axes.get_legend_handles_labels()
    known = dict(zip(labels, handles, strict=True))
    columns = len(known) if len(known) <= 6 else -(-len(known) // 2)
    figure.legend(known.values(), known.keys(), loc="outside lower center", ncols=columns)


@contextmanager
def _settings() -> Iterator[None]:
    import matplotlib as mpl

    with warnings.catch_warnings(), mpl.rc_context(_SETTINGS):
        # The browser has the font, so glyphs that are missing here are no matter.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def _inline(text: str, label: str) -> str:
    body = text[text.index("<svg ") :]
    body = re.sub(r"<!--.*?-->", "", body, flags=re.DOTALL)
    body = re.sub(r"<(metadata|style)\b.*?</\1>", "", body, flags=re.DOTALL)
    box = re.search(r'viewBox="([^"]+)"', body)
    if box is None:
        raise AssertionError("matplotlib wrote no viewBox")
    inside = _own_names(body[body.index(">") + 1 :], digest.of_text(label)[:8])
    for colour, name in _VARIABLES.items():
        inside = inside.replace(colour, f"var(--{name})")
    said = escape(plain(label), quote=True)
    return f'<svg viewBox="{box[1]}" role="img" aria-label="{said}" class="plot">{inside}'.rstrip() + "\n"


def _own_names(text: str, prefix: str) -> str:
    """Of several pictures in one page each has its own names; a name that nothing refers to goes."""
    used = set(re.findall(r'(?:url\(|href=")#([\w.-]+)', text))

    def rename(found: re.Match[str]) -> str:
        return f' id="{prefix}-{found[1]}"' if found[1] in used else ""

    renamed = re.sub(r' id="([\w.-]+)"', rename, text)
    return re.sub(r'(url\(|href=")#(?=[\w.-])', rf"\g<1>#{prefix}-", renamed)
