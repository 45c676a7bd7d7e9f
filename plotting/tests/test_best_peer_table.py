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

TIMES = {"dense": 0.3, "fp16": 0.4, "pactrain": 0.2}


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
        simulated = {**run("fp16", 0.2, count="16", mode="simulate"), "fidelity": None}
        degraded = run("pactrain", 0.2, fidelity={"verdict": "degraded", "checks": []})
        code, text, _ = self.call(run("dense", 0.3), simulated, degraded)
        self.assertEqual(code, 0)
        emulated, other = rows_of(text)
        self.assertEqual((emulated["dense"], emulated["pactrain"], other["fp16"]), ("300", "200†", "200°"))

    def test_seeds_are_averaged(self) -> None:
        seeds = [run("pactrain", exchange_s, seed=seed) for seed, exchange_s in ((1, 0.2), (2, 0.4))]
        code, text, _ = self.call(run("dense", 0.3), run("fp16", 0.6), *seeds)
        self.assertEqual(code, 0)
        (row,) = rows_of(text)
        self.assertEqual((row["pactrain"], row["pactrain: exchange"]), ("300", "2.00×"))

    def test_modes_have_rows_of_their_own(self) -> None:
        times = {"live": (0.6, 0.3), "simulate": (0.8, 0.2)}
        records = [
            run(method, exchange_s, mode=mode)
            for mode, own in times.items()
            for method, exchange_s in zip(("fp16", "pactrain"), own)
        ]
        code, text, _ = self.call(*records, more=("--no-peers",))
        self.assertEqual(code, 0)
        live, simulated = rows_of(text)
        shown = ("mode", "fp16", "pactrain: exchange")
        self.assertEqual([live[each] for each in shown], ["live", "600", "2.00×"])
        self.assertEqual([simulated[each] for each in shown], ["simulate", "800°", "4.00×°"])

    def test_a_factor_has_the_mark_of_either_network(self) -> None:
        degraded = {"fidelity": {"verdict": "degraded", "checks": []}}
        for marked in ("fp16", "pactrain"):
            with self.subTest(marked):
                records = {method: run(method, each) for method, each in TIMES.items()}
                code, text, _ = self.call(*(records | {marked: run(marked, TIMES[marked], **degraded)}).values())
                self.assertEqual(code, 0)
                self.assertEqual(rows_of(text)[0]["pactrain: exchange"], "2.00×†")

    def test_an_exchange_that_was_not_measured_is_unknown(self) -> None:
        records = {method: run(method, each) for method, each in TIMES.items()}
        records["fp16"]["iteration_time_s"]["exchange"] = None
        code, text, err = self.call(*records.values())
        self.assertEqual((code, err), (0, ""))
        (row,) = rows_of(text)
        self.assertEqual((row["fp16"], row["best peer"], row["pactrain: exchange"]), ("-", "-", "-"))

    def test_an_unknown_method_is_wrong_input(self) -> None:
        code, _, err = self.call(run("dense", 0.3), of="pactrian")
        self.assertEqual(code, 2)
        self.assertIn("no complete run of the method pactrian; known: dense", err)


if __name__ == "__main__":
    unittest.main()
