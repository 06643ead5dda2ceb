"""A page of complete evidence: its pictures take seconds to draw, so the tests of it share one."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from diffcheck.review.gather import gather
from diffcheck.review.page import html
from tests.factory.ab import ab_content, write_evidence


@cache
def complete_page() -> str:
    """The page, as HTML, of both hosts that the experiment requires and of one that is advisory and slower."""
    with tempfile.TemporaryDirectory() as folder:
        contents = [ab_content("rtx4090"), ab_content("gb10"), ab_content("h200", ratio=1.3)]
        return html(gather("promote-oxide", None, write_evidence(Path(folder), contents)))
