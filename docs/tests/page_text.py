# SPDX-License-Identifier: Apache-2.0
"""The text of a page: its blocks of code, the lines between them, headings and sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

FENCE = "```"
# Languages of blocks that nothing executes.
SHOWN = ("console", "csv", "latex", "text", "yaml")
# Full stops that do not end a sentence.
ABBREVIATIONS = ("e.g.", "i.e.", "et al.", "vs.", "Fig.", "Figs.")
END_OF_SENTENCE = re.compile(r"[.?!][)\"”’*_\]]*\s+(?=\S)")
LIST_MARKER = re.compile(r"^([-*]|\d+\.)\s+")
LEAD_IN = re.compile(r"^\*\*[^*]+[.:?!]\*\*\s+")  # such as "**Order.** Replays wait …"


class UnpairedMark(ValueError):
    def __init__(self, line: int, name: str, end: str) -> None:
        super().__init__(f"'<!-- {name}: {end} -->' has no counterpart")
        self.line = line


@dataclass
class Block:
    line: int  # of the fence that opens it
    info: str
    text: str
    closed: bool = True

    @property
    def lines(self) -> range:
        """Returns the numbers of its lines with its fences."""
        return range(self.line, self.line + self.text.count("\n") + 1 + self.closed)


def blocks(text: str) -> Iterator[Block]:
    """Yields the blocks of code, also those that a list indents. A fence with a language inside a block opens the next
    one: the block before it is not closed."""
    start, info, indent = 0, "", ""
    lines = text.splitlines()

    def block(after: int, closed: bool) -> Block:
        inside = lines[start : after - 1]
        return Block(start, info, "".join(each.removeprefix(indent) + "\n" for each in inside), closed)

    for number, line in enumerate(lines, 1):
        if not line.lstrip().startswith(FENCE):
            continue
        if start and line.strip() == FENCE:
            yield block(number, closed=True)
            start = 0
            continue
        if start:
            yield block(number, closed=False)
        start, info = number, line.strip().removeprefix(FENCE).strip()
        indent = line[: len(line) - len(line.lstrip())]
    if start:
        yield block(len(lines) + 1, closed=False)


def prose_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yields the lines outside of blocks of code with their numbers."""
    in_blocks = {number for block in blocks(text) for number in block.lines}
    for number, line in enumerate(text.splitlines(), 1):
        if number not in in_blocks:
            yield number, line


def generated_lines(text: str) -> set[int]:
    """Returns the numbers of the lines that scripts write: between `<!-- NAME: begin -->` and `<!-- NAME: end -->`."""
    found: set[int] = set()
    began, name = 0, ""
    for number, line in prose_lines(text):
        mark = re.fullmatch(r"<!-- (.+): (begin|end) -->", line.strip())
        if not mark:
            continue
        if mark[2] == "begin" and not began:
            began, name = number, mark[1]
        elif mark[2] == "end" and began and mark[1] == name:
            found |= set(range(began, number + 1))
            began = 0
        else:
            raise UnpairedMark(number, mark[1], mark[2])
    if began:
        raise UnpairedMark(began, name, "begin")
    return found


def headings(text: str) -> set[str]:
    """Returns the headings in the form of GitHub's anchors."""
    found = (re.fullmatch(r"#+ (.*)", line) for _, line in prose_lines(text))
    return {re.sub(r"[^\w\- ]", "", heading[1].lower()).replace(" ", "-") for heading in found if heading}


def second_sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yields every line on which a second sentence begins, with the words around the place. Code, tables, headings and
    what scripts write have no such rule, and a bold lead-in at the beginning of a line is no sentence."""
    written_by_scripts = generated_lines(text)
    for number, line in prose_lines(text):
        line = line.strip()
        if number in written_by_scripts or line.startswith(("|", "#")):
            continue
        line = re.sub(r"<!--.*?-->", "", line)
        line = re.sub(r"(`+).*?\1", "`code`", line)
        line = re.sub(r"\]\([^)]*\)", "]", line)
        line = LEAD_IN.sub("", LIST_MARKER.sub("", line.removeprefix("> ")))
        for end in END_OF_SENTENCE.finditer(line):
            if not line[: end.start() + 1].endswith((*ABBREVIATIONS, "...")):
                yield number, line[max(0, end.start() - 30) : end.end() + 20]
                break
