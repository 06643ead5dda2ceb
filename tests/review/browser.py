"""Headless Chromium: screenshots, prints, and what it wrote on its console."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"),
    *("--no-first-run", "--disable-extensions", "--disable-background-networking"),
    *("--enable-logging=stderr", "--log-level=0"),
)
DARK = "--blink-settings=preferredColorScheme=0"
LIGHT = "--blink-settings=preferredColorScheme=1"


def chromium() -> str | None:
    """Return the browser: the one that DIFFCHECK_CHROMIUM names, or one on the path; None without one."""
    named = os.environ.get("DIFFCHECK_CHROMIUM")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


def browse(page: Path, *options: str) -> tuple[str, list[str]]:
    """Open a page; return what was written on standard output and the lines of the page's console."""
    browser = chromium()
    assert browser is not None
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [browser, *_OPTIONS, f"--user-data-dir={profile}", *options, page.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]
