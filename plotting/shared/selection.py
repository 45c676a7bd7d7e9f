# SPDX-License-Identifier: Apache-2.0
"""The options, the same for figures and tables, that select runs and target."""
from __future__ import annotations

import argparse
from pathlib import Path

from shared.report import add_report_options


def add_selection(parser: argparse.ArgumentParser, example: str) -> None:
    """Adds the options that select runs and target."""
    parser.add_argument(
        "results",
        type=Path,
        help=f"folder of an experiment's records, such as {example}, or a file that 'thinpipe export' wrote",
    )
    parser.add_argument(
        "--target",
        metavar="TARGET",
        help="test accuracy to reach, above 0 and at most 1, or a loss, such as test_loss=0.5, "
        "bits_per_byte=2.2 or perplexity=40 (default: the last of the runs' own targets)",
    )
    parser.add_argument(
        "--hold",
        type=int,
        metavar="N",
        help="count the target as reached if N successive evaluations are at it; 1: the first one counts (default: the "
        "runs' own number)",
    )
    parser.add_argument("--mode", help="use the runs of this mode (required if the folder has several modes)")
    parser.add_argument(
        "--where",
        type=axis_value,
        action="append",
        default=[],
        metavar="AXIS=VALUE",
        help="use only runs with this value of a swept axis, such as 'bottleneck.rate=1 Gbit/s'; "
        "repeatable (default: one panel per value)",
    )
    add_report_options(parser)


def axis_value(text: str) -> tuple[str, str]:
    axis, equals, value = text.partition("=")
    if not (axis and equals and value):
        raise argparse.ArgumentTypeError(f"'{text}' must be AXIS=VALUE, such as 'bottleneck.rate=1 Gbit/s'")
    return axis, value
