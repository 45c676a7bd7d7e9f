# SPDX-License-Identifier: Apache-2.0
"""Reads links.jsonl, the time series of the capped links that `thinpipe run` keeps beside each record.

docs/reference/records.md describes the file."""
from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shared.report import InputError

FILE_NAME = "links.jsonl"


@dataclass(frozen=True)
class LinkSeries:
    """One run's series. Times are seconds since training began.

    directions: their names, the columns of the arrays below.
    from_s, to_s: of each sample, shape (samples).
    bytes, drops: in each sample, shape (samples, directions). max_queue_bytes: the longest queue in it.
    iterations, evaluations: time of each report, by the number of completed iterations; if an iteration was repeated
             after a restart, of the last report.
    """

    directions: tuple[str, ...]
    from_s: np.ndarray
    to_s: np.ndarray
    bytes: np.ndarray
    max_queue_bytes: np.ndarray
    drops: np.ndarray
    iterations: dict[int, float]
    evaluations: dict[int, float]

    @property
    def end_s(self) -> float:
        """Returns the time of the last sample or report."""
        return max([0.0, *self.to_s[-1:], *self.iterations.values(), *self.evaluations.values()])

    def rates_bit_per_s(self) -> np.ndarray:
        return 8.0 * self.bytes / (self.to_s - self.from_s)[:, np.newaxis]


def read_link_series(path: Path) -> LinkSeries:
    """Reads a file that may still be written to: an incomplete last line is left out. Raises InputError if it is no series."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise InputError(
            f"{path}: is missing: runs before this file existed have none, and neither have those with --link-samples 0 or "
            "without an emulated network"
        ) from error
    lines = text.split("\n")[:-1]  # what follows the last line feed is incomplete
    try:
        head, *rest = (json.loads(line) for line in lines)
        directions = tuple(head["directions"])
        samples = [line for line in rest if "bytes" in line]
        table = {
            key: np.array([line[key] for line in samples], dtype=float).reshape(len(samples), len(directions))
            for key in ("bytes", "max_queue_bytes", "drops")
        }
        times = {key: np.array([line[key] for line in samples], dtype=float) for key in ("from_s", "at_s")}
        marks = {
            key: {int(line[key]): float(line["at_s"]) for line in rest if key in line} for key in ("iteration", "evaluation")
        }
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: is not a time series of links: {error}") from error
    return LinkSeries(directions, times["from_s"], times["at_s"], **table, iterations=marks["iteration"],
                      evaluations=marks["evaluation"])
