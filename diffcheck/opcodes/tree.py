"""Where the suite's files lie in a source tree: the PTX, and the values beside it. A wheel holds neither."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Final

from diffcheck.errors import MissingRequirementError
from diffcheck.opcodes.probe import Probe, all_probes, group_text, groups
from diffcheck.receipts.write import write_text

MEASURED: Final = "measured.jsonl"
DERIVED: Final = "derived.jsonl"


def suite_folder() -> Path:
    """The folder of the suite. Raises `MissingRequirementError` where the package runs without its source tree."""
    root = Path(str(resources.files("diffcheck"))).parent
    machine = root / "crates" / "ptx_machine"
    if not machine.is_dir():
        raise MissingRequirementError(
            f"the opcode suite lies in the source tree, and {root} has no folder crates/ptx_machine",
            "run it in a clone of the repository",
        )
    return machine / "opcodes"


def expected_file(name: str) -> Path:
    """The file of values called `name`."""
    return suite_folder() / "expected" / name


def ptx_files(probes: Sequence[Probe] | None = None) -> dict[Path, str]:
    """Every PTX file of the suite with its text."""
    found = groups(all_probes() if probes is None else probes)
    return {suite_folder() / f"{group}.ptx": group_text(members) for group, members in found.items()}


def stale_files() -> list[Path]:
    """PTX files that are missing, differ from what the table gives, or belong to no form; in order."""
    wanted = ptx_files()
    stale = {path for path, text in wanted.items() if not path.is_file() or path.read_text(encoding="utf-8") != text}
    return sorted(stale | (set(suite_folder().rglob("*.ptx")) - set(wanted)))


def write_files() -> tuple[int, int]:
    """Write every PTX file that is stale and remove those that belong to no form; return how many of each."""
    wanted = ptx_files()
    stale = stale_files()
    for path in stale:
        if path in wanted:
            write_text(path, wanted[path])
        else:
            path.unlink()
    removed = sum(path not in wanted for path in stale)
    return len(stale) - removed, removed
