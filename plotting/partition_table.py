#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tabulates each method's final accuracy in one column per partition of the data, or per value of another axis."""
from __future__ import annotations

import sys
from typing import Sequence

import pandas as pd

from methods_table import percent
from shared.comparison import common_target, in_words, quantity_key
from shared.destination import MARKERS_OF_NAME, markers_of, write_to_destination
from shared.load import Results, load
from shared.markdown_table import UNKNOWN, grid, in_markdown, missing_words, records_parser
from shared.number_text import three_digits
from shared.origin import whole_origin
from shared.report import InputError, Question
from shared.target import Target

PARTITION = "partition"
ABOUT = "Final {}, at the last evaluation: mean over seeds ± half the length of its 95 % confidence interval (bootstrap)."
ABOUT_SOME = "(2 of 3): only that many seeds have a value."


def main(arguments: Sequence[str] | None = None) -> int:
    parser = records_parser(
        "partition_table",
        "Tabulate each method's final accuracy, or loss, in one column per partition of the training data.",
        "  thinpipe run experiments/gmc.json\n"
        "  python3 plotting/partition_table.py results/gmc\n"
        "  python3 plotting/partition_table.py results/paper-fig6-small --columns pruning.ratio",
        MARKERS_OF_NAME,
        "folder of records that sweep the axis of the columns",
    )
    parser.add_argument(
        "--columns", default=PARTITION, metavar="AXIS", help="axis of the columns (default: %(default)s)"
    )
    options = parser.parse_args(arguments)

    def make() -> str:
        return table(load(options.results, Question.of(options)), options.columns)

    return write_to_destination("partition_table", make, options, *markers_of(options.results))


def table(results: Results, columns: str = PARTITION) -> str:
    """Returns one table per combination of the other swept axes, then the notes and the origin."""
    target = common_target(results)
    runs = with_columns(results, columns)
    parts = []
    for title in sorted(runs.panel.unique(), key=quantity_key):
        if title:
            parts.append(f"**{in_markdown(title)}**\n")
        panel = runs[runs.panel == title]
        order = sorted(panel.column.unique(), key=quantity_key)
        by_method = panel.groupby("method", sort=False)
        parts.append(grid([row(method, each, order, results, target) for method, each in by_method]))
    parts.append("".join(f"{note}\n" for note in notes(runs, target)))
    return "\n".join([*parts, in_markdown(whole_origin(runs)) + "\n"])


def with_columns(results: Results, columns: str) -> pd.DataFrame:
    """Returns the runs with their value on the axis of the columns, and the title of their table."""
    axes = [dict(each) for each in results.runs.other_axes]
    if any(columns not in each for each in axes):
        known = ", ".join(sorted(set().union(*axes))) or "none"
        raise InputError(f"{results.directory}: not every run has an axis {columns}; the axes are: {known}")
    return results.runs.assign(
        column=[each.pop(columns) for each in axes],
        panel=[in_words(each) for each in axes],
    )


def row(method: str, runs: pd.DataFrame, order: Sequence[str], results: Results, target: Target) -> dict[str, str]:
    cells = {"method": method}
    for column in order:
        own = runs[runs.column == column]
        cells[column] = UNKNOWN if own.empty else cell(own, results, target)
    return cells


def cell(runs: pd.DataFrame, results: Results, target: Target) -> str:
    levels = runs.final_level.where(runs.status == "completed")
    missing = missing_words(runs.status.replace("completed", "not finite").mask(levels.notna(), ""))
    spread = results.group(runs).spread("final_level")
    if spread.mean is None:
        return missing or UNKNOWN
    level_text = three_digits if target.is_loss else percent
    text = level_text(spread.mean, spread.mean)
    if spread.ci95_low is not None:
        text += f" ± {level_text((spread.ci95_high - spread.ci95_low) / 2, spread.mean)}"
    return text + (f" ({missing})" if missing else "")


def notes(runs: pd.DataFrame, target: Target) -> list[str]:
    lines = [ABOUT.format(f"{target.noun}{'' if target.is_loss else ' in %'}")]
    lacks_some = runs.final_level.where(runs.status == "completed").isna().any()
    return [*lines, ABOUT_SOME] if lacks_some else lines


if __name__ == "__main__":
    sys.exit(main())
