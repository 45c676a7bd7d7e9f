# SPDX-License-Identifier: Apache-2.0
"""Shared by the Python tests of `thinpipe report`: the program, records for reports, and skipping of tests."""
from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any, NoReturn

PROGRAM = os.environ["THINPIPE_PROGRAM"]
RECORDS = Path(__file__).resolve().parents[1] / "data"
SKIPPED = 77  # CTest's SKIP_RETURN_CODE


def report(*arguments: str | Path) -> str:
    """Returns the standard output of `thinpipe report`. Fails the test if the program fails."""
    ended = subprocess.run([PROGRAM, "report", *map(str, arguments)], capture_output=True, text=True, timeout=60)
    if ended.returncode != 0:
        raise AssertionError(f"thinpipe report ended with {ended.returncode}: {ended.stderr}")
    return ended.stdout


def reference_record(label: str) -> dict[str, Any]:
    """Returns a record of tests/data/quickstart, for the caller to change."""
    for line in (RECORDS / "quickstart" / "records.jsonl").read_bytes().splitlines():
        record = json.loads(line)
        if record["label"] == label:
            return copy.deepcopy(record)
    raise KeyError(label)


def write_records(folder: Path, records: list[dict[str, Any]]) -> Path:
    """Writes records like the harness, of runs one after the other. Returns the experiment's folder."""
    for place, record in enumerate(records):
        record["run_id"] = f"{place:016x}"
        record["provenance"]["started_at"] = f"2026-01-02T{place // 3600:02}:{place // 60 % 60:02}:{place % 60:02}.000Z"
        (folder / record["run_id"]).mkdir(parents=True)
        (folder / record["run_id"] / "run.json").write_text(json.dumps(record))
    return folder


def skip_all(reason: str) -> NoReturn:
    print(f"SKIPPED: {reason}")
    sys.exit(SKIPPED)


def run_tests() -> NoReturn:
    unittest.main(verbosity=2)
