#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tabulates the run time of replays and simulations, and the time of the training runs that they replace."""
from __future__ import annotations

import sys
from typing import Sequence

import pandas as pd

from shared.comparison import quantity_key
from shared.destination import write_to_destination
from shared.figure import marks_of
from shared.load import Results, load
from shared.markdown_table import UNKNOWN, grid, in_markdown, noise_notes, records_parser
from shared.number_text import three_digits
from shared.origin import whole_origin
from shared.report import InputError, Question
from shared.small_print import meanings_of_marks

BEGIN, END = "<!-- cost: begin -->", "<!-- cost: end -->"
MODES = ("replay", "simulate")
CAP = "config.bottleneck.rate"
NO_COMMON_CAP = "the topology's"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = records_parser(
        "cost_table",
        "Tabulate by cap the run time of replays and simulations, and the time that training would take.",
        "  thinpipe run experiments/full-size.json\n"
        "  python3 plotting/cost_table.py results/full-size --iterations 19500",
        (BEGIN, END),
        "folder of records with mode replay, simulate or both",
    )
    parser.add_argument("--iterations", type=positive, required=True, help="iterations of one training run")
    options = parser.parse_args(arguments)

    def make() -> str:
        return table(load(options.results, Question.of(options)), options.iterations)

    return write_to_destination("cost_table", make, options, BEGIN, END)


def positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def table(results: Results, iterations: int) -> str:
    runs = results.runs[(results.runs.status == "completed") & results.runs["mode"].isin(MODES)]
    if runs.empty:
        raise InputError(f"{results.directory}: no run of mode {' or '.join(MODES)} is complete")
    by_cap = {str(cap): own for cap, own in runs.groupby(runs[CAP].fillna(NO_COMMON_CAP))}
    rows = [row(cap, [by_cap[cap]], iterations) for cap in sorted(by_cap, key=quantity_key)]
    if len(by_cap) > 1:
        rows.append(row("all", list(by_cap.values()), iterations))
    about = (
        "Run time: from start to end, summed over runs; convergence runs are not included. Training time: "
        f"{iterations} iterations per training run, each as long as in the replays or, without replays, the simulations.\n"
    )
    about += "".join(f"{note}\n" for note in noise_notes(runs))
    source = " · ".join([whole_origin(runs), *meanings_of_marks(runs["fidelity.verdict"])])
    return "\n".join([grid(rows), about, in_markdown(source) + "\n"])


def row(cap: str, by_cap: Sequence[pd.DataFrame], iterations: int) -> dict[str, str]:
    """Returns one line about the runs of one cap or several."""
    runs = pd.concat(by_cap)
    cells = {"cap": cap}
    for mode, unit, seconds in (("replay", "min", 60), ("simulate", "s", 1)):
        own = runs[runs["mode"] == mode]
        cells[f"{mode}: runs"] = str(len(own))
        cells[f"{mode}: run time ({unit})"] = three_digits(wall_time_s(own) / seconds) if len(own) else UNKNOWN
    days = three_digits(iterations * sum(map(iteration_s, by_cap)) / 86400)
    cells["training time (days)"] = days + marks_of(runs)
    return cells


def iteration_s(runs: pd.DataFrame) -> float:
    """Returns the sum of the mean iteration times of one cap's replays; without replays, of its simulations."""
    replays = runs[runs["mode"] == "replay"]
    trained = replays if len(replays) else runs
    return (trained.train_time_s.astype(float) / trained.iterations.astype(float)).sum()


def wall_time_s(runs: pd.DataFrame) -> float:
    began, ended = (pd.to_datetime(runs[f"provenance.{each}_at"]) for each in ("started", "ended"))
    return (ended - began).dt.total_seconds().sum()


if __name__ == "__main__":
    sys.exit(main())
