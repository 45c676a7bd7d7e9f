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
import functools
import json
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs" / "reference"
PROGRAMS = ("thinpipe", "thinpipe-trainer")
COLUMN = 30  # of descriptions in --help
KINDS = {  # members of a configuration with a name and options of their own, and the list that has these
    "model": "models",
    "dataset": "datasets",
    "partition": "partitions",
    "optimiser": "optimisers",
    "pruning": "pruning",
    "synchroniser": "synchronisers",
    "collective": "collectives",
}


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


# Pages


def in_markdown(text: str) -> str:
    """Returns text for a table's cell; what stands in backticks stays code."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part if part.startswith("`") else re.sub(r"[*\[\]]", r"\\\g<0>", part.replace("<", "&lt;")) for part in parts
    ).replace("|", "\\|")


def code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"


def sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?")) else ".")


def command_line_page(commands: list[Command]) -> str:
    lines = [
        "# Command line",
        "",
        "`scripts/help_pages.py --update` makes this page from the programs' `--help`.",
        "`cmake --build build/release --target manual` makes manual pages and completions for bash and zsh from it.",
        "",
    ]
    for program in commands:
        lines += [f"## {program.name}", "", in_markdown(sentence(program.summary)), ""]
        lines += ["| command | |", "|---|---|"]
        lines += [
            f"| [{each.name}](#{each.name.replace(' ', '-')}) | {in_markdown(short(each.summary))} |"
            for each in program.subcommands
        ]
        lines.append("")
        for each in program.subcommands:
            lines += command_section(each)
    return "\n".join(lines).rstrip() + "\n"


def short(text: str) -> str:
    return text.partition(": FILE is")[0]


def command_section(command: Command) -> list[str]:
    lines = [f"### {command.name}", "", in_markdown(sentence(command.summary)), "", "```", command.usage, "```", ""]
    entries = [*command.entries("Positionals"), *(each for each in command.entries("Options") if "--help" not in each.names)]
    if entries:
        lines += ["| argument | meaning |", "|---|---|"]
        lines += [f"| {code(entry.spec)} | {in_markdown(entry.text)} |" for entry in entries]
        lines.append("")
    if command.examples:
        lines += ["```", *command.examples, "```", ""]
    if command.notes:
        lines += [in_markdown(" ".join(command.notes)).replace("\\|", "|"), ""]
    return lines


def options_page(programs: Path) -> str:
    schema = json.loads(run(programs / "thinpipe", "schema", "experiment"))
    members = schema["definitions"]["configuration"]["properties"]
    lines = [
        "# Experiment options",
        "",
        "The members of an experiment's `base`; [experiments](experiments.md) describes the file as a whole.",
        "`scripts/help_pages.py --update` makes this page from `thinpipe schema experiment` and `thinpipe list`.",
        "",
        "| member | default | meaning |",
        "|---|---|---|",
    ]
    for name, member in members.items():
        if options_of(member) or name in KINDS:
            shown = f"[`{name}`](#{name})"
        else:
            shown = code(name)
        lines.append(f"| {shown} | {default_of(member)} | {in_markdown(member['description'])} |")
    for name, member in members.items():
        if name in KINDS:
            lines += kind_section(programs, name, member)
        elif options := options_of(member):
            lines += ["", f"## {name}", "", in_markdown(sentence(member["description"])), ""]
            lines += ["| key | default | meaning |", "|---|---|---|"]
            lines += [
                f"| {code(key)} | {default_of(option)} | {in_markdown(option.get('description', ''))}{bounds_of(option)} |"
                for key, option in options.items()
            ]
    return "\n".join(lines).rstrip() + "\n"


def options_of(member: dict) -> dict:
    """Returns the options of an object, or of each in a list, by their keys; empty if there are none."""
    return member.get("properties") or member.get("items", {}).get("properties", {})


def kind_section(programs: Path, name: str, member: dict) -> list[str]:
    listed = json.loads(run(programs / "thinpipe", "list", KINDS[name], "--json"))
    lines = ["", f"## {name}", "", in_markdown(sentence(member["description"]))]
    lines += [f"`{json.dumps(member['default'])}` is the default.", "", "| name | |", "|---|---|"]
    lines += [f"| {code(key)} | {in_markdown(value['summary'])} |" for key, value in listed.items()]
    rows = [
        f"| {code(key)} | {code(option['key'])} | {default_of(option)} | {in_markdown(option['effect'])}{bounds_of(option)} |"
        for key, value in listed.items()
        for option in value.get("options", [])
    ]
    if rows:
        lines += ["", "| of | option | default | meaning |", "|---|---|---|---|", *rows]
    return lines


def default_of(option: dict) -> str:
    if option.get("required"):
        return "required"
    if option.get("default") is None:
        return ""
    return code(json.dumps(option["default"], ensure_ascii=False))


def bounds_of(option: dict) -> str:
    choices = option.get("one_of") or [each for each in option.get("enum", []) if each is not None]
    bounds = [f"one of {', '.join(f'`{each}`' for each in choices)}"] if choices else []
    words = {
        "at_least": "at least",
        "minimum": "at least",
        "above": "above",
        "exclusiveMinimum": "above",
        "at_most": "at most",
        "maximum": "at most",
        "below": "below",
        "exclusiveMaximum": "below",
    }
    bounds += [f"{word} {option[key]:g}" for key, word in words.items() if key in option and option[key] < 1e18]
    return f" ({', '.join(bounds)})" if bounds else ""


# Manual pages


def roff(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return "\\&" + text if text.startswith(".") else text


def manual_page(title: str, command: Command, others: list[str]) -> str:
    lines = [f'.TH {title.upper()} 1 "" Thinpipe "Thinpipe manual"', ".SH NAME"]
    lines += [f"{roff(title)} \\- {roff(short(command.summary))}", ".SH SYNOPSIS", f".B {roff(command.usage)}"]
    lines += manual_entries("ARGUMENTS", command.entries("Positionals"))
    lines += manual_entries("OPTIONS", command.entries("Options"))
    if command.subcommands:
        lines.append(".SH COMMANDS")
        for each in command.subcommands:
            lines += [".TP", f".B {roff(each.usage if title == 'thinpipe-trainer' else each.name)}", roff(each.summary)]
            if title == "thinpipe-trainer":
                for entry in [*each.entries("Positionals"), *each.entries("Options")]:
                    if "--help" not in entry.names:
                        lines += [".br", roff(f"{entry.spec}: {entry.text}")]
    if command.examples:
        lines += [".SH EXAMPLES", ".nf", *(roff(example) for example in command.examples), ".fi"]
    if command.notes:
        lines += [".SH NOTES", *(roff(note) for note in command.notes)]
    lines += [".SH SEE ALSO", ",\n".join(f".BR {roff(other)} (1)" for other in others).replace(" (1),", " (1),")]
    return "\n".join(lines) + "\n"


def manual_entries(heading: str, entries: list[Entry]) -> list[str]:
    if not entries:
        return []
    lines = [f".SH {heading}"]
    for entry in entries:
        lines += [".TP", f".B {roff(entry.spec)}", roff(entry.text)]
    return lines


# Completions


BASH = """\
# Completion of {program} for bash. Generated by scripts/help_pages.py.
_{function}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}} options values=
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W '{commands} --help{version}' -- "$word")
    return
  fi
  case $command in
{options}
    *) return ;;
  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
    return
  fi
  case "$command $before" in
{values}
  esac
  if [[ -z $values && $before != -* ]]; then
    case $command in
{positionals}
    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word"; compgen -f -- "$word")
}}
complete -o filenames -F _{function} {program}
"""
TOPOLOGIES = '''values=$("${COMP_WORDS[0]}" list topologies 2>/dev/null | sed -n 's/^\\([a-z0-9-]*\\): .*/\\1/p')'''


def bash_completion(program: Command) -> str:
    options, values, positionals = [], [], []
    for command in program.subcommands:
        name = command.name.split()[1]
        own = command.entries("Options")
        options.append(f"    {name}) options='{' '.join(n for entry in own for n in entry.names)}' ;;")
        for entry in own:
            if entry.choices:
                patterns = "|".join(f"'{name} {spelling}'" for spelling in entry.names)
                values.append(f"    {patterns}) values='{' '.join(entry.choices)}' ;;")
        for entry in command.entries("Positionals"):
            if entry.choices:
                positionals.append(f"      {name}) values='{' '.join(entry.choices)}' ;;")
            elif entry.value == "TOPOLOGY" or entry.value.startswith("TOPOLOGY="):
                positionals.append(f"      {name}) {TOPOLOGIES} ;;")
    return BASH.format(
        program=program.name,
        function=program.name.replace("-", "_"),
        commands=" ".join(command.name.split()[1] for command in program.subcommands),
        version=" --version" if any("--version" in entry.names for entry in program.entries("Options")) else "",
        options="\n".join(options),
        values="\n".join(values) or "    *) ;;",
        positionals="\n".join(positionals) or "      *) ;;",
    )


def zsh_text(text: str) -> str:
    return re.sub(r"[\[\]:\\]", r"\\\g<0>", text).replace("'", "'\\''")


def zsh_spec(entry: Entry) -> str:
    action = f"({' '.join(entry.choices)})" if entry.choices else "_files"
    value = f":{zsh_text(entry.value.partition('=')[0])}:{action}" if entry.value else ""
    repeat = "*" if entry.repeats else ""
    return " ".join(f"'{repeat}{name}[{zsh_text(entry.text)}]{value}'" for name in entry.names)


def zsh_completion(program: Command) -> str:
    function = "_" + program.name.replace("-", "_")
    lines = [f"#compdef {program.name}", "# Generated by scripts/help_pages.py.", f"{function}() {{"]
    lines += ["  local state", "  local -a commands", "  commands=("]
    lines += [f"    '{each.name.split()[1]}:{zsh_text(short(each.summary))}'" for each in program.subcommands]
    lines += ["  )", "  _arguments -C '1: :->command' '*:: :->rest'", "  case $state in"]
    lines += ["    command) _describe command commands ;;", "    rest)", "      case $words[1] in"]
    for command in program.subcommands:
        specs = [zsh_spec(entry) for entry in command.entries("Options")]
        for number, entry in enumerate(command.entries("Positionals"), 1):
            action = f"({' '.join(entry.choices)})" if entry.choices else "_files"
            place = "*" if entry.repeats else str(number)
            specs.append(f"'{place}:{zsh_text(entry.value or 'FILE')}:{action}'")
        lines.append(f"        {command.name.split()[1]}) _arguments \\\n          " + " \\\n          ".join(specs) + " ;;")
    lines += ["      esac", "      ;;", "  esac", "}", f'{function} "$@"']
    return "\n".join(lines) + "\n"


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
