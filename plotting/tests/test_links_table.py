# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from typing import Any

import links_table

from .records import make_converge_record, make_record, write
from .test_replay_table import rows_of


def run(method: str, busiest_bytes: int, verdict: str = "faithful", seed: int = 1) -> dict[str, Any]:
    record = make_record(method, axes={"ratio": "0.1"}, seed=seed)
    record["traffic"]["wire_bytes"] = {"left->middle": busiest_bytes * record["iterations"], "middle->left": 1}
    record["fidelity"]["verdict"] = verdict
    return record


class LinksTableTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def call(self, *records: dict[str, Any], rows: str = "method") -> tuple[int, str, str]:
        write(self.folder, *records)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = links_table.main([str(self.folder), "--rows", rows])
        return code, out.getvalue(), err.getvalue()

    def test_bytes_are_an_iterations_in_the_busiest_direction(self) -> None:
        code, text, err = self.call(run("dense", 4_000_000), run("fp16", 2_000_000, "degraded"))
        self.assertEqual((code, err), (0, ""))
        rows = {row["method"]: row for row in rows_of(text)}
        self.assertEqual(rows["dense"]["busiest link (kB)"], "4000 (1.00)")
        self.assertEqual(rows["fp16"]["busiest link (kB)"], "2000 (0.500)")
        self.assertEqual(rows["fp16"]["network"], "degraded")
        self.assertIn("ratio = 0.1", text)

    def test_seeds_are_averaged(self) -> None:
        records = [run("dense", 4_000_000), run("dense", 4_000_000, seed=2), run("fp16", 2_000_000)]
        for record, mean_s in zip(records, (0.1, 0.3, 0.1)):
            record["iteration_time_s"]["mean"] = mean_s
        code, text, err = self.call(*records)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual([row["iteration (ms)"] for row in rows_of(text)], ["200 (1.00)", "100 (0.500)"])
        self.assertIn("Means over seeds.", text)

    def test_what_a_replay_warms_up_with_is_no_iterations_bytes(self) -> None:
        code, text, _ = self.call({**run("dense", 4_000_000), "mode": "replay"})
        self.assertEqual(code, 0)
        (row,) = rows_of(text)
        self.assertNotIn("busiest link (kB)", row)
        self.assertNotIn("Busiest link", text)
        self.assertEqual(row["iteration (ms)"].split()[1], "(1.00)")

    def test_rows_may_be_of_another_axis(self) -> None:
        sizes = [make_record("dense", axes={"size": size}) for size in ("100 MiB", "25 MiB")]
        code, text, err = self.call(*sizes, rows="size")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual([row["size"] for row in rows_of(text)], ["25 MiB", "100 MiB"])
        self.assertIn("**method = dense**", text)
        code, _, err = self.call(rows="sise")
        self.assertEqual(code, 2)
        self.assertIn("not every run has an axis sise; the axes are method, size", err)

    def test_an_exchange_that_was_not_measured_has_no_number(self) -> None:
        dense, fp16 = run("dense", 4_000_000), run("fp16", 2_000_000)
        dense["iteration_time_s"]["exchange"] = None
        code, text, err = self.call(dense, fp16)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual([row["exchange (ms)"] for row in rows_of(text)], ["-", "600"])

    def test_modes_have_tables_of_their_own(self) -> None:
        simulated = {**run("dense", 1), "mode": "simulate", "fidelity": None}
        code, text, err = self.call(simulated, run("fp16", 2_000_000))
        self.assertEqual((code, err), (0, ""))
        of_live, simulated = text.split("**ratio = 0.1, mode = simulate**")
        self.assertEqual([rows_of(each)[0]["busiest link (kB)"] for each in (of_live, simulated)], ["2000 (1.00)", "-"])

    def test_a_simulated_network_says_so(self) -> None:
        record = {**run("dense", 1), "mode": "simulate"}
        record["fidelity"] = None
        code, text, _ = self.call(record)
        self.assertEqual(code, 0)
        (row,) = rows_of(text)
        self.assertEqual(row["network"], "simulated")

    def test_runs_without_a_network_are_wrong_input(self) -> None:
        code, _, err = self.call(make_converge_record("dense"))
        self.assertEqual(code, 2)
        self.assertIn("no complete run of mode live, replay, simulate over a network", err)


if __name__ == "__main__":
    unittest.main()
