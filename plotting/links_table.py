#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tabulates each method's bytes on the busiest link and its iteration times."""
from __future__ import annotations

import math
import sys
from typing import Callable, Sequence

import pandas as pd

from noise import noise_of
from replay_table import axes_of, mean
from shared.comparison import in_words, quantity_key, with_modes
from shared.destination import MARKERS_OF_NAME, markers_of, write_to_destination
from shared.load import Results, load
from shared.markdown_table import UNKNOWN, grid, in_markdown, noise_notes, records_parser
from shared.number_text import Text, time_text
from shared.origin import whole_origin
from shared.report import InputError, Question

# Returns a run's value; None if it has none.
Quantity = Callable[[pd.Series], float | None]

WIRE = "traffic.wire_bytes."
MODES = ("live", "replay", "simulate")
METHOD = "method"
LINK = "busiest link (kB)"
ABOUT_LINK = (
    "Busiest link: bytes per iteration in the direction that carried the most, as counted by the kernel. They include "
    "headers, acknowledgements and, spread over all iterations, evaluations. "
)
ABOUT_BRACKETS = "In parentheses: relative to the first row.\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = records_parser(
        "links_table",
        "Tabulate by method the bytes on the busiest link and the exchange and iteration times.",
        "  thinpipe run experiments/merged-entries.json\n"
        "  python3 plotting/links_table.py results/merged-entries\n"
        "  python3 plotting/links_table.py results/bucket-sizes --rows buckets.size",
        MARKERS_OF_NAME,
        "folder of records with mode live, replay or simulate",
    )
    parser.add_argument("--rows", default=METHOD, metavar="AXIS", help="axis of the rows (default: %(default)s)")
    options = parser.parse_args(arguments)

    def make() -> str:
        return table(load(options.results, Question.of(options)), options.rows)

    return write_to_destination("links_table", make, options, *markers_of(options.results))


def table(results: Results, rows: str = METHOD) -> str:
    runs = results.runs[
        (results.runs.status == "completed")
        & results.runs["mode"].isin(MODES)
        & (results.runs["fidelity.verdict"].notna() | (results.runs["mode"] == "simulate"))
    ]
    if runs.empty:
        raise InputError(f"{results.directory}: no complete run of mode {', '.join(MODES)} over a network")
    axes = [{**axes_of(run), METHOD: run.method} for _, run in runs.iterrows()]
    if any(rows not in each for each in axes):
        known = ", ".join(sorted(set().union(*axes)))
        raise InputError(f"{results.directory}: not every run has an axis {rows}; the axes are {known}")
    runs = runs.assign(row=[each.pop(rows) for each in axes])
    runs = runs.assign(panel=[in_words(each) for each in with_modes(axes, runs["mode"])])
    quantities = {LINK: busiest_kb} if (runs["mode"] == "live").any() else {}
    quantities |= {"exchange (ms)": exchange_ms, "iteration (ms)": iteration_ms}
    parts = []
    for panel in sorted(runs.panel.unique(), key=quantity_key):
        if panel:
            parts.append(f"**{in_markdown(panel)}**\n")
        own = runs[runs.panel == panel]
        if rows != METHOD:
            own = own.sort_values("row", key=lambda values: values.map(quantity_key), kind="stable")
        by_row = [each for _, each in own.groupby("row", sort=False)]
        parts.append(grid([row(rows, each, by_row[0], quantities) for each in by_row]))
    about = (ABOUT_LINK if LINK in quantities else "") + ABOUT_BRACKETS
    if runs.duplicated(["row", "panel"]).any():
        about += "Means over seeds.\n"
    about += "".join(f"{note}\n" for note in noise_notes(runs))
    return "\n".join([*parts, about, in_markdown(whole_origin(runs)) + "\n"])


def row(heading_of_rows: str, runs: pd.DataFrame, first: pd.DataFrame, quantities: dict[str, Quantity]) -> dict[str, str]:
    """Returns one line: the means over runs that differ only in their seed, and their relations to the first line's."""
    cells = {heading_of_rows: runs.row.iloc[0]}
    noise = noise_of(runs)
    for heading, quantity in quantities.items():
        value, of_first = (mean_over(each, quantity) for each in (runs, first))
        relative = noise.iteration_time if noise and quantity is not busiest_kb else 0.0
        text, ratio = time_text(relative), time_text(math.sqrt(2.0) * relative)
        relation = f" ({digits(ratio, value / of_first)})" if value is not None and of_first else ""
        cells[heading] = digits(text, value) + relation
    verdicts = runs["fidelity.verdict"].mask(runs["mode"] == "simulate", "simulated")
    cells["network"] = ", ".join(dict.fromkeys(map(str, verdicts)))
    return cells


def digits(text: Text, value: float | None) -> str:
    return UNKNOWN if value is None else text(value, value)


def busiest_kb(run: pd.Series) -> float | None:
    if run["mode"] != "live":
        return None  # a replay's bytes include its warm-up
    counts = pd.to_numeric(run[[column for column in run.index if str(column).startswith(WIRE)]]).dropna()
    return counts.max() / run.iterations / 1e3


def exchange_ms(run: pd.Series) -> float | None:
    return milliseconds(run.get("iteration_time_s.exchange"))


def iteration_ms(run: pd.Series) -> float | None:
    return milliseconds(run["iteration_time_s.mean"])


def milliseconds(time_s: float | None) -> float | None:
    """Returns None for null: external trainers, such as pytorch-ddp, do not know every part of an iteration's time."""
    return None if pd.isna(time_s) else 1e3 * time_s


def mean_over(runs: pd.DataFrame, quantity: Quantity) -> float | None:
    """Returns the mean over runs that differ only in their seed; None if one has no value."""
    return mean([quantity(run) for _, run in runs.iterrows()])


if __name__ == "__main__":
    sys.exit(main())
