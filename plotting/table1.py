#!/usr/bin/env python3
"""Table 1 of the PacTrain paper, measured: convergence speed, all-reduce compatibility and time to accuracy."""
from __future__ import annotations

import argparse
import math
import sys
from functools import partial
from typing import Sequence

import pandas as pd

from comparison import Comparison, Panel
from markdown_table import (
    UNKNOWN,
    Cell,
    all_reduce_cell,
    arrivals,
    is_all_reduce_compatible,
    iterations_cell,
    spread,
    table_parser,
    target_notes,
    three_digits,
    to_target_cell,
    write_table,
)
from speedup import baseline_runs, pairs_of, ratio_text

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
    options = parser.parse_args(arguments)
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
        "Convergence speed: dense's iterations to the target over the method's, paired by seed.",
        f"✓ convergence: every run reaches the target, in at most {100 * tolerance:g} % more iterations than dense.",
        "✓ all-reduce: the sum of two messages of the method is a message too.",
        "✓ TTA: every run reaches the target, in less time than fp16.",
        "Marks compare means over seeds; -: unknown.",
    ]


def notes(comparison: Comparison, tolerance: float) -> list[str]:
    lines = [*target_notes(comparison), *rule(tolerance)]
    bound = any(
        not runs.reached.all()
        for panel in comparison.panels
        for runs in (baseline_runs(panel, "dense"), baseline_runs(panel, "fp16"))
    )
    return [*lines, "≥: the baseline did not reach the target."] if bound else lines


def row_of(runs: pd.DataFrame, panel: Panel, comparison: Comparison, tolerance: float) -> dict[str, Cell]:
    over_dense, over_fp16 = (pairs_of(baseline_runs(panel, name), runs) for name in ("dense", "fp16"))
    marks = {
        "convergence": compared(
            runs, over_dense.target_iteration, (1.0 + tolerance) * over_dense.baseline_iterations, or_equal=True
        ),
        "all-reduce": is_all_reduce_compatible(runs),
        "TTA": compared(runs, over_fp16.target_time_s, over_fp16.baseline_s, or_equal=False),
    }
    return {
        "iterations to target": iterations_cell(runs),
        "convergence speed vs dense": ratio_cell(
            "convergence_speed", runs, over_dense, over_dense.baseline_iterations / over_dense.target_iteration
        ),
        "all-reduce compatible": all_reduce_cell(runs),
        "TTA (s)": to_target_cell("time_to_accuracy_s", runs, "target_time_s", three_digits),
        "speed-up vs dense": ratio_cell(
            "speed_up_over_dense", runs, over_dense, over_dense.baseline_s / over_dense.target_time_s
        ),
        "speed-up vs fp16": ratio_cell(
            "speed_up_over_fp16", runs, over_fp16, over_fp16.baseline_s / over_fp16.target_time_s
        ),
        **{
            name: Cell(MARKS[mark], {f"mark_{name.lower().replace('-', '_')}": mark})
            for name, mark in marks.items()
        },
    }


def compared(runs: pd.DataFrame, own: pd.Series, bound: pd.Series, or_equal: bool) -> bool | None:
    """Returns a mark, by means over the seeds that have both values; None if a run is missing or has no partner."""
    if ((runs.status == "completed") & ~runs.reached).any():
        return False
    if len(own) < len(runs):
        return None
    if or_equal:  # the rounding of the tolerance must not turn a tie into a loss
        return bool(own.mean() <= bound.mean() * (1.0 + 1e-9))
    return bool(own.mean() < bound.mean())


def ratio_cell(name: str, runs: pd.DataFrame, pairs: pd.DataFrame, ratios: pd.Series) -> Cell:
    """Returns a cell with the mean ratio of baseline over method: higher is better. It is a lower bound if a baseline
    run did not reach the target."""
    mean, deviation = spread(ratios)
    at_least = not pairs.reached_baseline.all() if len(pairs) else None
    numbers = {name: mean, f"{name}_deviation": deviation, f"{name}_at_least": at_least}
    if mean is None:
        return Cell(UNKNOWN if runs.reached.any() else arrivals(runs), numbers)
    words = ratio_text(mean, at_least) + (f" ± {deviation:.2f}" if deviation is not None else "")
    return Cell(words + (f" ({len(pairs)} of {len(runs)})" if len(pairs) < len(runs) else ""), numbers)


if __name__ == "__main__":
    sys.exit(main())
