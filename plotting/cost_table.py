#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tabulates the run time of replays and simulations, and the time of the training runs that they replace."""
from __future__ import annotations

import sys
from typing import Sequence

import pandas as pd

from shared.comparison import quantity_key
from shared.destination import write_to_destination
from shared.load import Results, load
from shared.markdown_table import UNKNOWN, grid, in_markdown, machines, records_parser
from shared.number_text import three_digits
from shared.report import InputError, Question
from shared.small_print import commits, seeds

BEGIN, END = "<!-- cost: begin -->", "<!-- cost: end -->"
MODES = ("replay", "simulate")
CAP = "config.bottleneck.rate"


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
    caps = sorted(runs[CAP].unique(), key=quantity_key)
    rows = [row(cap, runs[runs[CAP] == cap], iterations) for cap in caps]
    if len(caps) > 1:
        rows.append(row("all", runs, iterations))
    about = (
        "Run time: from start to end, summed over runs; convergence runs are not included. Training time: "
        f"{iterations} iterations per training run, each as long as in the replays or, without replays, the simulations.\n"
    )
    return "\n".join([grid(rows), about, in_markdown(f"{seeds(runs)} · cpu {machines(runs)} · commit {commits(runs)}") + "\n"])


def row(cap: str, runs: pd.DataFrame, iterations: int) -> dict[str, str]:
    by_mode = {mode: runs[runs["mode"] == mode] for mode in MODES}
    cells = {"cap": cap}
    for mode, unit, seconds in (("replay", "min", 60), ("simulate", "s", 1)):
        own = by_mode[mode]
        cells[f"{mode}: runs"] = str(len(own))
        cells[f"{mode}: run time ({unit})"] = three_digits(wall_time_s(own) / seconds) if len(own) else UNKNOWN
    trained = by_mode["replay"] if len(by_mode["replay"]) else by_mode["simulate"]
    per_iteration_s = trained.train_time_s.astype(float) / trained.iterations.astype(float)
    cells["training time (days)"] = three_digits(iterations * per_iteration_s.sum() / 86400)
    return cells


def wall_time_s(runs: pd.DataFrame) -> float:
    began, ended = (pd.to_datetime(runs[f"provenance.{each}_at"]) for each in ("started", "ended"))
    return (ended - began).dt.total_seconds().sum()


if __name__ == "__main__":
    sys.exit(main())
