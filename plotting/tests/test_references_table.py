# SPDX-License-Identifier: Apache-2.0
import tempfile
import unittest
from pathlib import Path

import references_table
from shared.report import InputError, Question

from .records import make_record, write_exported


class ReferencesTableTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_a_line_an_experiment_with_the_share_of_judged_networks(self) -> None:
        records = [make_record("dense", seed=seed) for seed in (1, 2, 3)]
        records[1]["fidelity"]["verdict"] = "not judged"
        records[2]["fidelity"]["verdict"] = "degraded"
        (self.folder / "quickstart").mkdir()
        write_exported(self.folder / "quickstart" / "records.jsonl", *records)
        text = references_table.table(self.folder, Question())
        row = next(line for line in text.splitlines() if line.startswith("| quickstart"))
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        self.assertEqual(cells[1:6], ["live", "3", "seeds 1–3", "2 of 3", "1"])
        self.assertEqual(cells[7:], ["8991000f2c", "2026-11-20", "not measured"])

    def test_runs_of_two_configurations_with_the_same_labels_both_count(self) -> None:
        runs = [make_record("dense"), make_record("dense", axes={"training.epochs": 9})]
        runs[1]["labels"] = runs[0]["labels"]
        self.assertNotEqual(runs[0]["run_id"], runs[1]["run_id"])
        (self.folder / "spardl").mkdir()
        write_exported(self.folder / "spardl" / "records.jsonl", *runs)
        text = references_table.table(self.folder, Question())
        self.assertRegex(text, r"\| spardl \| live \| 2 \|")

    def test_a_folder_without_records_is_refused(self) -> None:
        with self.assertRaisesRegex(InputError, "records.jsonl"):
            references_table.table(self.folder, Question())


if __name__ == "__main__":
    unittest.main()
