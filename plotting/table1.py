#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Table 1 of the PacTrain paper, measured: convergence speed, all-reduce compatibility and time to accuracy."""
from __future__ import annotations

import argparse
import math
import sys
from dataclasses import replace
from functools import partial
from typing import Callable, Sequence

import pandas as pd

from shared.comparison import Comparison, Panel
from shared.markdown_table import (
    UNKNOWN,
    Cell,
    all_reduce_cell,
    is_all_reduce_compatible,
    iterations_cell,
    parsed,
    ratio_cell,
    spread_cell,
    table_parser,
    target_notes,
    to_target_cell,
    write_table,
)
from shared.number_text import ratio_text, target_time_text
from shared.report import Bounded, Group, Spread
from shared.set_up_cells import set_up_note, speed_up_with_set_up_cell, time_with_set_up_cell
from shared.small_print import missing_of_ratio

TOLERANCE = 0.1
MARKS = {True: "✓", False: "✗", None: UNKNOWN}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = table_parser(
        "table1",
        "Make Table 1 of the PacTrain paper from measurements: each method's convergence speed, all-reduce\n"
        "compatibility and time to accuracy (TTA), and the paper's three check marks.",
        "\n".join(rule(TOLERANCE)),
        "results/paper-table1",
    )
    parser.add_argument(
        "--tolerance",
        type=share,
        default=TOLERANCE,
        metavar="SHARE",
        help="additional iterations, as a share of dense's, with which a method still gets the mark for convergence "
        f"(default: {TOLERANCE:g})",
    )
    options = parsed(parser, arguments)
    row = partial(row_of, tolerance=options.tolerance)
    return write_table("table1", options, row, partial(notes, tolerance=options.tolerance), needs_time=True)


def share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}' must be a number of at least 0, such as 0.1 for 10 %")
    return value


def rule(tolerance: float) -> list[str]:
    return [
        "Convergence speed: dense's mean iterations to the target over the method's, with the same seeds. Speed-ups are geometric means of the ratios of runs with the same seed.",
        f"✓ convergence: every run reaches the target, in at most {100 * tolerance:g} % more iterations than dense.",
        "✓ all-reduce: the sum of two messages of the method is a message too.",
        "✓ TTA: every run reaches the target, in less time than fp16.",
        "Marks are by the ratios in these columns; -: unknown, as with a lower bound (≥) that does not decide.",
    ]


def notes(comparison: Comparison, tolerance: float) -> list[str]:
    return [*target_notes(comparison), *rule(tolerance), set_up_note(comparison)]


def row_of(runs: pd.DataFrame, _panel: Panel, comparison: Comparison, tolerance: float) -> dict[str, Cell]:
    group = comparison.group(runs)
    speed = convergence_speed(runs, group)
    marks = {
        "convergence": mark(
            runs,
            speed.spread,
            group.is_bound("dense"),
            # The rounding of the tolerance must not turn a tie into a loss.
            lambda speed: speed * (1.0 + tolerance) >= 1.0 - 1e-9,
        ),
        "all-reduce": is_all_reduce_compatible(runs),
        "TTA": mark(runs, group.spread("speed_up_over_fp16"), group.is_bound("fp16"), lambda speed: speed > 1.0),
    }
    return {
        "iterations to target": iterations_cell(runs, group),
        "convergence speed vs dense": convergence_cell(runs, group, speed),
        "all-reduce compatible": all_reduce_cell(runs),
        "TTA (s)": to_target_cell("time_to_accuracy_s", runs, group, target_time_text(runs)),
        "with set-up (s)": time_with_set_up_cell(runs, group, target_time_text(runs)),
        "speed-up vs dense": ratio_cell(group, "speed_up_over", "dense", runs),
        "vs dense with set-up": speed_up_with_set_up_cell(runs, group, "dense"),
        "speed-up vs fp16": ratio_cell(group, "speed_up_over", "fp16", runs),
        **{
            name: Cell(MARKS[each], {f"mark_{name.lower().replace('-', '_')}": each})
            for name, each in marks.items()
        },
    }


def convergence_speed(runs: pd.DataFrame, group: Group) -> Bounded:
    """Returns dense's mean iterations to the target over the method's: a ratio of counts is that of the means that the table
    shows, as a mean of ratios may be on the other side of the tolerance. It has no interval; the means have."""
    ratio = group.ratio("convergence_speed_over", "dense")
    if not ratio.spread.count:
        return ratio
    ratios = pd.to_numeric(runs[ratio.name]).dropna()
    own = pd.to_numeric(runs.target_iteration).fillna(runs.iterations)[ratios.index]
    dense = own * ratios
    return replace(ratio, spread=Spread(ratio.spread.count, float(dense.sum() / own.sum()), None, None))


def convergence_cell(runs: pd.DataFrame, group: Group, speed: Bounded) -> Cell:
    cell = ratio_cell(group, "convergence_speed_over", "dense", runs)
    if not speed.spread.count:
        return cell
    name = "convergence_speed_over_dense"
    missing = missing_of_ratio(group, speed, len(runs))
    plain = spread_cell(name, speed.spread, ratio_text(0.0), missing, "×", speed.before)
    return Cell(plain.text, {**cell.numbers, **plain.numbers})


def mark(runs: pd.DataFrame, ratio: Spread, at_least: bool, is_good: Callable[[float], bool]) -> bool | None:
    """Returns a mark by the ratio; None if a run is missing or has no baseline, or if the ratio is a lower bound that
    does not decide."""
    if ((runs.status == "completed") & ~runs.reached).any():
        return False
    if ratio.count < len(runs):
        return None
    return is_good(ratio.mean) or (None if at_least else False)


if __name__ == "__main__":
    sys.exit(main())
