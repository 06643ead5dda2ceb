"""Files of the suite are accepted by the assembler for their target, so that none is refused on a GPU."""

from __future__ import annotations

from pathlib import Path

from diffcheck.assemble.ptxas import assemble_into
from diffcheck.opcodes.probe import all_probes, group_text, groups

# All of them take a minute where processors are few, so every n-th is taken; n is prime, so that all opcodes have one.
_EVERY = 7


def test_files_are_assembled(tmp_path: Path) -> None:
    chosen = list(groups(all_probes()).items())[::_EVERY]
    assert len(chosen) > 50
    for group, members in chosen:
        assemble_into(group_text(members), f"sm_{members[0].sm}", tmp_path / "group.cubin", what=group)
