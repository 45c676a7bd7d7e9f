#!/usr/bin/env python3
"""Tabulates each method's bits per weight and compression ratios, from a worker and to it."""
from __future__ import annotations

import sys
from functools import partial
from typing import Sequence

import pandas as pd

from comparison import Comparison, Panel
from destination import MARKERS_OF_NAME, markers_of
from markdown_table import UNKNOWN, Cell, add_update, parsed, table_parser, target_notes, write_table
from methods_table import final_heading, final_level
from number_text import three_digits

BITS_OF_FLOAT32 = 32.0
# In the plan of a record: bytes of one worker per iteration, by the method's formula.
UPSTREAM, DOWNSTREAM = "plan.payload_bytes_per_iteration", "plan.delivered_bytes_per_iteration"
ABOUT = [
    "Bits per weight: payload that rank 0 passes to collectives, per weight and iteration; iterations without an exchange "
    "count too.",
    "Upstream: 32 bits over these. Upstream by formula: the same for the mean over workers, after any warm-up.",
    "Downstream by formula: 32 bits over the bits per weight and iteration that collectives deliver to a worker. An "
    "all-gather delivers the messages of all other workers, an all-reduce one sum.",
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
        "upstream by formula": ratio_cell("planned_upstream_ratio", planned_ratio(runs, UPSTREAM)),
        "downstream by formula": ratio_cell("planned_downstream_ratio", planned_ratio(runs, DOWNSTREAM)),
    }


def bits_cell(density: float | None) -> Cell:
    bits = None if density is None else BITS_OF_FLOAT32 * density
    return Cell(UNKNOWN if bits is None else three_digits(bits), {"bits_per_weight": bits})


def ratio_cell(name: str, ratio: float | None) -> Cell:
    return Cell(UNKNOWN if ratio is None else f"{compression_text(ratio)}×", {name: ratio})


def compression_text(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 100 else three_digits(ratio)


def planned_ratio(runs: pd.DataFrame, column: str) -> float | None:
    """Returns the bytes of float32 gradients over the planned bytes; None if the records lack them, as older ones do, or if
    there are none."""
    if column not in runs.columns:
        return None
    planned = runs[["plan.gradient_bytes", column]].dropna()
    ratios = planned["plan.gradient_bytes"] / planned[column].where(planned[column] > 0)
    return None if ratios.isna().any() or ratios.empty else float(ratios.mean())


if __name__ == "__main__":
    sys.exit(main())
