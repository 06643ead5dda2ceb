"""Draws the README's picture from a file that `diffcheck timing --json` wrote."""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

STYLES = {"builder": ("o-", "tab:blue"), "oxide": ("s--", "tab:orange"), "naive-f16": ("^-", "tab:red")}
TITLES = {
    "builder": "split-K, PTX from Python",
    "oxide": "split-K, Rust through cuda-oxide",
    "naive-f16": "one block a head",
}


def series(timing: dict[str, Any], heads: tuple[int, int], storage: str) -> dict[str, list[tuple[int, float]]]:
    """Median microseconds by variant, as (kv_len, µs); the read-only floor is its best grid at each length."""
    found: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for one in timing["cases"]:
        case = one["case"]
        if (case["num_q_heads"], case["num_kv_heads"]) != heads or case["storage"] != storage:
            continue
        medians = {variant["name"]: variant["median_us"] for variant in one["variants"]}
        for name in medians.keys() & STYLES.keys():
            found[name].append((case["kv_len"], medians[name]))
        found["floor"].append((case["kv_len"], min(us for name, us in medians.items() if name.startswith("read only"))))
    return {name: sorted(points) for name, points in found.items()}


def draw(timing: dict[str, Any], target: Path) -> None:
    """Write the picture to `target`: 16 query heads, 4 KV heads, f16."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
    found = series(timing, (16, 4), "f16")
    for name, (line, colour) in STYLES.items():
        if name in found:
            axes.plot(*zip(*found[name], strict=True), line, color=colour, label=TITLES[name])
    axes.plot(*zip(*found["floor"], strict=True), ":", color="grey", label="reading K and V only")
    axes.set(xscale="log", yscale="log", xlabel="context length (keys)", ylabel="µs a call")
    axes.set_title(f"One decode step, 16/4 heads, head_dim 256, f16, {timing['device']}")
    lengths = [length for length, _ in found["floor"]]
    axes.set_xticks(lengths, [f"{length:,}" for length in lengths])
    axes.minorticks_off()
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    figure.savefig(target, dpi=120)


def main() -> int:
    """Parse the command line and draw; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("timing", type=Path, help="what `diffcheck timing --json` wrote")
    parser.add_argument("picture", type=Path, help="the PNG or SVG to write")
    arguments = parser.parse_args()
    try:
        timing = json.loads(arguments.timing.read_text(encoding="utf-8"))
        draw(timing, arguments.picture)
    except (OSError, ValueError, KeyError, ImportError) as error:
        print(f"plot_rungs: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
