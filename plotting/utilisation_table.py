#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tabulates the rate of the bottlenecks at which each method keeps workers computing for half or nine tenths of the time."""
from __future__ import annotations

import math
import sys
from typing import Sequence

import pandas as pd

from shared.comparison import in_words, with_modes
from shared.destination import MARKERS_OF_NAME, markers_of, write_to_destination
from shared.figure import marks_of
from shared.load import Results, load
from shared.markdown_table import UNKNOWN, grid, in_markdown, records_parser
from shared.origin import whole_origin
from shared.rate_trace import rate_text
from shared.report import Question
from shared.small_print import meanings_of_marks
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
    """Returns a table, or one per mode if there are several, then the notes and the origin."""
    timed = results.runs[results.runs["mode"] != "converge"]
    runs = with_utilisation(timed)
    runs = runs.assign(panel=[in_words(each) for each in with_modes([{}] * len(runs), runs["mode"])])
    parts = []
    for title, panel in runs.groupby("panel"):
        if title:
            parts.append(f"**{in_markdown(title)}**\n")
        by_method = dict(list(panel.groupby("method")))
        order = [method for method in dict.fromkeys(timed.method) if method in by_method]
        parts.append(grid([row(method, by_method[method]) for method in order]))
    source = " · ".join([whole_origin(runs), *meanings_of_marks(runs["fidelity.verdict"])])
    return "\n".join([*parts, ABOUT, in_markdown(source) + "\n"])


def row(method: str, runs: pd.DataFrame) -> dict[str, str]:
    utilisation = by_rate(runs)
    return {"method": method + marks_of(runs)} | {f"{share:.0%}": cell(utilisation, share) for share in MARKED}


def cell(utilisation: pd.Series, share: float) -> str:
    if utilisation.empty:
        return UNKNOWN
    rate = rate_for(utilisation, share)
    if rate == -math.inf:
        return f"below {rate_text(utilisation.index[0])}"
    return f"above {rate_text(utilisation.index[-1])}" if rate == math.inf else rate_text(rate)


if __name__ == "__main__":
    sys.exit(main())
