# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from typing import Any

import best_peer_table

from .records import make_record, write
from .test_replay_table import rows_of


def run(method: str, exchange_s: float, count: str = "8", **changes: Any) -> dict[str, Any]:
    record = make_record(method, axes={"count": count}, **changes)
    record["iteration_time_s"] |= {"exchange": exchange_s, "mean": exchange_s + 0.1}
    return record


class BestPeerTableTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def call(self, *records: dict[str, Any], of: str = "pactrain", more: tuple[str, ...] = ()) -> tuple[int, str, str]:
        write(self.folder, *records)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = best_peer_table.main([str(self.folder), *more, "--of", of])
        return code, out.getvalue(), err.getvalue()

    def test_the_best_peer_is_neither_named_nor_left_out(self) -> None:
        times = {"dense": 0.1, "topk 0.1": 0.8, "topk 0.01": 0.4, "pactrain": 0.2}
        code, text, err = self.call(*(run(method, exchange_s) for method, exchange_s in times.items()))
        self.assertEqual((code, err), (0, ""))
        (row,) = rows_of(text)
        self.assertEqual((row["count"], row["topk 0.1"], row["pactrain"]), ("8", "800", "200"))
        self.assertEqual(row["best peer"], "topk 0.01")
        self.assertEqual((row["pactrain: exchange"], row["pactrain: iteration"]), ("2.00×", "1.67×"))
        self.assertIn("without pactrain, dense", text)
        code, text, _ = self.call(more=("--no-peers", "topk 0.1"))
        self.assertEqual((code, rows_of(text)[0]["best peer"]), (0, "dense"))

    def test_each_setting_has_a_row_in_the_order_of_its_numbers(self) -> None:
        records = [run(method, 0.2, count) for count in ("14", "6") for method in ("dense", "fp16", "pactrain")]
        code, text, _ = self.call(*records[:-1])
        self.assertEqual(code, 0)
        six, fourteen = rows_of(text)
        self.assertEqual((six["count"], six["pactrain"], six["pactrain: exchange"]), ("6", "-", "-"))
        self.assertEqual((fourteen["count"], fourteen["pactrain: exchange"]), ("14", "1.00×"))

    def test_networks_that_are_not_faithful_are_marked(self) -> None:
        simulated = {**run("fp16", 0.2, mode="simulate"), "fidelity": None}
        degraded = run("pactrain", 0.2, fidelity={"verdict": "degraded", "checks": []})
        code, text, _ = self.call(run("dense", 0.3), simulated, degraded)
        self.assertEqual(code, 0)
        (row,) = rows_of(text)
        self.assertEqual((row["dense"], row["fp16"], row["pactrain"]), ("300", "200°", "200†"))

    def test_an_unknown_method_is_wrong_input(self) -> None:
        code, _, err = self.call(run("dense", 0.3), of="pactrian")
        self.assertEqual(code, 2)
        self.assertIn("no complete run of the method pactrian; known: dense", err)


if __name__ == "__main__":
    unittest.main()
