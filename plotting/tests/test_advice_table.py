# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from typing import Any

import advice_table

from .records import make_converge_record, make_record, write


def rows_of(text: str) -> list[dict[str, str]]:
    """Returns the rows of all tables, by heading."""
    rows, head = [], []
    for line in text.splitlines():
        cells = line.strip("| ").split(" | ")
        if not line.startswith("|"):
            head = []
        elif not head:
            head = cells
        else:
            rows.append(dict(zip(head, cells)))
    return rows


def live(method: str, exchange_s: float, measured_s: float, **changes: Any) -> dict[str, Any]:
    """A run whose compute takes 0.12 s; it has no more than one bucket."""
    record = make_record(method, **changes)
    record["plan"] = {"bucket_bytes": [4000], "gradient_bytes": 4000, "all_reduce_compatible": True}
    record["predicted"] = {"exchange_time_s": exchange_s, "iteration_time_s": 0.1}
    record["iteration_time_s"]["mean"] = measured_s
    record["config"]["bottleneck"] = {"rate": "100 Mbit/s"}
    return record


class AdviceTableTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory())) / "quickstart"

    def call(self, *records: dict[str, Any], arguments: tuple[str, ...] = ()) -> tuple[int, str, str]:
        write(self.folder, *records)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = advice_table.main([str(self.folder), *arguments])
        return code, out.getvalue(), err.getvalue()

    def test_predictions_stand_beside_measurements(self) -> None:
        code, text, err = self.call(live("dense", 0.88, 1.1), live("pactrain", 0.08, 0.4))
        self.assertEqual((code, err), (0, ""))
        rows = rows_of(text)
        dense, pactrain = (next(row for row in rows if row.get("run") == name) for name in ("dense", "pactrain"))
        self.assertRegex(dense["100 Mbit/s"], r"^1\d\d\d / 1100: 1\.\d\d")
        self.assertIn("/ 400: ", pactrain["100 Mbit/s"])
        every = next(row for row in rows if row.get("measured / predicted") == "all")
        self.assertEqual(every["runs"], "2")
        self.assertEqual(every["worst run"], "pactrain")
        self.assertIn("commit 8991000f2c", text)

    def test_what_limits_a_run_is_told_apart(self) -> None:
        rows = [
            {"exchange_time_s": 0.9, "predicted_iteration_time_s": 1.0, "measured_iteration_time_s": 1.1},
            {"exchange_time_s": 0.1, "predicted_iteration_time_s": 1.0, "measured_iteration_time_s": 0.4},
        ]
        cells = advice_table.summary([{**row, "label": str(i), advice_table.BEATS: None} for i, row in enumerate(rows)])
        self.assertEqual((cells["network-limited"], cells["others"]), ("1.10", "0.40"))
        self.assertEqual((cells["worst"], cells["worst run"]), ("0.40", "1"))

    def test_the_choice_between_a_method_and_dense_is_judged(self) -> None:
        code, text, _ = self.call(live("dense", 0.88, 1.1), live("fp16", 0.44, 0.6), live("pactrain", 0.08, 1.2))
        self.assertEqual(code, 0)
        every = next(row for row in rows_of(text) if row.get("measured / predicted") == "all")
        self.assertEqual(every["right about beating dense"], "1 of 2", "pactrain was predicted to be faster")

    def test_seeds_are_one_row(self) -> None:
        runs = [live("dense", 0.88, time_s, seed=seed) for seed, time_s in ((1, 1.0), (2, 1.2))]
        for run in runs:
            run["labels"]["seed"] = str(run["config"]["seed"])
        _, text, _ = self.call(*runs)
        (dense,) = (row for row in rows_of(text) if row.get("run") == "dense")
        self.assertIn("/ 1100: ", dense["100 Mbit/s"])

    def test_a_run_that_is_not_predicted_has_its_reason(self) -> None:
        changing = live("dense", 0.88, 1.0)
        changing["config"]["rate_trace"] = {"file": "wifi"}
        code, text, _ = self.call(changing)
        self.assertEqual(code, 0)
        self.assertIn("Not predicted: its network changed (1 runs).", text)

    def test_folders_of_one_name_stand_together(self) -> None:
        other = self.folder.parent / "again" / "quickstart"
        write(other, live("fp16", 0.44, 0.6))
        code, text, err = self.call(live("dense", 0.88, 1.1), arguments=(str(other),))
        self.assertEqual((code, err), (0, ""))
        runs = {row["measured / predicted"]: row["runs"] for row in rows_of(text) if row.get("measured / predicted", ":").isalpha()}
        self.assertEqual(runs, {"quickstart": "2", "all": "2"})

    def test_a_script_s_method_is_not_known(self) -> None:
        row = {"synchroniser": None, "predicted_iteration_time_s": None}
        known = {"synchroniser": {"name": "dense"}, "label": "dense", "predicted_iteration_time_s": 1.0,
                 "measured_iteration_time_s": 1.1, "exchange_time_s": 0.9, advice_table.BEATS: None}  # fmt: skip
        self.assertEqual([each["method"] for each in advice_table.by_method([row, known])], ["dense"])

    def test_records_without_live_runs_are_wrong_input(self) -> None:
        code, _, err = self.call(make_converge_record("dense"))
        self.assertEqual(code, 2)
        self.assertIn("none has live runs", err)

    def test_the_table_replaces_the_one_in_a_page(self) -> None:
        page = self.folder.parent / "advise.md"
        page.write_text(f"before\n{advice_table.BEGIN}\nolder\n{advice_table.END}\nafter\n", encoding="utf-8")
        code, out, _ = self.call(live("dense", 0.88, 1.1), arguments=("--update", str(page)))
        self.assertEqual((code, out), (0, ""))
        text = page.read_text(encoding="utf-8")
        self.assertNotIn("older", text)
        self.assertIn("| dense |", text)


if __name__ == "__main__":
    unittest.main()
