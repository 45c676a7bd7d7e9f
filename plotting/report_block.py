#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of `thinpipe report` as a block of code in a page: what a terminal shows.

With several seeds, it is the table over seeds; that of all runs would be too long. The noise of the machine stands below.
"""
from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Sequence

from noise import UNMEASURED, noise_of
from shared.destination import add_destination, markers_of, write_to_destination
from shared.load import load
from shared.report import InputError, Question, find_program

OVER_SEEDS = "over seeds"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="report_block.py",
        description="Put the table that 'thinpipe report' prints into a page, as it looks on a terminal.",
        epilog="exit codes: 0 made, 1 the page could not be written, 2 wrong input",
    )
    parser.add_argument("results", type=Path, help="as for 'thinpipe report', such as results/reference/quickstart")
    parser.add_argument("--thinpipe", type=Path, metavar="FILE", help="the program (default: build/release/thinpipe)")
    add_destination(parser, "<!-- NAME: begin -->", "<!-- NAME: end -->", with_latex=False)
    options = parser.parse_args(arguments)
    return write_to_destination(
        "report_block", lambda: block(options.results, options.thinpipe), options, *markers_of(options.results)
    )


def block(results: Path, thinpipe: Path | None) -> str:
    ended = subprocess.run(
        [find_program(thinpipe), "report", str(results)], capture_output=True, text=True, check=False
    )
    if ended.returncode != 0:
        raise InputError(ended.stderr.strip().removeprefix("thinpipe: "))
    noise = noise_of(load(results, Question(thinpipe=thinpipe)).runs)
    note = f"{noise.sentence()}." if noise else UNMEASURED
    return f"```\n{without_single_runs(ended.stdout).rstrip()}\n{note}\n```\n"


def without_single_runs(report: str) -> str:
    """Leaves out the first table if there is one over seeds."""
    parts = report.split("\n\n")
    return "\n\n".join(parts[1:] if any(part.startswith(OVER_SEEDS) for part in parts) else parts)


if __name__ == "__main__":
    sys.exit(main())
