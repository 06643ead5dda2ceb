"""Texts of files, shown so that they can do nothing to a terminal."""

from __future__ import annotations


def visible(text: str) -> str:
    """Return a text in which what could move a terminal's cursor, or turn its text around, is written as `\\x1b` is.

    What cannot be printed in UTF-8, such as a file's name in another encoding, is written out as well. Line ends stay.
    """
    return "".join(one if one == "\n" or one.isprintable() else ascii(one)[1:-1] for one in text)
