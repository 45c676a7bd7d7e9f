#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tabulates each method's speed-up over named methods in time to the target, and its accuracy loss."""
from __future__ import annotations

import sys
from functools import partial
from typing import Sequence

import pandas as pd

from methods_table import final_heading, final_level
from shared.comparison import Comparison, Panel
from shared.destination import MARKERS_OF_NAME, markers_of
from shared.markdown_table import (
    UNKNOWN,
    Cell,
    add_update,
    parsed,
    ratio_cell,
    spread_cell,
    table_parser,
    target_notes,
    to_target_cell,
    write_table,
)
from shared.number_text import Text, iteration_time_text, target_time_text
from shared.set_up_cells import set_up_note, speed_up_with_set_up_cell, time_with_set_up_cell

ABOUT = (
    "vs NAME: speed-up over the method NAME in time to the target, each run over the one of its seed, and their geometric mean. "
    "Accuracy loss: compared with the first NAME's mean final accuracy; left out if the target is a loss."
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = table_parser(
        "factors_table",
        "Tabulate each method's speed-up over the named methods in time to the target, and its final accuracy.",
        ABOUT,
        "results/against-pytorch --over DDP",
    )
    parser.add_argument("--over", nargs="+", required=True, metavar="NAME", help="the methods to compare with")
    add_update(parser, MARKERS_OF_NAME)
    options = parsed(parser, arguments)
    row = partial(row_of, over=options.over)
    return write_table("factors_table", options, row, notes, True, markers_of(options.results), options.over)


def notes(comparison: Comparison) -> list[str]:
    return [*target_notes(comparison), ABOUT, set_up_note(comparison)]


def row_of(runs: pd.DataFrame, panel: Panel, comparison: Comparison, over: Sequence[str]) -> dict[str, Cell]:
    group = comparison.group(runs)
    lost_accuracy = lost(runs, panel.runs[panel.runs.method == over[0]], comparison)
    return {
        final_heading(comparison.target): final_level(runs, comparison),
        **({} if comparison.target.is_loss else {"accuracy loss (points)": lost_accuracy}),
        "iteration (ms)": spread_cell("iteration_time_s", group.spread("iteration_time_s"), milliseconds_text(runs)),
        "time to target (s)": to_target_cell("time_to_accuracy_s", runs, group, target_time_text(runs)),
        "with set-up (s)": time_with_set_up_cell(runs, group, target_time_text(runs)),
        **{f"vs {name}": ratio_cell(group, "speed_up_over", name, runs) for name in over},
        f"vs {over[0]} with set-up": speed_up_with_set_up_cell(runs, group, over[0]),
    }


def milliseconds_text(runs: pd.DataFrame) -> Text:
    text = iteration_time_text(runs)
    return lambda time_s, mean_s: text(1e3 * time_s, 1e3 * mean_s)


def lost(runs: pd.DataFrame, baseline: pd.DataFrame, comparison: Comparison) -> Cell:
    """Returns a cell with the loss of final accuracy; negative for a gain."""
    levels = [comparison.group(each).spread("final_level").mean for each in (baseline, runs) if len(each)]
    if len(levels) < 2 or None in levels:
        return Cell(UNKNOWN, {"lost": None})
    return Cell(f"{100 * (levels[0] - levels[1]):.2f}", {"lost": levels[0] - levels[1]})


if __name__ == "__main__":
    sys.exit(main())
