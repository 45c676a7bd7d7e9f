# SPDX-License-Identifier: Apache-2.0
"""The command that drew a figure, from the file's metadata (plotting/shared/figure_file.py writes it)."""

from __future__ import annotations

import html
import re
import struct
from pathlib import Path

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def command_of_picture(picture: Path) -> str | None:
    """Returns "plotting/fig3.py RESULTS --target 0.7"; None if the file does not say it."""
    content, found = picture.read_bytes(), None
    if content.startswith(PNG_SIGNATURE):
        found = of_png(content)
    elif picture.suffix == ".svg" and (source := re.search(rb"<dc:source>(.*?)</dc:source>", content, re.DOTALL)):
        found = html.unescape(source[1].decode())
    elif picture.suffix == ".pdf" and (words := re.search(rb"/Keywords \(((?:[^\\()]|\\.)*)\)", content, re.DOTALL)):
        found = re.sub(rb"\\(.)", rb"\1", words[1], flags=re.DOTALL).decode("ascii", "replace")
    return found if found is not None and found.startswith("plotting/") else None


def of_png(content: bytes) -> str | None:
    """Returns the text chunk "Source"."""
    place = len(PNG_SIGNATURE)
    while place + 8 <= len(content):
        length, kind = struct.unpack(">I4s", content[place : place + 8])
        key, _, value = content[place + 8 : place + 8 + length].partition(b"\0")
        if (kind, key) == (b"tEXt", b"Source"):
            return value.decode("latin-1")
        place += 12 + length  # with the checksum
    return None
