#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Executes or validates what the documentation shows: commands, JSON, links, paths and quoted messages.

    check_docs.py BUILD [PAGE...]           with the programs in BUILD; all pages, unless some are named
    check_docs.py BUILD --full [PAGE...]    plans of large models and `thinpipe exec` too

Pages are checked in parallel, one per CPU, each in its own folder. The rules:

```json       a whole experiment is planned, a whole topology is built into a plan
```json base  a part of an experiment's base, planned with the rest at small values
```json forward   the input file of thinpipe-trainer forward, which must get as far as opening the files it names
```json fragment  a part of a file, which only has to be JSON
```sh         each command runs in a copy of the tree's layout, `run` with --dry-run. Of commands in NOT_EXECUTED, only
              the options are compared with --help. `my.json` is the page's first whole experiment
```python f  is saved as the file f, to which experiments and commands of the page may refer
```cc f      is an excerpt of the source file f
```console REASON  commands that are not executed, for that reason. In these blocks, and in those of text, YAML and so on
              (SHOWN), the options of our programs are compared with --help, and scripts of the tree exist
> `message`   occurs in the sources; … stands for formatted values (troubleshooting.md)
[text](path), `path/in/the/tree`, `plotting/script.py ...` exist, and so does a linked heading
Each sentence has a line of its own, except in tables, after bold lead-ins and in what scripts write.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from json_blocks import judge_json
from judge import LEFT_TO_FULL, ROOT, TREE_FOLDERS, Judge, Programs
from page_commands import EXECUTED_WITH_FULL, NOT_EXECUTED, commands, judge_command, judge_shown
from page_prose import judge_form, judge_prose
from page_text import SHOWN, Block, blocks

# Results that pages name but the tree lacks, and the reference results that replace them.
STAND_INS = {name: "quickstart" for name in ("my", "first", "mine", "script", "fast", "text")}
# Parts of the tree to which commands of pages write.
WRITTEN = (Path("docs"), Path("trainer/synchronisers/methods"))
OTHER_PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "harness/README.md", "trainer/README.md")
SLOWEST_SHOWN = 5


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, metavar="BUILD")
    parser.add_argument("pages", type=Path, nargs="*", metavar="PAGE")
    parser.add_argument("--full", action="store_true")
    options = parser.parse_args(arguments)
    programs = Programs(options.build.resolve(), options.full)
    pages = [page.resolve() for page in options.pages] or all_pages()
    judges = judge_pages(programs, pages)
    problems = [problem for judge in judges for problem in judge.problems]
    if not options.pages:
        problems += unused_entries(judges)
    print("\n".join(problems) or f"{len(pages)} pages are correct")
    for left_out in (each for judge in judges for each in judge.left_out):
        print(f"left to --full: {left_out}")
    print("slowest:")
    for seconds, command in sorted(programs.times, reverse=True)[:SLOWEST_SHOWN]:
        print(f"  {seconds:4.1f} s  {command}")
    return 1 if problems else 0


def all_pages() -> list[Path]:
    return [*(ROOT / page for page in OTHER_PAGES), *sorted((ROOT / "docs").rglob("*.md"))]


def judge_pages(programs: Programs, pages: list[Path]) -> list[Judge]:
    """Returns the judges in the order of the pages. Starts with the pages that have the most blocks, so that none of
    them runs alone at the end."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        longest_first = sorted(pages, key=lambda page: -page.read_text(encoding="utf-8").count("```"))
        judged = {page: pool.submit(judge_page, programs, page) for page in longest_first}
        return [judged[page].result() for page in pages]


def unused_entries(judges: list[Judge]) -> Iterator[str]:
    used = set().union(*(judge.used for judge in judges))
    tables = (
        ("page_commands.py", "NOT_EXECUTED", NOT_EXECUTED),
        ("page_commands.py", "EXECUTED_WITH_FULL", EXECUTED_WITH_FULL),
        ("judge.py", "LEFT_TO_FULL", LEFT_TO_FULL),
    )
    for file, name, entries in tables:
        for entry in sorted(entries.keys() - used):
            yield f"{file}: {name} has '{entry}', which no page uses"


def lay_out(workspace: Path, build: Path, text: str) -> None:
    """Fills a folder like the tree: links to its parts, but copies of everything that commands write to."""
    for name in TREE_FOLDERS:
        link_folder(Path(name), workspace)
    (workspace / "build").mkdir()
    for preset in ("release", "dev"):
        (workspace / "build" / preset).symlink_to(build)
    reference = ROOT / "results" / "reference"
    for place in set(re.findall(r"\bresults/((?:reference/)?[\w-]+)", text)):  # as if each experiment had been run
        name = Path(place).name
        if (source := reference / STAND_INS.get(name, name)).is_dir():
            shutil.copytree(source, workspace / "results" / place)
    # Weights that examples name: a safetensors file of one number.
    header = b'{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}'
    weights = len(header).to_bytes(8, "little") + header + bytes(4)
    (workspace / "vgg19-imagenet.safetensors").write_bytes(weights)


def link_folder(folder: Path, workspace: Path) -> None:
    if folder in WRITTEN:
        shutil.copytree(ROOT / folder, workspace / folder)
    elif any(written.is_relative_to(folder) for written in WRITTEN):
        (workspace / folder).mkdir()
        for child in (ROOT / folder).iterdir():
            link_folder(folder / child.name, workspace)
    else:
        (workspace / folder).symlink_to(ROOT / folder)


def judge_page(programs: Programs, page: Path) -> Judge:
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(programs, page, Path(folder))
        lay_out(judge.workspace, programs.build, text)
        found = list(blocks(text))
        whole = [block for block in found if block.info == "json" and '"base"' in block.text]
        if whole:
            (judge.workspace / "my.json").write_text(whole[0].text, encoding="utf-8")
        for block in found:
            if name := re.fullmatch(r"python (\S+)", block.info):
                (judge.workspace / name[1]).write_text(block.text, encoding="utf-8")
        for block in found:
            judge_block(judge, block)
        judge_form(judge, text)
        judge_prose(judge, text)
    return judge


def judge_block(judge: Judge, block: Block) -> None:
    kind, _, rest = block.info.partition(" ")
    if not block.closed:
        judge.blame(block.line, "the block that begins here has no end")
    elif kind == "json":
        judge_json(judge, block)
    elif kind == "sh":
        for offset, command in commands(block.text):
            judge_command(judge, block.line + offset, command)
    elif kind == "python":
        try:
            compile(block.text, f"{judge.page.name}:{block.line}", "exec")
        except SyntaxError as error:
            judge.blame(block.line, f"is not Python: {error}")
    elif kind == "cc":
        judge_excerpt(judge, block)
    elif kind == "console" and not rest:
        judge.blame(block.line, "does not say why it is not executed: write '```console REASON', or use sh")
    elif kind in SHOWN:
        judge_shown(judge, block.line + 1, block.text)
    elif kind:
        judge.blame(block.line, f"no rule checks blocks of '{kind}': use json, sh, python, cc or {', '.join(SHOWN)}")


def judge_excerpt(judge: Judge, block: Block) -> None:
    file = ROOT / block.info.removeprefix("cc").strip()
    if not file.is_file():
        judge.blame(block.line, "names no source file: write '```cc PATH'")
    elif block.text not in file.read_text(encoding="utf-8"):
        judge.blame(block.line, f"is no excerpt of {file.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
