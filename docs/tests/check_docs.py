#!/usr/bin/env python3
"""Executes or validates what the documentation shows: commands, JSON, links, paths and quoted messages.

    check_docs.py BUILD [PAGE...]      with the programs in BUILD; all pages, unless some are named

What stands in a page is judged so:

```json       a whole experiment is planned, a whole topology is built into a plan
```json base  a part of an experiment's base, planned with the rest at small values
```json forward   what thinpipe-trainer forward reads, up to its files
```sh         each command runs in a copy of the tree's layout: `run` with --dry-run, what needs a network, a privilege
              or minutes is only held against the program's --help; `my.json` is the page's first whole experiment
> `message`   stands in the sources, … being what varies (troubleshooting.md)
[text](path), `path/in/the/tree` exist, with the heading that is linked
"""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Iterator

ROOT = Path(__file__).resolve().parents[2]
# What cannot run here, and why. An entry that no page uses any more is an error.
NOT_EXECUTED = {
    "./quickstart.sh": "installs packages, builds and trains",
    "./check.sh": "runs this",
    "scripts/check_pytorch.sh": "installs a PyTorch and builds",
    "scripts/encode_speed.sh": "builds and measures for minutes",
    "scripts/exchange_speed.sh": "builds and measures for minutes",
    "scripts/reproduce.sh": "trains for hours",
    "curl": "downloads",
    "tar": "unpacks what was downloaded",
    "thinpipe-trainer pretrain": "trains",
    "thinpipe doctor": "measures the machine",
    "thinpipe shell": "makes a network",
    "thinpipe verify": "makes and measures a network",
}
# A base whose plan is made in no time, for fragments.
SMALL_BASE = {
    "dataset": {"name": "synthetic", "train_examples": 1024},
    "model": {"name": "mlp"},
    "training": {"batch_size_per_worker": 4},
}
TREE_FOLDERS = ("docs", "experiments", "harness", "netem", "plotting", "scripts", "topologies", "trainer")


@dataclass
class Block:
    page: Path
    line: int
    info: str
    text: str


@dataclass
class Judge:
    """Collects what is wrong, and what of NOT_EXECUTED was met."""

    build: Path
    workspace: Path
    problems: list[str] = field(default_factory=list)
    excused: set[str] = field(default_factory=set)
    options: dict[str, str] = field(default_factory=dict)  # --help by command

    def blame(self, page: Path, line: int, what: str) -> None:
        self.problems.append(f"{page.relative_to(ROOT)}:{line}: {what}")

    def run(self, command: list[str], given: str = "") -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "MPLCONFIGDIR": str(self.workspace / ".matplotlib")}
        # Against hanging: plans of large models, which a sanitised trainer computes, take minutes.
        return subprocess.run(
            command, cwd=self.workspace, env=environment, input=given, capture_output=True, text=True, timeout=900
        )

    def help_of(self, command: tuple[str, ...]) -> str:
        key = " ".join(command)
        if key not in self.options:
            self.options[key] = self.run([*command, "--help"]).stdout
        return self.options[key]


def main(arguments: list[str]) -> int:
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    pages = [Path(name).resolve() for name in arguments[1:]] or all_pages()
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(Path(arguments[0]).resolve(), Path(folder))
        lay_out(judge)
        for page in pages:
            judge_page(judge, page)
        if len(arguments) == 1:
            for name in sorted(NOT_EXECUTED.keys() - judge.excused):
                judge.problems.append(f"{Path(__file__).name}: NOT_EXECUTED has '{name}', which no page uses")
    print("\n".join(judge.problems) or f"{len(pages)} pages are as they say")
    return 1 if judge.problems else 0


def all_pages() -> list[Path]:
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def lay_out(judge: Judge) -> None:
    """A folder that looks like the tree: its parts by links, results of its own to write into."""
    for name in TREE_FOLDERS:
        (judge.workspace / name).symlink_to(ROOT / name)
    (judge.workspace / "build").mkdir()
    (judge.workspace / "build" / "release").symlink_to(judge.build)
    reference, results = ROOT / "results" / "reference", judge.workspace / "results"
    shutil.copytree(reference, results)  # as if each of their experiments had been run
    shutil.copytree(reference, results / "reference")
    shutil.copytree(reference / "quickstart", results / "my")
    # Weights that examples name: a safetensors file of one number.
    header = b'{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}'
    weights = len(header).to_bytes(8, "little") + header + bytes(4)
    (judge.workspace / "vgg19-imagenet.safetensors").write_bytes(weights)


