#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tabulates each method's bits per weight and compression ratios, from a worker and to it."""
from __future__ import annotations

import sys
from functools import partial
from typing import Sequence

import pandas as pd

from methods_table import final_heading, final_level
from shared.comparison import Comparison, Panel
from shared.destination import MARKERS_OF_NAME, markers_of
from shared.markdown_table import UNKNOWN, Cell, add_update, parsed, table_parser, target_notes, write_table
from shared.number_text import three_digits

BITS_OF_FLOAT32 = 32.0
# Of rank 0 in the whole run, and of a worker per iteration by the method's formula.
DELIVERED, PLANNED_UPSTREAM = "traffic.delivered_bytes_per_worker", "plan.payload_bytes_per_iteration"
ABOUT = [
    "Bits per weight: payload that rank 0 passes to collectives, per weight and iteration; iterations without an exchange "
    "count too.",
    "Upstream: 32 bits over these. Upstream by formula: by the plan's bytes, which are the mean over workers, after any warm-up, "
    "with the expected length of codes of variable length.",
    "Downstream: 32 bits over the bits per weight and iteration that collectives deliver to rank 0. An all-gather "
    "delivers the messages of all other workers, an all-reduce one sum.",
]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = table_parser(
        "bits_table",
        "Tabulate each method's bits per weight and iteration, and its compression ratios over float32, from a worker\n"
        "(upstream) and to it (downstream).",
        "\n".join(ABOUT),
        "results/sbc",
    )
    parser.add_argument(
        "--bytes-only", action="store_true", help="leave the final accuracy out: the runs are too short for one"
    )
    add_update(parser, MARKERS_OF_NAME)
    options = parsed(parser, arguments)
    row = partial(row_of, with_level=not options.bytes_only)
    notes = partial(notes_for, with_level=not options.bytes_only)
    return write_table("bits_table", options, row, notes, False, markers_of(options.results))


def notes_for(comparison: Comparison, with_level: bool) -> list[str]:
    return [*(target_notes(comparison) if with_level else []), *ABOUT]


def row_of(runs: pd.DataFrame, _panel: Panel, comparison: Comparison, with_level: bool) -> dict[str, Cell]:
    density = comparison.group(runs).spread("effective_density").mean
    level = {final_heading(comparison.target): final_level(runs, comparison)} if with_level else {}
    return {
        **level,
        "bits per weight": bits_cell(density),
        "upstream": ratio_cell("upstream_ratio", None if not density else 1.0 / density),
        "upstream by formula": ratio_cell("planned_upstream_ratio", ratio_over(runs, PLANNED_UPSTREAM)),
        "downstream": ratio_cell("downstream_ratio", ratio_over(runs, DELIVERED, runs["iterations"])),
    }


def bits_cell(density: float | None) -> Cell:
    bits = None if density is None else BITS_OF_FLOAT32 * density
    return Cell(UNKNOWN if bits is None else three_digits(bits), {"bits_per_weight": bits})


def ratio_cell(name: str, ratio: float | None) -> Cell:
    return Cell(UNKNOWN if ratio is None else f"{compression_text(ratio)}×", {name: ratio})


def compression_text(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 100 else three_digits(ratio)


def ratio_over(runs: pd.DataFrame, column: str, iterations: pd.Series | float = 1.0) -> float | None:
    """Returns the bytes of float32 gradients in so many iterations over those in this column, of all runs together; None if
    the records lack them, as older ones do, or if there are none."""
    if column not in runs.columns or "plan.gradient_bytes" not in runs.columns:
        return None
    pairs = pd.DataFrame({"dense": iterations * runs["plan.gradient_bytes"], "own": runs[column]}).dropna()
    return pairs.dense.sum() / pairs.own.sum() if pairs.own.sum() > 0 else None


if __name__ == "__main__":
    sys.exit(main())
