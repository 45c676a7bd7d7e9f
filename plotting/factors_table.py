#!/usr/bin/env python3
"""By what factor each method is sooner at the target than others named, and what accuracy that costs: a table."""
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
    "NAME / it: the time that the method NAME takes to the target over this one's, of the same seed: the median of the "
    "seeds, and the least and the most. Lost: of the first NAME's mean at the end."
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = table_parser(
        "factors_table",
        "Tabulate how many times sooner each method reaches the target than the methods named, and at what accuracy.",
        ABOUT,
        "results/against-pytorch --over DDP",
    )
    parser.add_argument("--over", nargs="+", required=True, metavar="NAME", help="the methods to compare with")
    parser.add_argument(
        "--update",
        type=Path,
        metavar="FILE",
        help=f"put the table between the lines '{MARKERS_OF_NAME[0]}' and '{MARKERS_OF_NAME[1]}' of FILE, where NAME is "
        "that of the folder of results",
    )
    options = parser.parse_args(arguments)
    if options.update and (options.csv or options.output):
        parser.error("--update takes the Markdown itself: leave out --csv and --output")
    update = partial(replace_between, options.update, *markers_of(options.results)) if options.update else None
    return write_table(
        "factors_table", options, partial(row_of, over=options.over), notes, needs_time=True, update=update
    )


def notes(comparison: Comparison) -> list[str]:
    return [*target_notes(comparison), ABOUT]


def row_of(runs: pd.DataFrame, panel: Panel, comparison: Comparison, over: Sequence[str]) -> dict[str, Cell]:
    cells = {
        final_heading(comparison.target): final_level(runs, comparison.target),
        "lost, in points": lost(runs, completed(panel, over[0]), comparison),
        "iteration (ms)": spread_cell("iteration_ms", 1e3 * runs["iteration_time_s.mean"].dropna(), three_digits),
        "time to target (s)": to_target_cell("target_time_s", runs, "target_time_s", three_digits),
    }
    for name in over:
        cells[f"{name} / it"] = factor(name, speedup_over(completed(panel, name), runs))
    return cells


def completed(panel: Panel, method: str) -> pd.DataFrame:
    runs = panel.runs[(panel.runs.method == method) & (panel.runs.status == "completed")]
    if runs.empty:
        there = ", ".join(panel.runs.method.unique())
        raise InputError(f"--over {method}: no run of it is complete; there are {there}")
    return runs


def lost(runs: pd.DataFrame, baseline: pd.DataFrame, comparison: Comparison) -> Cell:
    """Of accuracies; negative where it has gained."""
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
