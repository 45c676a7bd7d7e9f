# SPDX-License-Identifier: Apache-2.0
"""Shared by all tables: cells with the report's spread, Markdown or CSV, the line with the origin, and writing."""
from __future__ import annotations

import argparse
import csv
import html
import io
import math
import re
import sys
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Callable, Iterable, Sequence

import pandas as pd

from noise import UNMEASURED, has_measured_time, noise_of
from shared.comparison import Comparison, Panel, compare, quantity_key, swept_axes
from shared.destination import add_destination, replace_between, write_text
from shared.figure import name_of
from shared.latex_table import add_latex_options, in_notation
from shared.load import MODES_WITHOUT_TIME, load
from shared.look import Wishes, add_name_options
from shared.number_text import Text, ratio_text, whole_number
from shared.origin import days, listed, whole
from shared.report import RESTRICTED, Group, Question, Spread, add_report_options
from shared.selection import add_selection
from shared.small_print import has_bound, incomplete_runs, missing_of_ratio, origin

UNKNOWN = "-"
NEVER = "never"
SPREAD_HEAD = " [95 % CI]"


@dataclass(frozen=True)
class Cell:
    """A cell's text, and its numbers for programs by column name; None if there is no number."""

    text: str
    numbers: dict[str, Any] = field(default_factory=dict)


# Returns the cells of a method's runs in a panel, by heading. All rows of a table have the same headings and numbers.
Row = Callable[[pd.DataFrame, Panel, Comparison], dict[str, Cell]]


def table_parser(name: str, summary: str, about: str, example: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"{name}.py",
        description=summary,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"{about}\n\nexample:\n  python3 plotting/{name}.py {example} --target 0.84 --csv\n\n"
        "exit codes: 0 made, 1 the table could not be written, 2 wrong input",
    )
    add_selection(parser, example)
    parser.add_argument(
        "--csv", action="store_true", help="write CSV instead of Markdown: one line per method, with all numbers"
    )
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="write the table to FILE (default: standard output)"
    )
    add_latex_options(parser)
    add_name_options(parser)
    parser.set_defaults(update=None)
    return parser


def add_update(parser: argparse.ArgumentParser, markers: tuple[str, str]) -> None:
    """Adds option --update, for a table that is also written as CSV."""
    begin, end = markers
    parser.add_argument(
        "--update", type=Path, metavar="FILE", help=f"put the table between the lines '{begin}' and '{end}' of FILE"
    )


