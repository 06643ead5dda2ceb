"""What `diffcheck assemble --sass` prints."""

from __future__ import annotations

from diffcheck import terminal
from diffcheck.assemble.sass.model import SassKernel, SassRatio, SassReport

_KERNELS = ("kernel", "regs", "occupancy", "blocks", "bytes", "turn", "all", "rows", "a row")
_RATIOS = ("kernel", "target", "oxide", "builder", "ratio", "", "reason")


def show_sass(report: SassReport) -> None:
    """Print, an arm and target, the kernels and their hot loops' kinds of instructions; then the ratios."""
    out = terminal.console()
    for target, arm in dict.fromkeys((kernel.target, kernel.arm) for kernel in report.kernels):
        kernels = [kernel for kernel in report.kernels if (kernel.target, kernel.arm) == (target, arm)]
        rows = [_row(kernel) for kernel in kernels]
        title = f"{arm}, {target}, by nvdisasm {report.nvdisasm_version}: one turn of the hot loop, and all of it"
        out.print(terminal.table(title, _KERNELS, rows, _KERNELS[1:]))
        _show_mix(kernels)
    if report.ratios:
        ratios = [_ratio_row(ratio) for ratio in report.ratios]
        title = "instructions a row of K and V in the hot loop"
        out.print(terminal.table(title, _RATIOS, ratios, _RATIOS[2:5]))
    compared = f"{len(report.kernels)} kernels disassembled, {len(report.ratios)} hot loops compared: "
    out.print(compared, terminal.status_text(report.status == "holds"), sep="")


def _row(kernel: SassKernel) -> tuple[object, ...]:
    loop = kernel.loop
    share = f"{kernel.occupancy:.0f} %"
    start = (kernel.entry, kernel.registers, share, kernel.blocks_per_sm, kernel.code_bytes)
    if loop is None:
        return (*start, "-", "-", "-", "-")
    a_row = "-" if loop.per_row is None else f"{loop.per_row:.1f}"
    return (*start, loop.instructions, loop.instructions_all, loop.rows or "-", a_row)


def _show_mix(kernels: list[SassKernel]) -> None:
    loops = [(kernel.entry, kernel.loop.mix) for kernel in kernels if kernel.loop is not None]
    totals: dict[str, int] = {}
    for _, mix in loops:
        for kind, count in mix.items():
            totals[kind] = totals.get(kind, 0) + count
    kinds = sorted(totals, key=lambda kind: -totals[kind])
    # One kind a row: kernels are columns of a letter each, which a terminal has room for.
    letters = [chr(ord("a") + i) for i in range(len(loops))]
    rows = [(kind, *(mix.get(kind, 0) for _, mix in loops)) for kind in kinds]
    if rows:
        out = terminal.console()
        named = zip(letters, loops, strict=True)
        out.print("the turn by kind: " + ", ".join(f"{letter} {_short(entry)}" for letter, (entry, _) in named))
        out.print(terminal.table("", ("kind", *letters), rows, letters))


def _short(entry: str) -> str:
    return entry.removeprefix("splitk_").removeprefix("partial_")


def _ratio_row(ratio: SassRatio) -> tuple[object, ...]:
    rows = (f"{ratio.a_per_row:.1f}", f"{ratio.b_per_row:.1f}", f"{ratio.ratio:.3f}")
    return (ratio.entry, ratio.target, *rows, terminal.status_text(ratio.holds), ratio.reason)
