"""Every file of the suite is accepted by the assembler for its target, so that none is refused on a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffcheck.assemble.ptxas import assemble_into
from diffcheck.opcodes.probe import all_probes, group_text, groups

# ptxas 13 makes no code for what is older; PTX for an older target is for newer devices too.
_OLDEST = 80


@pytest.mark.slow
def test_every_file_is_assembled(tmp_path: Path) -> None:
    for group, members in groups(all_probes()).items():
        assemble_into(group_text(members), f"sm_{max(members[0].sm, _OLDEST)}", tmp_path / "group.cubin", what=group)