def judge_page(judge: Judge, page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    found = list(blocks(page, text))
    mine = judge.workspace / "my.json"
    mine.unlink(missing_ok=True)
    whole = [block for block in found if block.info == "json" and '"base"' in block.text]
    if whole:
        mine.write_text(whole[0].text, encoding="utf-8")
    for block in found:
        kind = block.info.split()[0] if block.info else ""
        if kind == "json":
            judge_json(judge, block)
        elif kind == "sh":
            judge_commands(judge, block)
        elif kind == "python":
            compile(block.text, f"{page.name}:{block.line}", "exec")
        elif kind:
            judge.blame(page, block.line, f"blocks of '{kind}' are judged by nobody: use json, sh, python or none")
    judge_prose(judge, page, text)


def blocks(page: Path, text: str) -> Iterator[Block]:
    lines = text.splitlines()
    start = None
    for number, line in enumerate(lines, 1):
        if not line.startswith("```"):
            continue
        if start is None:
            start, info = number, line[3:].strip()
        else:
            yield Block(page, start, info, "\n".join(lines[start : number - 1]) + "\n")
            start = None


# JSON


def judge_json(judge: Judge, block: Block) -> None:
    kind = block.info.split()[1:]
    try:
        value = json.loads(block.text if block.text.startswith("{") else "{" + block.text + "}")
    except ValueError as error:
        judge.blame(block.page, block.line, f"is no JSON: {error}")
        return
    if kind == ["forward"]:
        judge_forward(judge, block, value)
    elif kind == ["base"]:
        judge_plan(judge, block, {"base": {**SMALL_BASE, **value}})
    elif "base" in value:
        judge_plan(judge, block, value)
    elif "hosts" in value:
        (judge.workspace / "topology.json").write_text(json.dumps(value), encoding="utf-8")
        judge_plan(judge, block, {"base": {**SMALL_BASE, "topology": "topology.json"}})
    else:
        judge.blame(block.page, block.line, "is neither an experiment nor a topology; say '```json base' of a part")


def judge_plan(judge: Judge, block: Block, experiment: dict) -> None:
    (judge.workspace / "block.json").write_text(json.dumps(experiment), encoding="utf-8")
    result = judge.run(["build/release/thinpipe", "plan", "block.json"])
    if result.returncode:
        judge.blame(block.page, block.line, result.stderr.strip())


def judge_forward(judge: Judge, block: Block, value: dict) -> None:
    (judge.workspace / "forward.json").write_text(json.dumps(value), encoding="utf-8")
    result = judge.run(["build/release/thinpipe-trainer", "forward", "forward.json"])
    if not any(value[file] in result.stderr for file in ("weights", "inputs")):
        judge.blame(block.page, block.line, f"forward did not come as far as its files: {result.stderr}")


# Commands


def judge_commands(judge: Judge, block: Block) -> None:
    for offset, command in commands(block.text):
        judge_command(judge, block.page, block.line + offset, command)


def commands(text: str) -> Iterator[tuple[int, str]]:
    """Each with the number of its first line: a command goes on while a quote is open or a line ends in \\."""
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


def judge_command(judge: Judge, page: Path, line: int, command: str, executed: bool = True) -> None:
    words = shlex.split(command, comments=True)
    program = words[0]
    excuse = excuse_of(words)
    if excuse:
        judge.excused.add(excuse)
    if program.startswith("./") or program.startswith("scripts/"):
        judge_script(judge, page, line, program)
    elif excuse and not program.endswith(("thinpipe", "thinpipe-trainer")):
        pass
    elif excuse or not executed:
        judge_options(judge, page, line, words)
    else:
        if Path(program).name == "thinpipe" and words[1] == "run":
            command = re.sub(r"(thinpipe run)\b", r"\1 --dry-run", command)
        result = judge.run(["bash", "-euo", "pipefail", "-c", command])
        if result.returncode:
            said = (result.stderr.strip() or result.stdout.strip() or "nothing").splitlines()[-1]
            judge.blame(page, line, f"'{command}' ended with {result.returncode}; last it said: {said}")


def excuse_of(words: list[str]) -> str:
    """The key of NOT_EXECUTED that a command falls under."""
    program = Path(words[0]).name
    for key in NOT_EXECUTED:
        first, *second = key.split()
        if words[0] == first or key in words[:2] or (program == first and words[1:2] == second and second):
            return key
    return ""


def judge_script(judge: Judge, page: Path, line: int, program: str) -> None:
    script = ROOT / program
    if not os.access(script, os.X_OK):
        judge.blame(page, line, f"{program} is no executable file")
    elif script.suffix == ".sh" and judge.run(["bash", "-n", str(script)]).returncode:
        judge.blame(page, line, f"bash cannot read {program}")


def judge_options(judge: Judge, page: Path, line: int, words: list[str]) -> None:
    """The command exists, and so do its options, up to a "--", behind which are another program's."""
    own = words[: words.index("--")] if "--" in words else words
    known = judge.help_of(("build/release/" + Path(words[0]).name, *own[1:2]))
    if not known:
        judge.blame(page, line, f"there is no command '{' '.join(own[:2])}'")
    for word in own[2:]:
        if word.startswith("--") and not re.search(rf"{re.escape(word)}\b", known):
            judge.blame(page, line, f"'{' '.join(own[:2])}' has no option {word}")


# Prose


def judge_prose(judge: Judge, page: Path, text: str) -> None:
    in_block = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            in_block = not in_block
        if in_block or line.startswith("```"):
            continue
        judge_links(judge, page, number, line)
        if quoted := re.match(r"> (`+)(.*)\1$", line):
            judge_message(judge, page, number, quoted[2])
            continue
        for code in re.findall(r"`([^`]+)`", line):
            judge_code(judge, page, number, code)


def judge_links(judge: Judge, page: Path, number: int, line: str) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", line):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, heading = target.partition("#")
        file = (page.parent / path) if path else page
        if not file.exists():
            judge.blame(page, number, f"links to {target}, which does not exist")
        elif heading and heading not in headings(file):
            judge.blame(page, number, f"links to {target}, but {file.name} has no such heading")


def headings(page: Path) -> set[str]:
    """As GitHub makes anchors of them."""
    found = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def judge_code(judge: Judge, page: Path, number: int, code: str) -> None:
    if re.match(r"(build/release/)?thinpipe(-trainer)? [a-z]+", code) and is_whole(code):
        judge_command(judge, page, number, code, executed=False)
        return
    first = code.split()[0] if code.split() else ""
    path = first.rstrip("/")
    if re.fullmatch(rf"({'|'.join(TREE_FOLDERS)})/[\w./*-]+|(quickstart|check)\.sh", path):
        if not list(ROOT.glob(path)):
            judge.blame(page, number, f"names {path}, which does not exist")


def judge_message(judge: Judge, page: Path, number: int, message: str) -> None:
    if message in {os.strerror(code) for code in errno.errorcode}:
        return
    if not any(message in literal for literal in literals()):
        judge.blame(page, number, f"quotes a message that no source has: {message}")


def literals(cache: list[str] = []) -> list[str]:  # noqa: B006: on purpose
    """All string literals of the C++ sources, neighbours joined, with … for what is formatted."""
    if not cache:
        one = r'"(?:[^"\\\n]|\\.)*"'
        for part in ("harness", "netem", "trainer"):
            for file in (ROOT / part).rglob("*.cc"):
                for run in re.findall(rf"{one}(?:\s*{one})*", file.read_text(encoding="utf-8")):
                    text = "".join(each[1:-1] for each in re.findall(one, run))
                    text = text.replace('\\"', '"').replace("\\\\", "\\")
                    cache.append(re.sub("…+", "…", re.sub(r"\{[^{}]*\}", "…", text)))
    return cache


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
