#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One line per committed experiment: where its records come from, and how far they can be trusted."""
from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Sequence

import pandas as pd

from noise import has_measured_time, noise_of
from shared.destination import add_destination, markers_of, write_to_destination
from shared.load import load
from shared.markdown_table import UNKNOWN, grid
from shared.origin import commits, days, listed, machines, seeds
from shared.report import InputError, Question, add_report_options

NOTES = (
    "Judged: networks whose rate was measured on every capped link; the others are neither faithful nor degraded. Noise: "
    "standard deviation of the time to target and of the iteration time over repetitions of one run on the same machine "
    "(scripts/noise.sh)."
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="references_table.py",
        description="List the committed experiments with their origin.",
        epilog="exit codes: 0 made, 1 the table could not be written, 2 wrong input",
    )
    parser.add_argument("results", type=Path, help="the folder with one folder per experiment, results/reference")
    add_report_options(parser)
    add_destination(parser, "<!-- reference: begin -->", "<!-- reference: end -->")
    options = parser.parse_args(arguments)
    make = lambda: table(options.results, Question.of(options))
    return write_to_destination("references_table", make, options, *markers_of(options.results))


def table(results: Path, question: Question) -> str:
    folders = sorted(path.parent for path in results.glob("*/records.jsonl"))
    if not folders:
        raise InputError(f"{results}: no folder in it has a records.jsonl")
    rows = [row_of(folder.name, load(folder, question, every_run=True).runs) for folder in folders]
    return f"{grid(rows)}\n{NOTES}\n"


def row_of(name: str, runs: pd.DataFrame) -> dict[str, str]:
    networks = runs["fidelity.verdict"].dropna()
    degraded = (networks == "degraded").sum()
    judged = (networks != "not judged").sum()
    return {
        "experiment": name,
        "modes": listed(runs["mode"]),
        "runs": str(len(runs)),
        "seeds": seeds(runs),
        "judged": f"{judged} of {len(networks)}" if len(networks) else UNKNOWN,
        "degraded": str(degraded) if len(networks) else UNKNOWN,
        "machine": machines(runs),
        "commit": commits(runs),
        "run on": days(runs),
        "noise": noise_text(runs),
    }


def noise_text(runs: pd.DataFrame) -> str:
    if not has_measured_time(runs).any():
        return UNKNOWN
    noise = noise_of(runs)
    if noise is None:
        return "not measured"
    target = UNKNOWN if noise.time_to_target is None else f"{100 * noise.time_to_target:.2g} %"
    return f"{target}, {100 * noise.iteration_time:.2g} %"


if __name__ == "__main__":
    sys.exit(main())
