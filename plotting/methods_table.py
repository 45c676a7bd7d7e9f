#!/usr/bin/env python3
"""Tabulates each method's final accuracy, iterations to the target, payload and error."""
from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Sequence

import pandas as pd

from comparison import Comparison, Panel
from markdown_table import (
    UNKNOWN,
    Cell,
    all_reduce_cell,
    iterations_cell,
    missing_words,
    replace_between,
    spread,
    spread_cell,
    table_parser,
    target_notes,
    three_digits,
    write_table,
)
from speedup import baseline_runs
from target import Target

BEGIN, END = "<!-- convergence: begin -->", "<!-- convergence: end -->"
ABOUT = [
    "Payload: bytes that a worker passes to collectives. Around the ring, an all-gather sends them N-1 times, an "
    "all-reduce less than twice.",
    "vNMSE: squared error of the synchronised gradient over the mean gradient's squared norm.",
]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = table_parser(
        "methods_table",
        "Tabulate, from runs of mode converge, each method's final accuracy, iterations to the target, payload and\n"
        "error. Runs of mode live have no error.",
        "\n".join(ABOUT),
        "results/convergence",
    )
    parser.add_argument(
        "--update",
        type=Path,
        metavar="FILE",
        help=f"put the table between the lines '{BEGIN}' and '{END}' of FILE, such as docs/methods.md",
    )
    options = parser.parse_args(arguments)
    if options.update and (options.csv or options.output):
        parser.error("--update writes Markdown to its own FILE: leave out --csv and --output")
    update = partial(replace_between, options.update, BEGIN, END) if options.update else None
    return write_table("methods_table", options, row_of, notes, needs_time=False, update=update)


def notes(comparison: Comparison) -> list[str]:
    return [*target_notes(comparison), *ABOUT]


def row_of(runs: pd.DataFrame, panel: Panel, comparison: Comparison) -> dict[str, Cell]:
    target = comparison.target
    payload_bytes, _ = spread(payload_of(runs))
    dense_bytes, _ = spread(payload_of(baseline_runs(panel, "dense")))
    share = payload_bytes / dense_bytes if payload_bytes is not None and dense_bytes else None
    vnmse = pd.to_numeric(completed(runs)["compression.vnmse"]).dropna()
    return {
        final_heading(target): final_level(runs, target),
        "iterations to target": iterations_cell(runs),
        "payload per iteration": Cell(
            UNKNOWN if payload_bytes is None else bytes_text(payload_bytes),
            {"payload_bytes_per_worker_and_iteration": payload_bytes},
        ),
        "relative to dense": Cell(
            UNKNOWN if share is None else f"{three_digits(100 * share)} %",
            {"payload_share_of_dense": share},
        ),
        "vNMSE": spread_cell("vnmse", vnmse, three_digits),
        "all-reduce compatible": all_reduce_cell(runs),
    }


def final_heading(target: Target) -> str:
    return f"final {target.noun}{'' if target.is_loss else ' (%)'}"


def final_level(runs: pd.DataFrame, target: Target) -> Cell:
    """Returns the target's metric at the last evaluation. A loss that is not finite is a result too."""
    values = runs.final_level.where(runs.status == "completed")
    missing = missing_words(runs.status.replace("completed", "not finite").mask(values.notna(), ""))
    text = three_digits if target.is_loss else percent
    return spread_cell(f"final_{target.metric}", values.dropna(), text, missing)


def percent(share: float, _mean: float) -> str:
    return f"{100 * share:.1f}"


def completed(runs: pd.DataFrame) -> pd.DataFrame:
    return runs[runs.status == "completed"]


def payload_of(runs: pd.DataFrame) -> pd.Series:
    """Returns the payload bytes per worker and iteration of each completed run."""
    whole = completed(runs)
    return (whole["traffic.payload_bytes_per_worker"] / whole["iterations"]).dropna()


def bytes_text(count: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{three_digits(count / size)} {unit}"
    return f"{count:.0f} B"


if __name__ == "__main__":
    sys.exit(main())
