# SPDX-License-Identifier: Apache-2.0
"""Turns the Markdown of our tables into LaTeX with booktabs: the same cells, notes and origin."""
from __future__ import annotations

import argparse
import html
import re
from typing import Callable, Sequence

from shared.latex_text import in_latex
from shared.report import InputError

# The notations within a line that our tables use: an escaped character, bold, code and a link.
NOTATION = re.compile(
    r"\\(?P<escaped>[^\w\s]|_)|\*\*(?P<bold>.+?)\*\*|`(?P<code>[^`]*)`|\[(?P<link>(?:\\.|[^\]\\])+)\]\([^)]*\)"
)
BETWEEN_CELLS = re.compile(r"(?<!\\)\|")


def add_latex_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("LaTeX")
    group.add_argument(
        "--latex",
        action="store_true",
        help="write LaTeX for \\input in a paper instead of Markdown; it needs \\usepackage{booktabs}, for example: "
        "--latex --output table.tex",
    )
    group.add_argument(
        "--no-origin",
        action="store_true",
        help="with --latex: leave notes and small print out of the text; they stay in the file as comments",
    )


def in_notation(make: Callable[[], str], options: argparse.Namespace, name: str) -> Callable[[], str]:
    """Returns a function that makes the table in the notation of the options. `make` makes it in Markdown."""

    def checked() -> str:
        if options.no_origin and not options.latex:
            raise InputError("--no-origin: is for --latex; add it, or leave --no-origin out")
        if options.latex and options.update:
            raise InputError(f"--latex: {options.update} is a page in Markdown; give --output FILE instead of --update")
        return from_markdown(make(), name, not options.no_origin) if options.latex else make()

    return checked


def from_markdown(text: str, name: str, with_notes: bool = True) -> str:
    """Returns the LaTeX of a page with tables, titles in bold, and notes. Without notes, these are comments."""
    out: list[str] = []
    rows: list[list[str]] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in BETWEEN_CELLS.split(line.strip().strip("|"))])
            continue
        if rows:
            out += [tabular(rows), ""]
            rows = []
        if line.startswith("**") and line.endswith("**"):
            out.append(rf"\par\medskip\noindent {inline(line)}\par\smallskip")
        elif line:
            out.append(rf"{{\footnotesize\noindent {inline(line)}\par}}" if with_notes else f"% {plain(line)}")
    packages = "booktabs and amssymb" if any(r"\checkmark" in line for line in out) else "booktabs"
    return "\n".join([f"% Written by plotting/{name}.py --latex. Needs the packages {packages}.", *out]).rstrip() + "\n"


def tabular(rows: Sequence[Sequence[str]]) -> str:
    """Returns one table. The rows are the headings, the alignments and the body."""
    headings, alignments, *body = rows
    columns = "".join("r" if alignment.endswith(":") else "l" for alignment in alignments)
    lines = [" & ".join(map(inline, row)) + r" \\" for row in (headings, *body)]
    return "\n".join(
        [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule", r"\end{tabular}"]
    )


def inline(text: str) -> str:
    """Returns one line with its notations as LaTeX."""
    out, end = [], 0
    for found in NOTATION.finditer(text):
        out.append(in_latex(html.unescape(text[end : found.start()])))
        end = found.end()
        if found["escaped"]:
            out.append(in_latex(found["escaped"]))
        elif found["bold"]:
            out.append(rf"\textbf{{{inline(found['bold'])}}}")
        elif found["code"] is not None:
            out.append(rf"\texttt{{{in_latex(html.unescape(found['code']))}}}")
        else:
            out.append(inline(found["link"]))
    return "".join([*out, in_latex(html.unescape(text[end:]))])


def plain(text: str) -> str:
    """Returns one line without its notations, for a comment."""
    return NOTATION.sub(lambda found: next(group for group in found.groups() if group is not None), html.unescape(text))
