# SPDX-License-Identifier: Apache-2.0
"""Reads workers.jsonl, the times of all workers' iterations that `thinpipe run` keeps beside each record.

docs/reference/records.md describes the file."""
from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from shared.report import InputError

FILE_NAME = "workers.jsonl"


@dataclass(frozen=True)
class WorkerIteration:
    """end_s: since training began. exposed_s: the wait for the exchange at the end; None if the trainer does not measure it."""

    end_s: float
    whole_s: float
    exposed_s: float | None


def read_worker_times(path: Path) -> dict[int, dict[int, WorkerIteration]]:
    """Returns each rank's iterations by their number; of an iteration that was repeated after a restart, the last counts.

    Reads a file that may still be written to: an incomplete last line is left out. Returns an empty dictionary if there is no
    file. Raises InputError if a line is something else.
    """
    if not path.exists():
        return {}
    workers: dict[int, dict[int, WorkerIteration]] = {}
    for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
        try:
            read = json.loads(line)
            exposed_s = read["exposed_exchange_s"]
            iteration = WorkerIteration(
                float(read["at_s"]), float(read["iteration_time_s"]), None if exposed_s is None else float(exposed_s)
            )
            workers.setdefault(int(read["rank"]), {})[int(read["iteration"])] = iteration
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}: has a line that is no worker's iteration: {error}") from error
    return dict(sorted(workers.items()))
