# SPDX-License-Identifier: Apache-2.0
"""Marks of numbers in a page: comments that say from which records a number comes."""
from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Iterator

from prose.expression import parse
from prose.written_number import WrittenNumber
from shared.report import InputError

# A comment cannot contain "--", and "|" ends the cell of a table.
MARK = re.compile(r"<!-- = (?P<source>(?:(?!--)[^:|<>])+): (?P<expression>(?:(?!--)[^|])+?) -->")
BEGINNING = re.compile(r"<!--\s*=")
FENCE = re.compile(r"\s*(```|~~~)")
CODE = re.compile(r"(`+)[^`].*?(?<!`)\1(?!`)")
GENERATED = re.compile(r"<!-- .*: (begin|end) -->$")
FORM = "write <!-- = FOLDER: EXPRESSION --> on one line, without | and --"


@dataclass(frozen=True)
class Mark:
    """page: its name. line: counted from 1. source, text: as in the comment. number: what follows it."""

    page: str
    line: int
    source: str
    text: str
    expression: ast.expr
    number: WrittenNumber


def marks(page: str, text: str) -> list[Mark]:
    """Returns the page's marks. Raises InputError for a comment that looks like one."""
    return [mark for at, line, in_code in lines(text) for mark in marks_of_line(page, at, line, in_code)]


def lines(text: str) -> Iterator[tuple[int, str, bool]]:
    """Yields number and text of each line, and whether it belongs to a block of code."""
    fence = ""
    for at, line in enumerate(text.splitlines(), 1):
        found = FENCE.match(line)
        yield at, line, bool(fence or found)
        if found and fence in ("", found[1]):
            fence = "" if fence else found[1]


def marks_of_line(page: str, at: int, line: str, in_code: bool) -> Iterator[Mark]:
    for beginning in BEGINNING.finditer(line):
        place = beginning.start()
        if len(re.findall("`+", line[:place])) % 2 == 1:
            continue  # an example in inline code
        found = MARK.match(line, place)
        number = WrittenNumber.at(line, found.end()) if found else None
        if problem := problem_of(line[:place], in_code, bool(found), bool(number)):
            raise InputError(f"{page}:{at}: {problem}")
        yield Mark(page, at, found["source"].strip(), found["expression"], expression_of(page, at, found), number)


def expression_of(page: str, at: int, found: re.Match[str]) -> ast.expr:
    try:
        return parse(found["expression"])
    except InputError as error:
        raise InputError(f"{page}:{at}: \"{found['expression']}\" {error}") from error


def problem_of(before: str, in_code: bool, found: bool, number: bool) -> str:
    if in_code:
        return "a mark in a block of code would be visible; remove it"
    if before.startswith("#"):
        return "a mark in a heading would change its anchor; move the number into the text"
    if re.fullmatch(r"\s*(?:>\s*)*(?:[-*+]|\d+[.)])?\s*", before):
        return "a comment that begins a line or an item ends its paragraph; put a word before the mark"
    if not found:
        return f"is no mark of a number; {FORM}"
    return "" if number else "no number follows the mark directly, such as 1.77, 19,532, 27 %, 1/60, 60th, half or two"


def unmarked(text: str) -> Iterator[tuple[int, str]]:
    """Yields the lines of prose with a number that has no mark: outside code, tables, links and generated blocks."""
    generated = False
    for at, line, in_code in lines(text):
        if found := GENERATED.match(line):
            generated = found[1] == "begin"
        if in_code or generated or line.startswith("|") or found:
            continue
        rest = line
        for each in reversed(list(MARK.finditer(line))):
            number = WrittenNumber.at(line, each.end())
            rest = rest[: each.start()] + rest[number.end if number else each.end() :]
        if re.search(r"\d", re.sub(r"\]\([^)]*\)", "]", CODE.sub("", rest))):
            yield at, rest
