#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes reference pages, manual pages and shell completions from the programs' own output.

    scripts/help_pages.py --update              docs/reference/command-line.md and experiment-options.md
    scripts/help_pages.py --check               compares these pages; exits with 1 if they are out of date
    scripts/help_pages.py --output FOLDER       man1/*.1, bash/*, zsh/*
    with --programs FOLDER (build/release): the folder with thinpipe and thinpipe-trainer
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from help_texts.command import Command, read_command
from help_texts.completions import bash_completion, zsh_completion
from help_texts.manual_page import manual_page
from help_texts.pages import command_line_page, options_page

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs" / "reference"
PROGRAMS = ("thinpipe", "thinpipe-trainer")


def write_files(folder: Path, commands: list[Command]) -> None:
    files = {}
    for program in commands:
        others = [name for name in PROGRAMS if name != program.name]
        if program.name == "thinpipe":
            own = [command.name.replace(" ", "-") for command in program.subcommands]
            for command, title in zip(program.subcommands, own, strict=True):
                files[f"man1/{title}.1"] = manual_page(title, command, ["thinpipe"])
            others += own
        files[f"man1/{program.name}.1"] = manual_page(program.name, program, others)
        files[f"bash/{program.name}"] = bash_completion(program)
        files[f"zsh/_{program.name}"] = zsh_completion(program)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--update", action="store_true")
    what.add_argument("--check", action="store_true")
    what.add_argument("--output", type=Path, metavar="FOLDER")
    parser.add_argument("--programs", type=Path, metavar="FOLDER", default=ROOT / "build" / "release")
    options = parser.parse_args(arguments)
    programs = options.programs.resolve()
    commands = [read_command(programs, name) for name in PROGRAMS]
    if options.output:
        write_files(options.output, commands)
        return 0
    pages = {
        REFERENCE / "command-line.md": command_line_page(commands),
        REFERENCE / "experiment-options.md": options_page(programs),
    }
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        if options.update:
            path.write_text(pages[path], encoding="utf-8")
        else:
            print(f"{path.relative_to(ROOT)} is out of date: scripts/help_pages.py --update makes it", file=sys.stderr)
    return 1 if stale and options.check else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
