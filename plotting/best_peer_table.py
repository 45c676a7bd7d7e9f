#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tabulates the exchange time of each method, and how much longer than the named ones the best other method takes."""
from __future__ import annotations

import math
import sys
from typing import Sequence

import pandas as pd

from links_table import MODES, digits, exchange_ms, iteration_ms, mean_over
from noise import noise_of
from replay_table import axes_of
from shared.comparison import quantity_key, with_modes
from shared.destination import MARKERS_OF_NAME, markers_of, write_to_destination
from shared.figure import marks_of
from shared.load import Results, load
from shared.markdown_table import UNKNOWN, grid, in_markdown, noise_notes, records_parser
from shared.number_text import time_text
from shared.origin import whole_origin
from shared.report import InputError, Question

ABOUT = (
    "Exchange per iteration in ms, the mean over seeds. Best peer: the method with the shortest exchange, without "
    "{left_out}. Exchange, iteration: its time divided by the named method's; above 1 the named method is faster. "
    "°: simulated, †: network emulation degraded, ‡: not judged.\n"
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = records_parser(
        "best_peer_table",
        "Tabulate exchange times by method, and each named method's speed-up over the best of the others.",
        "  thinpipe run experiments/spardl-latency.json\n"
        "  python3 plotting/best_peer_table.py results/spardl-latency --of spardl 'spardl, 2 teams' 'spardl, 7 teams'",
        MARKERS_OF_NAME,
        "folder of records with mode live, replay or simulate",
    )
    parser.add_argument("--of", nargs="+", required=True, metavar="METHOD", help="the methods to compare with the best peer")
    parser.add_argument(
        "--no-peers", nargs="*", default=["dense"], metavar="METHOD", help="methods that are no peers (default: dense)"
    )
    options = parser.parse_args(arguments)

    def make() -> str:
        return table(load(options.results, Question.of(options)), options.of, options.no_peers)

    return write_to_destination("best_peer_table", make, options, *markers_of(options.results))


def table(results: Results, named: Sequence[str], no_peers: Sequence[str]) -> str:
    runs = results.runs[(results.runs.status == "completed") & results.runs["mode"].isin(MODES)]
    if runs.empty:
        raise InputError(f"{results.directory}: no complete run of mode {', '.join(MODES)}")
    methods = list(dict.fromkeys(runs.method))
    if unknown := [name for name in (*named, *no_peers) if name not in methods]:
        raise InputError(f"{results.directory}: no complete run of the method {unknown[0]}; known: {', '.join(methods)}")
    axes = with_modes([axes_of(run) for _, run in runs.iterrows()], runs["mode"])
    settings = [tuple(each.items()) for each in axes]
    by_setting = {setting: runs[[each == setting for each in settings]] for setting in dict.fromkeys(settings)}
    ordered = sorted(by_setting, key=lambda setting: [quantity_key(value) for _, value in setting])
    rows = [row(dict(each), by_setting[each], methods, named, no_peers) for each in ordered]
    about = ABOUT.format(left_out=", ".join((*named, *no_peers)))
    about += "".join(f"{note}\n" for note in noise_notes(runs))
    return "\n".join([grid(rows), about, in_markdown(whole_origin(runs)) + "\n"])


def row(
    setting: dict[str, str], runs: pd.DataFrame, methods: Sequence[str], named: Sequence[str], no_peers: Sequence[str]
) -> dict[str, str]:
    """Returns one line: the setting, every method's exchange, the best peer, and the factors over it."""
    own = dict(list(runs.groupby("method", sort=False)))
    exchange = {method: mean_over(each, exchange_ms) for method, each in own.items()}
    noise = noise_of(runs)
    relative = noise.iteration_time if noise else 0.0
    text, ratio = time_text(relative), time_text(math.sqrt(2.0) * relative)
    cells = setting or {"network": "all"}
    for method in methods:
        cells[method] = digits(text, exchange[method]) + mark(own[method]) if method in own else UNKNOWN
    peers = [method for method in own if method not in (*named, *no_peers) and exchange[method] is not None]
    best = min(peers, key=exchange.__getitem__, default=UNKNOWN)
    cells["best peer"] = best
    for method in named:
        for heading, quantity in (("exchange", exchange_ms), ("iteration", iteration_ms)):
            times = [mean_over(own[name], quantity) for name in (best, method) if name in own]
            known = len(times) == 2 and all(times)
            both = pd.concat([own[best], own[method]]) if known else None
            cells[f"{method}: {heading}"] = f"{digits(ratio, times[0] / times[1])}×{mark(both)}" if known else UNKNOWN
    return cells


def mark(runs: pd.DataFrame) -> str:
    return "°" if (runs["mode"] == "simulate").all() else marks_of(runs)


if __name__ == "__main__":
    sys.exit(main())
