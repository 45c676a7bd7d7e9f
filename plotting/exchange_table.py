#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tabulates exchange times in rows of one swept axis and columns of another."""
from __future__ import annotations

import sys
from typing import Any, Sequence

import pandas as pd

from links_table import MODES, digits, exchange_ms, mean_over
from noise import noise_of
from replay_table import axes_of
from shared.comparison import in_words, quantity_key, with_modes
from shared.destination import MARKERS_OF_NAME, markers_of, write_to_destination
from shared.figure import marks_of
from shared.load import Results, load
from shared.markdown_table import UNKNOWN, grid, in_markdown, noise_notes, records_parser
from shared.number_text import time_text
from shared.origin import whole_origin
from shared.report import VERDICT_MARKS, InputError, Question

METHOD = "method"
ABOUT = (
    "Exchange time of an iteration in ms, the mean over its iterations and over seeds, with everything that workers wait for. "
    "In parentheses: TCP segments that were sent again, in the whole run.\n"
)
ABOUT_MARKS = {mark: f"{mark} The network was {verdict}.\n" for verdict, mark in VERDICT_MARKS.items() if mark}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = records_parser(
        "exchange_table",
        "Tabulate exchange times in rows of one swept axis and columns of another.",
        "  thinpipe run experiments/congestion-control.json\n"
        "  python3 plotting/exchange_table.py results/congestion-control --rows congestion_control "
        "--columns bottleneck.queue",
        MARKERS_OF_NAME,
        "folder of records with mode live, replay or simulate",
    )
    parser.add_argument("--rows", default=METHOD, metavar="AXIS", help="axis of the rows (default: %(default)s)")
    parser.add_argument("--columns", required=True, metavar="AXIS", help="axis of the columns")
    options = parser.parse_args(arguments)

    def make() -> str:
        return table(load(options.results, Question.of(options)), options.rows, options.columns)

    return write_to_destination("exchange_table", make, options, *markers_of(options.results))


def table(results: Results, rows: str, columns: str) -> str:
    """Returns one table per combination of the other swept axes, then the notes and the origin."""
    runs = results.runs[(results.runs.status == "completed") & results.runs["mode"].isin(MODES)]
    if runs.empty:
        raise InputError(f"{results.directory}: no complete run of mode {', '.join(MODES)}")
    axes = [{METHOD: run.method, **axes_of(run)} for _, run in runs.iterrows()]
    if rows == columns:
        raise InputError(f"--rows and --columns: are both {rows}; name two axes")
    for axis in (rows, columns):
        if any(axis not in each for each in axes):
            known = ", ".join(dict.fromkeys(name for each in axes for name in each))
            raise InputError(f"{results.directory}: not every run has an axis {axis}; the axes are {known}")
    runs = runs.assign(row=[each.pop(rows) for each in axes], column=[each.pop(columns) for each in axes])
    runs = runs.assign(panel=[in_words(each) for each in with_modes(axes, runs["mode"])])
    order = sorted(runs.column.unique(), key=quantity_key)
    parts = []
    for panel in sorted(runs.panel.unique(), key=quantity_key):
        own = runs[runs.panel == panel]
        if panel:
            parts.append(f"**{in_markdown(panel)}**\n")
        parts.append(grid([line(rows, each, order) for _, each in own.groupby("row", sort=False)]))
    shown = "\n".join(parts)
    notes = ABOUT + "".join(note for mark, note in ABOUT_MARKS.items() if mark in shown)
    notes += "".join(f"{note}\n" for note in noise_notes(runs))
    return "\n".join([shown, notes, in_markdown(whole_origin(runs)) + "\n"])


def line(heading: str, runs: pd.DataFrame, order: Sequence[str]) -> dict[str, str]:
    cells = {heading: runs.iloc[0].row}
    for column in order:
        own = runs[runs.column == column]
        cells[column] = UNKNOWN if own.empty else cell(own)
    return cells


def cell(runs: pd.DataFrame) -> str:
    noise = noise_of(runs)
    text = digits(time_text(noise.iteration_time if noise else 0.0), mean_over(runs, exchange_ms))
    read = (resent_segments(run.get("connections")) for _, run in runs.iterrows())
    resent = [segments for segments in read if segments is not None]
    if resent:
        text += f" ({sum(resent) / len(resent):.0f})"
    return text + marks_of(runs)


def resent_segments(connections: Any) -> int | None:
    """Returns how many segments a run's connections sent again; None if they were not read."""
    if not isinstance(connections, list):
        return None
    return sum(edge["retransmitted_segments"] for edge in connections)


if __name__ == "__main__":
    sys.exit(main())
