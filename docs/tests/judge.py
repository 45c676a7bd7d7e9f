# SPDX-License-Identifier: Apache-2.0
"""The judge of a page, and the programs that it runs: shared by all checks of pages."""

from __future__ import annotations

import os
import shlex
import subprocess
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TREE_FOLDERS = ("common", "docs", "experiments", "harness", "netem", "plotting", "scripts", "topologies", "trainer")
# Models whose plans take many seconds, to choose a mask over all weights or to measure an iteration. Experiments with
# them are planned only with --full. An entry that no page uses is an error.
LEFT_TO_FULL = {
    "resnet152": "58 million weights",
    "vgg19": "140 million weights",
    "vit_b_16": "86 million weights",
}


@dataclass
class Programs:
    """Runs commands for all pages and records how long each took. Computes each shared result once."""

    build: Path
    full: bool = False
    times: list[tuple[float, str]] = field(default_factory=list)  # seconds, place and command
    answers: dict[Hashable, Future] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, command: list[str], folder: Path, shown: str) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "THINPIPE": str(self.build / "thinpipe"),  # for plotting/
            "MPLCONFIGDIR": str(folder / ".matplotlib"),
            "PATH": f"{self.build}:{os.environ['PATH']}",  # pages name the programs with and without a folder
        }
        start = time.monotonic()
        # Without a limit, a command that hangs would only show as a test timeout, without the page.
        result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900)
        with self.lock:
            self.times.append((time.monotonic() - start, shown))
        return result

    def once(self, key: Hashable, compute: Callable[[], object]) -> object:
        """Returns the result of compute(), which runs for the first caller with that key; the others wait for it."""
        with self.lock:
            is_first = key not in self.answers
            answer = self.answers.setdefault(key, Future())
        if is_first:
            try:
                answer.set_result(compute())
            except BaseException as error:
                answer.set_exception(error)
        return answer.result()


@dataclass
class Judge:
    """Collects what is wrong with a page, and which entries of NOT_EXECUTED and LEFT_TO_FULL it uses."""

    programs: Programs
    page: Path
    workspace: Path
    problems: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    left_out: list[str] = field(default_factory=list)

    def place(self, line: int) -> str:
        return f"{self.page.relative_to(ROOT) if self.page.is_relative_to(ROOT) else self.page.name}:{line}"

    def blame(self, line: int, what: str) -> None:
        self.problems.append(f"{self.place(line)}: {what}")

    def run(self, line: int, command: list[str], shown: str = "") -> subprocess.CompletedProcess[str]:
        return self.programs.run(command, self.workspace, f"{self.place(line)}: {shown or shlex.join(command)}")

    def plan(self, line: int, file: str, *options: str) -> subprocess.CompletedProcess[str]:
        """Returns the plan of a file in the workspace. Such files refer to no others, so equal texts have equal plans."""
        key = ("plan", (self.workspace / file).read_text(encoding="utf-8"), options)
        return self.programs.once(key, lambda: self.run(line, ["thinpipe", "plan", file, *options]))

    def help_of(self, line: int, command: tuple[str, ...]) -> str:
        return self.programs.once(("help", command), lambda: self.run(line, [*command, "--help"]).stdout)

    def leaves_out(self, line: int, experiment: object, shown: str) -> bool:
        """Returns whether that experiment is planned only with --full, and notes that it is left out."""
        large = sorted(LEFT_TO_FULL.keys() & set(strings_of(experiment)))
        self.used.update(large)
        if not large or self.programs.full:
            return False
        self.left_out.append(f"{self.place(line)}: {shown} ({', '.join(large)})")
        return True


def strings_of(value: object) -> Iterator[str]:
    """Yields all strings in JSON, including keys: an axis may name a model in either."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        yield from strings_of(list(value.values()))
    elif isinstance(value, list):
        for each in value:
            yield from strings_of(each)
