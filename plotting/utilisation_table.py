#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tabulates the rate of the bottlenecks at which each method keeps workers computing for half or nine tenths of the time."""
from __future__ import annotations

import math
import sys
from typing import Sequence

import pandas as pd

from links_table import origin
from shared.destination import MARKERS_OF_NAME, markers_of, write_to_destination
from shared.load import Results, load
from shared.markdown_table import grid, in_markdown, records_parser
from shared.rate_trace import rate_text
from shared.report import Question
from utilisation import MARKED, by_rate, rate_for, with_utilisation

ABOUT = (
    "The rate of the bottlenecks from which on a worker computes for that share of an iteration, interpolated between the "
    "rates that were run; waiting is exposed exchange, encoding and decoding included.\n"
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = records_parser(
        "utilisation_table",
        "Tabulate by method the rate at which compute utilisation reaches 50 % and 90 %.",
        "  thinpipe run experiments/utilisation.json\n  python3 plotting/utilisation_table.py results/utilisation",
        MARKERS_OF_NAME,
        "folder of records that sweep bottleneck.rate",
    )
    options = parser.parse_args(arguments)

    def make() -> str:
        return table(load(options.results, Question.of(options)))

    return write_to_destination("utilisation_table", make, options, *markers_of(options.results))


def table(results: Results) -> str:
    timed = results.runs[results.runs["mode"] != "converge"]
    runs = with_utilisation(timed)
    rows = [row(method, by_rate(own)) for method, own in runs.groupby("method", sort=False)]
    order = {method: place for place, method in enumerate(dict.fromkeys(timed.method))}
    rows.sort(key=lambda each: order[each["method"]])
    return "\n".join([grid(rows), ABOUT, in_markdown(origin(runs)) + "\n"])


def row(method: str, utilisation: pd.Series) -> dict[str, str]:
    return {"method": method} | {f"{share:.0%}": cell(utilisation, share) for share in MARKED}


def cell(utilisation: pd.Series, share: float) -> str:
    rate = rate_for(utilisation, share)
    if rate == -math.inf:
        return f"below {rate_text(utilisation.index[0])}"
    return f"above {rate_text(utilisation.index[-1])}" if rate == math.inf else rate_text(rate)


if __name__ == "__main__":
    sys.exit(main())
