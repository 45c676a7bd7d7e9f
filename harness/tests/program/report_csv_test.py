# SPDX-License-Identifier: Apache-2.0
"""pandas reads the values that `thinpipe report --csv` writes."""
from __future__ import annotations

import io
import json
import tempfile
import unittest
from pathlib import Path

import pandas as pd

from report_program import RECORDS, reference_record, report, run_tests, write_records


class ReportCsvTest(unittest.TestCase):
    def test_holds_the_numbers_of_the_json(self) -> None:
        folder = RECORDS / "quickstart"
        table = pd.read_csv(io.StringIO(report(folder, "--csv")), float_precision="round_trip").set_index("run_id")
        runs = json.loads(report(folder, "--json"))["runs"]
        self.assertEqual(len(table), len(runs))
        for run in runs:
            row = table.loc[run["run_id"]]
            self.assertEqual(row["label.method"], run["labels"]["method"])
            self.assertEqual(row["time_to_accuracy_s"], run["time_to_accuracy_s"])
            self.assertEqual(row["iteration_time_s.mean"], run["iteration_time_s"]["mean"])
            self.assertEqual(row["utilisation.left->middle"], run["utilisation"]["left->middle"])
            self.assertEqual(row["reached"], run["reached"])

    def test_keeps_odd_labels_and_runs_without_numbers(self) -> None:
        odd, failed = reference_record("dense"), reference_record("fp16")
        odd["label"] = odd["labels"]["method"] = 'a, "b"\nc; Größe'
        failed.update(status="failed", curve=[], iteration_time_s=None, fidelity=None)
        failed["error"] = {"kind": "hang", "rank": 1, "message": "worker 1, it hangs", "log_tail": ["x", "y,z"]}
        with tempfile.TemporaryDirectory() as folder:
            table = pd.read_csv(io.StringIO(report(write_records(Path(folder), [odd, failed]), "--csv")))
        self.assertEqual(list(table["label"]), ['a, "b"\nc; Größe', "fp16"])
        self.assertEqual(list(table["status"]), ["completed", "failed"])
        self.assertEqual(table["error.message"][1], "worker 1, it hangs")
        self.assertEqual(json.loads(table["error.log_tail"][1]), ["x", "y,z"])
        self.assertTrue(pd.isna(table["time_to_accuracy_s"][1]))
        self.assertTrue(pd.isna(table["iteration_time_s.mean"][1]))


if __name__ == "__main__":
    run_tests()
