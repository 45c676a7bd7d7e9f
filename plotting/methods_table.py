#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tabulates each method's final accuracy, iterations to the target, payload and error."""
from __future__ import annotations

import sys
from typing import Sequence

import pandas as pd

from shared.comparison import Comparison, Panel
from shared.destination import MARKERS_OF_NAME, markers_of
from shared.markdown_table import (
    UNKNOWN,
    Cell,
    add_update,
    all_reduce_cell,
    iterations_cell,
    missing_words,
    parsed,
    spread_cell,
    table_parser,
    target_notes,
    write_table,
)
from shared.number_text import three_digits
from shared.target import Target

ABOUT = [
    "Payload: bytes that a worker passes to collectives. Around the ring, an all-gather sends them N-1 times, an "
    "all-reduce less than twice.",
    "Relative to dense: payload over that of float32 gradients, the effective density.",
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
    add_update(parser, MARKERS_OF_NAME)
    options = parsed(parser, arguments)
    return write_table("methods_table", options, row_of, notes, False, markers_of(options.results))


def notes(comparison: Comparison) -> list[str]:
    return [*target_notes(comparison), *ABOUT]


def row_of(runs: pd.DataFrame, _panel: Panel, comparison: Comparison) -> dict[str, Cell]:
    group = comparison.group(runs)
    payload_bytes, share = (group.spread(name).mean for name in ("payload_bytes_per_iteration", "effective_density"))
    return {
        final_heading(comparison.target): final_level(runs, comparison),
        "iterations to target": iterations_cell(runs, group),
        "payload per iteration": Cell(
            UNKNOWN if payload_bytes is None else bytes_text(payload_bytes),
            {"payload_bytes_per_worker_and_iteration": payload_bytes},
        ),
        "relative to dense": Cell(
            UNKNOWN if share is None else f"{three_digits(100 * share)} %",
            {"effective_density": share},
        ),
        "vNMSE": spread_cell("vnmse", group.spread("vnmse"), three_digits),
        "all-reduce compatible": all_reduce_cell(runs),
    }


def final_heading(target: Target) -> str:
    return f"final {target.noun}{'' if target.is_loss else ' (%)'}"


def final_level(runs: pd.DataFrame, comparison: Comparison) -> Cell:
    """Returns the target's metric at the last evaluation. A loss that is not finite is a result too."""
    values, target = runs.final_level.where(runs.status == "completed"), comparison.target
    missing = missing_words(runs.status.replace("completed", "not finite").mask(values.notna(), ""))
    text = three_digits if target.is_loss else percent
    return spread_cell(f"final_{target.metric}", comparison.group(runs).spread("final_level"), text, missing)


def percent(share: float, _mean: float) -> str:
    return f"{100 * share:.1f}"


def bytes_text(count: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{three_digits(count / size)} {unit}"
    return f"{count:.0f} B"


if __name__ == "__main__":
    sys.exit(main())
