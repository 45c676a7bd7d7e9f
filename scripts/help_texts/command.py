# SPDX-License-Identifier: Apache-2.0
"""A command as its --help describes it."""

from __future__ import annotations

import functools
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

COLUMN = 30  # of descriptions in --help


@dataclass
class Entry:
    """An option, positional or subcommand: "--set PATH=VALUE ..." and its description."""

    spec: str
    text: str

    @property
    def names(self) -> list[str]:
        """Returns the spellings: ["-h", "--help"]."""
        return self.spec.split()[0].split(",")

    @property
    def value(self) -> str:
        """Returns the value's name, such as PATH=VALUE; empty if there is none."""
        found = re.match(r"\S+ ((?!Needs:|Excludes:|REQUIRED|\.\.\.)\S+)", self.spec)
        return found[1] if found else ""

    @property
    def choices(self) -> list[str]:
        """Returns the values that are accepted; empty if they are not listed."""
        if found := re.search(r"\{([^}]*)\}", self.spec):
            return found[1].split(",")
        if re.fullmatch(r"[\w-]+(\|[\w-]+)+", self.value):
            return self.value.split("|")
        if self.value == "KIND" and re.fullmatch(r"[\w-]+(, [\w-]+)+", self.text):
            return self.text.split(", ")
        return []

    @property
    def repeats(self) -> bool:
        return "..." in self.spec


@dataclass
class Command:
    name: str
    summary: str = ""
    usage: str = ""
    parts: dict[str, list[Entry]] = field(default_factory=dict)
    examples: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    subcommands: list[Command] = field(default_factory=list)

    @property
    def short_summary(self) -> str:
        """Returns the summary without what it says of files."""
        return self.summary.partition(": FILE is")[0]

    def entries(self, part: str) -> list[Entry]:
        return self.parts.get(part, [])


def parse(name: str, text: str) -> Command:
    """Returns a command from its --help. Raises ValueError if the text has another form."""
    command, part = Command(name), ""
    lines = text.rstrip().splitlines()
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if line.startswith("Usage: "):
            command.usage = re.sub(r"^Usage: \S*?(thinpipe(-trainer)?\b)", r"\1", line)
        elif re.fullmatch(r"[A-Z]\w+:", line):
            part = line[:-1]
        elif not line.strip():
            continue
        elif not command.usage:
            command.summary = (command.summary + " " + line).strip()
        elif part == "Examples":
            (command.examples if line.startswith("  ") else command.notes).append(line.strip())
        elif line.startswith(" " * COLUMN):
            command.parts[part][-1].text += line.strip()
        elif line.startswith("  ") and part:
            whole = following.startswith(" " * COLUMN) or len(line) <= COLUMN
            spec, about = (line, "") if whole else (line[:COLUMN], line[COLUMN:])
            command.parts.setdefault(part, []).append(Entry(spec.strip(), about.strip()))
        else:
            raise ValueError(f"{name} --help has an unexpected line: {line}")
    return command


@functools.cache  # thinpipe-trainer takes a while to start
def run(*words: str | Path) -> str:
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True).stdout


def read_command(programs: Path, name: str) -> Command:
    program, *rest = name.split()
    command = parse(name, run(programs / program, *rest, "--help"))
    command.subcommands = [read_command(programs, f"{name} {each.spec}") for each in command.entries("Subcommands")]
    return command
