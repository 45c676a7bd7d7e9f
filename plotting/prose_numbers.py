#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the numbers in prose that come from committed records, and updates them."""
from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Sequence

from prose.expression import evaluate
from prose.mark import Mark, marks, unmarked
from prose.source import Sources
from shared.destination import write_whole
from shared.report import InputError, find_program

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "results" / "reference"
ABOUT = """\
A number has an invisible mark directly before it:

  By Gloo an exchange takes <!-- = peers-at-full-size: iteration_time_s.exchange["dense, Gloo"] /
  iteration_time_s.exchange["dense"] -->1.77 times as long.

(on one line). A mark is <!-- = SOURCE: EXPRESSION -->.

SOURCE is a folder in results/reference, several (repetitions, of which the mean counts; also turn-*), a JSON file there,
or a path with a "/". "target=0.7" and "hold=1" after the folder are as for 'thinpipe report'.

EXPRESSION has numbers, + - * /, comparisons (1 or 0), parentheses, and
  NAME                     a quantity of each row of the records. A row is the runs that differ only in their seed.
                           NAME is one of the groups in 'thinpipe report --json' (final_accuracy, time_to_accuracy_s,
                           speed_up_over_dense, reached, runs, ...), or a member of a record with its dots
                           (iteration_time_s.exchange, plan.gradient_bytes, ...), as the mean of completed runs
  NAME["fp16", "AXIS=VALUE", ...]
                           only rows with this method and these values of swept axes, of mode, of seed or of folder
                           ("seed=1" takes single runs, "seed=*" each of them)
  speed_up_over("NAME")["METHOD"]
                           over any method; also convergence_speed_over, relative_time_to
  low(...), high(...)      ends of the 95 % confidence interval of a quantity
  min, max, mean, sum      of all rows of all arguments, as in max(a["fp16"] / a["dense"])
  count                    number of these rows
  abs                      of each row
Values that vary in axes that are not selected are joined row by row. In the end one value must be left.
In a JSON file NAME is a path of members: machines[0].iteration_time, benchmarks["name=memcpy/1"].real_time.

The value must round to the number as written: half a unit of its last digit. 19,532, -3.2 %, 1/60, a 60th, a third and
two are understood; "%" multiplies the value by 100. Digits below the machine's noise are not accepted. A time or
speed-up whose networks were degraded or not judged has † or ‡ behind it, as in 1.8† times or 27 %†.

example:
  python3 plotting/prose_numbers.py docs/results/performance.md --update

exit codes: 0 all numbers are right (or updated), 1 some are not, or a page cannot be written, 2 wrong input"""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="prose_numbers.py",
        description="Compare the marked numbers in pages with the committed records that they come from.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=ABOUT,
    )
    parser.add_argument("pages", type=Path, nargs="*", metavar="PAGE", help="default: README.md and all others")
    parser.add_argument("--update", action="store_true", help="write the right numbers into the pages")
    parser.add_argument("--unmarked", action="store_true", help="list the lines of prose with other numbers")
    parser.add_argument(
        "--reference", type=Path, default=REFERENCE, help="the folder of sources (default: results/reference)"
    )
    parser.add_argument("--thinpipe", type=Path, metavar="FILE", help="as for the tables")
    options = parser.parse_args(arguments)
    try:
        texts = {page: read(page) for page in options.pages or all_pages()}
        if options.unmarked:
            list_unmarked(texts)
            return 0
        stale = judge(texts, options)
    except InputError as error:
        print("\n".join(f"prose_numbers: {line}" for line in str(error).splitlines()), file=sys.stderr)
        return 2
    except OSError as error:
        print(f"prose_numbers: cannot write the page: {error}", file=sys.stderr)
        return 1
    return 1 if stale and not options.update else 0


def all_pages() -> list[Path]:
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def read(page: Path) -> str:
    try:
        with page.open(encoding="utf-8", newline="") as file:
            return file.read()
    except OSError as error:
        raise InputError(f"{page}: cannot be read: {error}") from error


def list_unmarked(texts: dict[Path, str]) -> None:
    for page, text in texts.items():
        for line, words in unmarked(text):
            print(f"{name_of(page)}:{line}: {words}")


def judge(texts: dict[Path, str], options: argparse.Namespace) -> bool:
    """Prints the numbers that are not right, and writes them if asked to. Returns whether there are any."""
    found = {page: marks(name_of(page), text) for page, text in texts.items()}
    every = [mark for page in found.values() for mark in page]
    if any(not mark.source.endswith(".json") for mark in every):
        find_program(options.thinpipe)  # refuses once, not for each number
    right = right_texts(every, Sources(options.reference, options.thinpipe, every))
    stale = [mark for mark in every if right[mark] != mark.number.text]
    for mark in stale:
        print(f"{mark.page}:{mark.line}: {mark.number.text} -> {right[mark]}: {mark.source}: {mark.text}")
    for page, own in found.items():
        if options.update and set(own) & set(stale):
            write_whole(page, rewritten(texts[page], own, right))
    return bool(stale)


def right_texts(every: list[Mark], sources: Sources) -> dict[Mark, str]:
    """Returns the text that each number should have. Raises InputError with all problems."""
    texts, problems = {}, []
    for mark in every:
        try:
            texts[mark] = mark.number.updated(evaluate(mark.expression, sources.of(mark)).single())
        except InputError as error:
            problems.append(f"{mark.page}:{mark.line}: \"{mark.source}: {mark.text}\": {error}")
    if problems:
        raise InputError("\n".join(problems))
    return texts


def rewritten(text: str, own: list[Mark], right: dict[Mark, str]) -> str:
    lines = text.splitlines(keepends=True)
    for mark in reversed(own):  # so that the places of earlier ones hold
        line = lines[mark.line - 1]
        lines[mark.line - 1] = line[: mark.number.start] + right[mark] + line[mark.number.end :]
    return "".join(lines)


def name_of(page: Path) -> str:
    page = page.resolve()
    return str(page.relative_to(ROOT) if page.is_relative_to(ROOT) else page)


if __name__ == "__main__":
    sys.exit(main())
