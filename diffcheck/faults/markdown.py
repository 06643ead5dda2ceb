"""The faults as the table of docs/faults.md."""

from __future__ import annotations

from diffcheck.faults.model import Fault
from diffcheck.faults.registry import all_faults

_HEADER = ("fault", "found in", "input", "right", "status", "covered by")


def fault_table() -> str:
    """Return one table a topic, in Markdown, with every case, test and command by name."""
    parts: list[str] = []
    for topic in dict.fromkeys(fault.topic for fault in all_faults()):
        rows = [_row(fault) for fault in all_faults() if fault.topic == topic]
        lines = [_line(_HEADER), _line(("---",) * len(_HEADER)), *map(_line, rows)]
        parts.append(f"### {topic.capitalize()}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def _row(fault: Fault) -> tuple[str, ...]:
    named = [f"`{case.name}`" for case in fault.cases]
    named += [f"`{test}`" for test in fault.tests] + [f"`{command}`" for command in fault.commands]
    if fault.waits_for:
        named.append(f"waits for {fault.waits_for}")
    return fault.name, ", ".join(fault.reports), fault.input, fault.right, fault.status, "<br>".join(named)


def _line(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
