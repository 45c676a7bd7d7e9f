# SPDX-License-Identifier: Apache-2.0
"""Writes a table to its destination: standard output, a file, or a page between two lines."""
from __future__ import annotations

import argparse
import os
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Callable, Sequence

from shared.latex_table import add_latex_options, in_notation
from shared.report import InputError

MARKERS_OF_NAME = ("<!-- NAME: begin -->", "<!-- NAME: end -->")


def write_text(
    name: str, make: Callable[[], str], output: Path | None, update: Callable[[str], None] | None = None
) -> int:
    """Writes the text that `make` returns. Returns the exit code: 0 made, 1 not written, 2 wrong input.

    The text goes to `update` if given, else to the file `output`, or to standard output if `output` is None.
    """
    try:
        if output and not output.parent.is_dir():
            raise InputError(f"--output {output}: the folder {output.parent} does not exist")
        text = make()
        if update:
            update(text)
        elif output:
            write_whole(output, text)
        else:
            sys.stdout.write(text)
    except InputError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{name}: cannot write the table: {error}", file=sys.stderr)
        return 1
    return 0


def markers_of(results: Path) -> tuple[str, str]:
    """Returns the two lines between which a page with several tables has the one of these results."""
    folder = results.resolve() if results.is_dir() else results.resolve().parent
    return tuple(marker.replace("NAME", folder.name) for marker in MARKERS_OF_NAME)


def add_destination(parser: argparse.ArgumentParser, begin: str, end: str, with_latex: bool = True) -> None:
    """Adds options --update and --output, for a table that replaces the text between two lines of a page, and --latex."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--update", type=Path, metavar="FILE", help=f"put the table between the lines '{begin}' and '{end}' of FILE"
    )
    group.add_argument("--output", type=Path, metavar="FILE", help="write the table to FILE (default: standard output)")
    if with_latex:
        add_latex_options(parser)
    else:
        parser.set_defaults(latex=False, no_origin=False)


def write_to_destination(
    name: str, make: Callable[[], str], options: argparse.Namespace, begin: str, end: str
) -> int:
    """Calls write_text() with the destination that the options of add_destination() select."""
    update = partial(replace_between, options.update, begin, end) if options.update else None
    return write_text(name, in_notation(make, options, name), options.output, update)


def replace_between(path: Path, begin: str, end: str, text: str) -> None:
    """Replaces the lines between two marker lines of a file by `text`, with an empty line before and after it."""
    if not path.is_file():
        raise InputError(f"--update {path}: there is no such file")
    with path.open(encoding="utf-8", newline="") as file:
        lines = file.read().splitlines(keepends=True)
    first, last = (line_of(marker, lines, path) for marker in (begin, end))
    if last < first:
        raise InputError(f"{path}:{last + 1}: '{end}' comes before '{begin}'")
    write_whole(path, "".join([*lines[: first + 1], f"\n{text}\n", *lines[last:]]))


def line_of(marker: str, lines: Sequence[str], path: Path) -> int:
    places = [place for place, line in enumerate(lines) if line.strip() == marker]
    if len(places) != 1:
        raise InputError(
            f"{path}: must have exactly one line '{marker}', but has {len(places) or 'none'}; the table goes between "
            "two such lines"
        )
    return places[0]


def write_whole(path: Path, text: str) -> None:
    """Replaces the file when the text is complete, and keeps its permissions. Writes through links, and to devices
    such as /dev/null."""
    path = path.resolve()
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8")
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("w", encoding="utf-8", newline="") as file:
            file.write(text)
        if path.exists():
            shutil.copymode(path, temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
