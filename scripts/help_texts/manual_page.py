# SPDX-License-Identifier: Apache-2.0
"""Manual pages in roff."""

from __future__ import annotations

from help_texts.command import Command, Entry


def roff(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return "\\&" + text if text.startswith(".") else text


def manual_page(title: str, command: Command, others: list[str]) -> str:
    lines = [f'.TH {title.upper()} 1 "" Thinpipe "Thinpipe manual"', ".SH NAME"]
    lines += [f"{roff(title)} \\- {roff(command.short_summary)}", ".SH SYNOPSIS", f".B {roff(command.usage)}"]
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
