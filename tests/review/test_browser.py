"""The page in headless Chromium: nothing on the console, nothing wider than the window, and both colour schemes."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest

from tests.review.browser import DARK, LIGHT, browse, chromium
from tests.review.complete import complete_page

pytestmark = pytest.mark.skipif(chromium() is None, reason="no Chromium on the path, nor named by DIFFCHECK_CHROMIUM")
WIDTH, HEIGHT = 1200, 1600


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("page") / "page.html"
    made.write_text(complete_page(), encoding="utf-8")
    return made


def brightness(png: bytes) -> int:
    """The red of the first pixel of a PNG."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    data, place = b"", 8
    while place < len(png):
        (size,) = struct.unpack(">I", png[place : place + 4])
        if png[place + 4 : place + 8] == b"IDAT":
            data += png[place + 8 : place + 8 + size]
        place += 12 + size
    # The first pixel of the first line has no neighbour: whatever the line's filter, its bytes are its own.
    return zlib.decompress(data)[1]


@pytest.mark.parametrize(("scheme", "dark"), [(LIGHT, False), (DARK, True)])
def test_a_screenshot_in_both_schemes(scheme: str, dark: bool, page: Path, tmp_path: Path) -> None:
    picture = tmp_path / "page.png"
    _, console = browse(page, scheme, f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={picture}")
    assert console == []
    assert (brightness(picture.read_bytes()) < 64) == dark


def test_a_print_has_pages(page: Path, tmp_path: Path) -> None:
    printed = tmp_path / "page.pdf"
    _, console = browse(page, f"--print-to-pdf={printed}", "--no-pdf-header-footer")
    assert console == []
    assert printed.read_bytes().startswith(b"%PDF-")


@pytest.mark.parametrize("width", [1200, 600])
def test_nothing_is_wider_than_the_window(width: int, page: Path, tmp_path: Path) -> None:
    # The page itself allows no script, so a copy that does measures it.
    text = page.read_text(encoding="utf-8").replace("Content-Security-Policy", "x-none")
    script = "<script>document.title=document.documentElement.scrollWidth+' of '+window.innerWidth</script></body>"
    measured = tmp_path / "measured.html"
    measured.write_text(text.replace("</body>", script), encoding="utf-8")
    dom, _ = browse(measured, f"--window-size={width},1000", "--dump-dom")
    title = dom[dom.index("<title>") + 7 : dom.index("</title>")]
    inside, window = map(int, title.split(" of "))
    assert inside <= window


def test_the_console_is_listened_to(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.html"
    wrong.write_text("<script>throw new Error('planted')</script>", encoding="utf-8")
    _, console = browse(wrong, "--dump-dom")
    assert any("planted" in line for line in console)
