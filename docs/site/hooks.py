# SPDX-License-Identifier: Apache-2.0
"""MkDocs hooks: pages link to files outside docs/ as they do on the repository's pages, and the site has these files.

A file PATH of the repository that a page links to, such as a figure in results/reference, is `repository/PATH` in the
site. If it is a page itself, so are the files that it links to.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PREFIX = "repository/"
LINK = re.compile(r"(?<=\]\()([^)#\s]+)(?=(#[^)\s]*)?\))")
MARK = re.compile(r"<!-- = .*? -->")  # of a number that comes from a record (plotting/prose_numbers.py)
INFO = re.compile(r"^(```\w+) .*", re.MULTILINE)  # of "```json base" the language is left
LIST_AFTER_TEXT = re.compile(r"^(?!(?:[-*>|#]|\d+\.) |\s|\||<!--)(.+)\n(?=(?:[-*]|\d+\.) )", re.MULTILINE)


def on_files(files, config):
    from mkdocs.structure.files import File, InclusionLevel

    pages = [Path(file.abs_src_path) for file in files.documentation_pages()]
    for path in sorted(linked_outside(pages)):
        # The navigation need not have the pages among them, such as README.md.
        files.append(File.generated(config, uri_of(path), abs_src_path=str(path), inclusion=InclusionLevel.NOT_IN_NAV))
    return files


def on_page_markdown(markdown, page, config, files):
    return for_site(markdown, Path(page.file.abs_src_path))


def for_site(text: str, page: Path) -> str:
    """Returns a page's text for the site. Of code blocks only the first line changes."""
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(INFO.sub(r"\1", part) if part.startswith("```") else prose_for_site(part, page) for part in parts)


def prose_for_site(text: str, page: Path) -> str:
    text = MARK.sub("", text)
    text = LIST_AFTER_TEXT.sub(r"\1\n\n", text)  # Python-Markdown needs an empty line there, GitHub none

    def rewrite(link: re.Match[str]) -> str:
        target = target_of(link[1], page)
        if target is None:
            return link[1]
        return os.path.relpath(uri_of(target), os.path.dirname(uri_of(page)))

    return LINK.sub(rewrite, text)


def linked_outside(pages: Iterable[Path]) -> set[Path]:
    """Returns all files outside docs/ that these pages link to, or pages among those files."""
    found: set[Path] = set()
    waiting = list(pages)
    while waiting:
        page = waiting.pop()
        new = {target for target in targets(page) if not target.is_relative_to(DOCS)} - found
        found |= new
        waiting += (target for target in new if target.suffix == ".md")
    return found


def targets(page: Path) -> Iterator[Path]:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for link in LINK.finditer(text):
        if (target := target_of(link[1], page)) is not None:
            yield target


def target_of(link: str, page: Path) -> Path | None:
    """Returns the file that a link leads to; None for an address, and for a file that does not exist."""
    if re.match(r"[a-z]+:", link):
        return None
    target = (page.parent / link).resolve()
    return target if target.is_file() else None


def uri_of(path: Path) -> str:
    return str(path.relative_to(DOCS)) if path.is_relative_to(DOCS) else PREFIX + str(path.relative_to(ROOT))
