# SPDX-License-Identifier: Apache-2.0
"""The reference pages in Markdown: command line and experiment options."""

from __future__ import annotations

import json
import re
from pathlib import Path

from help_texts.command import Command, run

KINDS = {  # members of a configuration with a name and options of their own, and the list that has these
    "model": "models",
    "dataset": "datasets",
    "partition": "partitions",
    "optimiser": "optimisers",
    "pruning": "pruning",
    "synchroniser": "synchronisers",
    "collective": "collectives",
}


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
            f"| [{each.name}](#{each.name.replace(' ', '-')}) | {in_markdown(each.short_summary)} |"
            for each in program.subcommands
        ]
        lines.append("")
        for each in program.subcommands:
            lines += command_section(each)
    return "\n".join(lines).rstrip() + "\n"


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
            needed = object_of(member).get("required", [])
            lines += [
                f"| {code(key)} | {default_of(option | {'required': key in needed})} | "
                f"{in_markdown(option.get('description', ''))}{bounds_of(option)} |"
                for key, option in options.items()
            ]
    return "\n".join(lines).rstrip() + "\n"


def object_of(member: dict) -> dict:
    """Returns the schema of the object that a member is, may be, or has a list of; empty if there is none."""
    forms = (member, member.get("items", {}), *member.get("anyOf", []))
    return next((form for form in forms if "properties" in form), {})


def options_of(member: dict) -> dict:
    """Returns that object's options by their keys."""
    return object_of(member).get("properties", {})


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
