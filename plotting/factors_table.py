#!/usr/bin/env python3
"""Tabulates each method's speed-up over named methods in time to the target, and its accuracy loss."""
from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Sequence

import pandas as pd

from comparison import Comparison, Panel
from load import InputError
from markdown_table import (
    MARKERS_OF_NAME,
    UNKNOWN,
    Cell,
    markers_of,
    replace_between,
    spread_cell,
    table_parser,
    target_notes,
    three_digits,
    to_target_cell,
    write_table,
)
from methods_table import final_heading, final_level
from speedup import Speedup, speedup_over

ABOUT = (
    "vs NAME: speed-up over the method NAME in time to the target, paired by seed: the median (minimum to maximum). "
    "Accuracy loss: compared with the first NAME's mean final accuracy."
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = table_parser(
        "factors_table",
        "Tabulate each method's speed-up over the named methods in time to the target, and its final accuracy.",
        ABOUT,
        "results/against-pytorch --over DDP",
    )
    parser.add_argument("--over", nargs="+", required=True, metavar="NAME", help="the methods to compare with")
    parser.add_argument(
        "--update",
        type=Path,
        metavar="FILE",
        help=f"put the table between the lines '{MARKERS_OF_NAME[0]}' and '{MARKERS_OF_NAME[1]}' of FILE; NAME is the "
        "name of the results folder",
    )
    options = parser.parse_args(arguments)
    if options.update and (options.csv or options.output):
        parser.error("--update writes Markdown to its own FILE: leave out --csv and --output")
    update = partial(replace_between, options.update, *markers_of(options.results)) if options.update else None
    return write_table(
        "factors_table", options, partial(row_of, over=options.over), notes, needs_time=True, update=update
    )


def notes(comparison: Comparison) -> list[str]:
    return [*target_notes(comparison), ABOUT]


def row_of(runs: pd.DataFrame, panel: Panel, comparison: Comparison, over: Sequence[str]) -> dict[str, Cell]:
    cells = {
        final_heading(comparison.target): final_level(runs, comparison.target),
        "accuracy loss (points)": lost(runs, completed(panel, over[0]), comparison),
        "iteration (ms)": spread_cell("iteration_ms", 1e3 * runs["iteration_time_s.mean"].dropna(), three_digits),
        "time to target (s)": to_target_cell("target_time_s", runs, "target_time_s", three_digits),
    }
    for name in over:
        cells[f"vs {name}"] = factor(name, speedup_over(completed(panel, name), runs))
    return cells


def completed(panel: Panel, method: str) -> pd.DataFrame:
    runs = panel.runs[(panel.runs.method == method) & (panel.runs.status == "completed")]
    if runs.empty:
        there = ", ".join(panel.runs.method.unique())
        raise InputError(f"--over {method}: no run of this method is complete; the methods are: {there}")
    return runs


def lost(runs: pd.DataFrame, baseline: pd.DataFrame, comparison: Comparison) -> Cell:
    """Returns a cell with the loss of final accuracy; negative for a gain, unknown if the target is a loss."""
    if comparison.target.is_loss:
        return Cell(UNKNOWN, {"lost": None})
    share = baseline.final_level.mean() - runs.final_level[runs.status == "completed"].mean()
    return Cell(UNKNOWN if pd.isna(share) else f"{100 * share:.2f}", {"lost": share})


def factor(name: str, speedup: Speedup | None) -> Cell:
    if speedup is None:
        return Cell(UNKNOWN, {f"over {name}": None})
    text = speedup.text()
    if speedup.high > speedup.low:
        text += f" ({speedup.low:.3g} to {speedup.high:.3g})"
    return Cell(text, {f"over {name}": speedup.median})


if __name__ == "__main__":
    sys.exit(main())
