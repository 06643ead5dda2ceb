"""A picture as a file of its own: on white, with the page's colours for it, for readers that know no style sheet."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources


def standalone(picture: str) -> str:
    """Return an SVG file with a picture of `diffcheck.review.plots`."""
    colours = _colours()
    body = re.sub(r"var\(--([\w-]+)\)", lambda found: colours.get(found[1], found[0]), picture)
    head, rest = body.split(">", 1)
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', head)
    if box is None:
        raise AssertionError("a picture without a size")
    names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    head = head.replace("<svg ", f'<svg {names} width="{box[1]}pt" height="{box[2]}pt" ', 1)
    return f'{head}>\n <rect width="100%" height="100%" fill="{colours["paper"]}"/>{rest}'


@cache
def _colours() -> dict[str, str]:
    """The light colours of the page's style sheet, by their names."""
    sheet = resources.files("diffcheck.review").joinpath("templates/page.css").read_text(encoding="utf-8")
    light = sheet[: sheet.index("@media")]
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", light))
