# SPDX-License-Identifier: Apache-2.0
"""The check of what stands between blocks: links, paths, quoted messages, and a line per sentence."""

from __future__ import annotations

import errno
import functools
import os
import re

from judge import ROOT, TREE_FOLDERS, Judge
from page_commands import judge_options, judge_scripts, own_commands
from page_text import SHOWN, UnpairedMark, blocks, generated_lines, headings, prose_lines, second_sentences

# Pages that scripts write: rules for the form of sources do not apply.
GENERATED = {
    "docs/reference/command-line.md": "scripts/help_pages.py",
    "docs/reference/command-times.md": "scripts/command_times.py",
    "docs/reference/experiment-options.md": "scripts/help_pages.py",
    "docs/reference/record-fields.md": "scripts/record_fields.py",
}


def judge_form(judge: Judge, text: str) -> None:
    """Checks the form of the source, unless a script writes it: languages of blocks, and a line per sentence."""
    page = str(judge.page.relative_to(ROOT)) if judge.page.is_relative_to(ROOT) else ""
    if page in GENERATED:
        return
    try:
        written_by_scripts = generated_lines(text)
    except UnpairedMark as mark:
        judge.blame(mark.line, str(mark))
        return
    for block in blocks(text):
        if not block.info and block.line not in written_by_scripts:
            judge.blame(block.line, f"has no language: use sh, json, python, cc or {', '.join(SHOWN)}")
    if page != "CHANGELOG.md":  # an entry is a line
        for number, place in second_sentences(text):
            judge.blame(number, f"has a second sentence; put it on a line of its own: … {place} …")


def judge_prose(judge: Judge, text: str) -> None:
    for number, line in prose_lines(text):
        judge_links(judge, number, line)
        if quoted := re.match(r"> (`+)(.*)\1$", line):
            judge_message(judge, number, quoted[2])
            continue
        for code in re.findall(r"`([^`]+)`", line):
            judge_code(judge, number, code)


def judge_links(judge: Judge, number: int, line: str) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", line):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, heading = target.partition("#")
        file = (judge.page.parent / path) if path else judge.page
        if not file.exists():
            judge.blame(number, f"links to {target}, which does not exist")
        elif heading and heading not in headings(file.read_text(encoding="utf-8")):
            judge.blame(number, f"links to {target}, but {file.name} has no such heading")


def judge_code(judge: Judge, number: int, code: str) -> None:
    for words in own_commands(code):
        judge_options(judge, number, words)
    first, _, arguments = code.strip().partition(" ")
    path = first.removeprefix("./").rstrip("/")
    if re.fullmatch(rf"({'|'.join(TREE_FOLDERS)})/[\w./*-]+|(quickstart|check)\.sh", path):
        if not list(ROOT.glob(path)):
            judge.blame(number, f"names {path}, which does not exist")
    judge_scripts(judge, number, arguments)


def judge_message(judge: Judge, number: int, message: str) -> None:
    if message in {os.strerror(code) for code in errno.errorcode}:
        return
    if not any(message in literal for literal in literals()):
        judge.blame(number, f"quotes a message that is not in the sources: {message}")


@functools.cache
def literals() -> list[str]:
    """Returns all string literals of the C++ sources: adjacent ones joined, with … for formatted values."""
    found = []
    one = r'"(?:[^"\\\n]|\\.)*"'
    for part in ("common", "harness", "netem", "trainer"):
        for file in (ROOT / part).rglob("*.cc"):
            for run in re.findall(rf"{one}(?:\s*{one})*", file.read_text(encoding="utf-8")):
                text = "".join(each[1:-1] for each in re.findall(one, run))
                text = text.replace('\\"', '"').replace("\\\\", "\\")
                found.append(re.sub("…+", "…", re.sub(r"\{[^{}]*\}", "…", text)))
    return found