def parsed(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> argparse.Namespace:
    options = parser.parse_args(arguments)
    if options.update and (options.csv or options.output or options.latex):
        parser.error("--update writes Markdown to its own FILE: leave out --csv, --latex and --output")
    if options.csv and options.latex:
        parser.error("--csv and --latex: choose one")
    return options


def records_parser(
    name: str, summary: str, example: str, markers: tuple[str, str], records: str, several: bool = False
) -> argparse.ArgumentParser:
    """Returns the parser of a table of records in any mode. `records` describes the argument, `example` how to call it."""
    parser = argparse.ArgumentParser(
        prog=f"{name}.py",
        description=summary,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"example:\n{example}\n\nexit codes: 0 made, 1 the table could not be written, 2 wrong input",
    )
    parser.add_argument("results", type=Path, help=records, **({"nargs": "+"} if several else {}))
    add_report_options(parser)
    add_destination(parser, *markers)
    return parser


def write_table(
    name: str,
    options: argparse.Namespace,
    row: Row,
    notes: Callable[[Comparison], Iterable[str]],
    needs_time: bool,
    markers: tuple[str, str] | None = None,
    over: Sequence[str] = (),
) -> int:
    """Makes and writes the table. Returns the exit code: 0 made, 1 not written, 2 wrong input.

    `markers`, for tables with --update, are the lines between which it replaces the text. `over`: further baselines.
    """

    def make() -> str:
        results = load(options.results, Question.of(options, options.target, tuple(over)))
        comparison = compare(results, options.mode, dict(options.where), needs_time=needs_time, wishes=Wishes.of(options))
        for line in [*comparison.results.superseded, *incomplete_runs(comparison)]:
            print(f"{name}: {line}", file=sys.stderr)
        return as_csv(comparison, row) if options.csv else as_markdown(comparison, row, notes(comparison))

    update = partial(replace_between, options.update, *markers) if markers and options.update else None
    return write_text(name, in_notation(make, options, name), options.output, update)


def as_markdown(comparison: Comparison, row: Row, notes: Iterable[str]) -> str:
    """Returns one table per panel, each below the panel's title, then the notes and the origin."""
    parts = []
    for panel in comparison.panels:
        if panel.title:
            parts.append(f"**{in_markdown(panel.title)}**\n")
        rows = [
            (name_of(method, runs, comparison), row(runs, panel, comparison)) for method, runs in methods_of(panel, comparison)
        ]
        head = "method" + (SPREAD_HEAD if any("[" in cell.text for _, cells in rows for cell in cells.values()) else "")
        parts.append(grid([{head: name, **{each: cell.text for each, cell in cells.items()}} for name, cells in rows]))
    signs = notes_on_signs(comparison, "".join(parts))
    parts.append("".join(f"{note}\n" for note in [*notes, *signs, *noise_notes(comparison.runs)]))
    parts.append(in_markdown(table_origin(comparison)) + "\n")
    return "\n".join(parts)


def noise_notes(runs: pd.DataFrame) -> list[str]:
    """Returns a note about the noise of the machine, if it measured times."""
    if not has_measured_time(runs).any():
        return []
    noise = noise_of(runs)
    return [noise.note() if noise else UNMEASURED]


def notes_on_signs(comparison: Comparison, shown: str) -> list[str]:
    """Returns the meanings of intervals, bounds and counts that stand in these tables."""
    notes = []
    if SPREAD_HEAD in shown:
        notes.append(comparison.results.spread_note)
    if has_bound([shown]):
        notes.append(comparison.results.bounds_note)
    if re.search(r"\(\d+ of \d+\)", shown):
        notes.append("(2 of 3): only that many seeds have a value.")
    return notes


def grid(rows: Sequence[dict[str, str]], texts: Sequence[str] = ()) -> str:
    """Returns a Markdown table. Each row has its cells by heading, all rows the same headings; the first is a name, and
    `texts` are those of further columns without numbers."""
    headings = list(rows[0])
    left = (headings[0], *texts)
    lines = [headings, [":---" if heading in left else "---:" for heading in headings]]
    lines += [[in_markdown(each[heading]) for heading in headings] for each in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def as_csv(comparison: Comparison, row: Row) -> str:
    """Returns one line per method and panel. The origin is a column, because CSV has no lines of prose."""
    source = table_origin(comparison)
    axes = swept_axes(comparison.results)
    lines = []
    for panel in comparison.panels:
        for method, runs in methods_of(panel, comparison):
            line = {"method": method, **dict.fromkeys(axes), **runs.other_axes.iloc[0], "runs": len(runs)}
            line["completed"] = (runs.status == "completed").sum()
            line["reached"] = runs.reached.sum()
            line["degraded"] = (runs["fidelity.verdict"] == "degraded").sum()
            line["not judged"] = (runs["fidelity.verdict"] == "not judged").sum()
            for cell in row(runs, panel, comparison).values():
                line |= cell.numbers
            lines.append(line | {"origin": source})
    text = io.StringIO()
    writer = csv.DictWriter(text, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: in_csv(value) for name, value in line.items()} for line in lines)
    return text.getvalue()


def methods_of(panel: Panel, comparison: Comparison) -> list[tuple[str, pd.DataFrame]]:
    """Returns the panel's methods with their runs, in the experiment's order."""
    by_method = dict(list(panel.runs.groupby("method", sort=False)))
    return [(method, by_method[method]) for method in comparison.methods if method in by_method]


def table_origin(comparison: Comparison) -> str:
    """Returns the same small print as below a figure, with the caps and the days added."""
    runs = comparison.runs
    networked = runs[~runs["mode"].isin(MODES_WITHOUT_TIME)]  # the others ignore their topology
    rates, links = networked["config.bottleneck.rate"], networked["config.topology.links"]
    caps = {cap for each in zip(rates, links) for cap in caps_of(*each)}
    more = [f"cap {', '.join(sorted(caps, key=quantity_key))}"] if caps else []
    return origin(comparison, [*more, f"run on {days(runs)}"])


def caps_of(common: Any, links: Any) -> list[str]:
    """Returns the cap that all bottlenecks share, or the topology's caps; empty on loopback or without a network."""
    if isinstance(common, str):
        return [common]
    if not isinstance(links, list):
        return []
    return [link["rate"] for link in links if link.get("bottleneck") and "rate" in link]


def spread_cell(name: str, spread: Spread, text: Text, missing: str = "", unit: str = "", sign: str = "") -> Cell:
    """Returns a cell with the mean after its sign, its unit and its interval, under `name` in CSV.

    `missing`, from missing_words(), gives the share of runs that have values or, if none has, the reason.
    """
    mean, low, high = spread.mean, spread.ci95_low, spread.ci95_high
    numbers = {name: mean, f"{name}_ci95_low": low, f"{name}_ci95_high": high}
    if mean is None:
        return Cell(missing or UNKNOWN, numbers)
    words = sign + text(mean, mean) + unit + (f" [{text(low, mean)}, {text(high, mean)}]" if low is not None else "")
    return Cell(words + (f" ({missing})" if missing else ""), numbers)


def ratio_cell(group: Group, quantity: str, baseline: str, runs: pd.DataFrame, suffix: str = "") -> Cell:
    """Returns a cell with a ratio to a baseline, which is a bound if a run or a baseline did not reach the target. Says how
    many runs reached it or have a ratio if not all do, or why none has. `suffix`: of a variant of the ratio in the report."""
    name = f"{quantity}_{baseline}{suffix}"
    ratio = group.ratio(quantity, baseline, suffix)
    missing = missing_of_ratio(group, ratio, len(runs))
    if not ratio.spread.count:
        missing = UNKNOWN if runs.reached.any() else arrivals(runs)
    noise = noise_of(runs) if quantity == "speed_up_over" else None
    # Both times of a ratio vary.
    relative = math.sqrt(2.0) * (noise.time_to_target or noise.iteration_time) if noise else 0.0
    cell = spread_cell(name, ratio.spread, ratio_text(relative), missing, "×", ratio.before)
    mark = group.mark(baseline) if quantity == "speed_up_over" and ratio.spread.count else ""
    bounds = {
        f"{name}_is_{end}_bound": ratio.sign == sign if ratio.spread.count else None
        for end, sign in (("lower", "≥"), ("upper", "≤"))
    }
    return Cell(cell.text + mark, {**cell.numbers, **bounds})


def missing_words(reasons: pd.Series) -> str:
    """Summarises why runs have no value; `reasons` has "" for a run that has one. Returns "" if all have a value,
    "2 of 3" if some have, else the reasons."""
    if (reasons == "").any():
        return "" if (reasons == "").all() else f"{(reasons == '').sum()} of {len(reasons)}"
    counts = reasons.value_counts()
    if len(counts) == 1:
        return counts.index[0]
    return ", ".join(f"{count} of {len(reasons)} {reason}" for reason, count in sorted(counts.items()))


def to_target_cell(name: str, runs: pd.DataFrame, group: Group, text: Text) -> Cell:
    """Returns a cell with the mean of a time to the target. If only some runs reached it, their number follows; if none
    did, the mean of the whole runs."""
    to_target = group.to_target(name)
    missing = group.reached_words() if to_target.sign else arrivals(runs)
    if missing == NEVER:
        whole_runs = group.spread(f"{RESTRICTED}{name}").mean
        missing += f" in {text(whole_runs, whole_runs)}" if whole_runs is not None else ""
    cell = spread_cell(name, to_target.spread, text, missing, sign=to_target.before)
    return Cell(cell.text, cell.numbers | {f"{name}_is_lower_bound": bool(to_target.sign)})


def arrivals(runs: pd.DataFrame) -> str:
    """Returns how many runs reached the target, or why none did: "never" for completed runs."""
    return missing_words(runs.status.replace("completed", NEVER).mask(runs.reached, ""))


def iterations_cell(runs: pd.DataFrame, group: Group) -> Cell:
    return to_target_cell("iterations_to_target", runs, group, whole_number)


def all_reduce_cell(runs: pd.DataFrame) -> Cell:
    compatible = is_all_reduce_compatible(runs)
    text = {True: "yes", False: "no", None: UNKNOWN}[compatible]
    return Cell(text, {"all_reduce_compatible": compatible})


def is_all_reduce_compatible(runs: pd.DataFrame) -> bool | None:
    """Returns the plan's value; None if the records lack it or differ, as they may if a setting decides it."""
    said = runs["plan.all_reduce_compatible"].dropna().unique()
    return bool(said[0]) if len(said) == 1 else None


def target_notes(comparison: Comparison) -> list[str]:
    """Returns a note with the target and the interval of evaluations."""
    steps = listed(whole(comparison.runs["config.training.evaluate_every_iterations"]))
    holds = listed(whole(comparison.runs["hold"]))
    held = "" if holds == "1" else f", held for {holds} evaluations"
    return [f"Target: {comparison.target.phrase}{held}, evaluated every {steps} iterations."]


def in_markdown(text: str) -> str:
    """Escapes a label into one line without markup. Markdown ignores underscores within words, and brackets that no
    parenthesis, bracket or colon follows."""
    text = html.escape(" ".join(text.splitlines()), quote=False)
    return re.sub(r"[\\`*|~$]|\](?=[(\[:])|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", text)


def in_csv(value: Any) -> Any:
    """Returns the value as in `thinpipe report --csv`: null is empty, and numbers keep all digits."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return str(value).lower() if isinstance(value, bool) else value
