# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from typing import Any

import predictions_table

from .records import BEST_ACCURACY, ITERATION_TIME_S, make_curve, make_record, write
from .test_replay_table import rows_of

MACHINE = {
    "path": None,
    "hash": None,
    "cores": 2.0,
    "workers_per_machine": 8,
    "communication_first": True,
    "core_s_per_message": 2e-5,
    "core_s_per_byte": 1e-9,
    "core_s_per_capped_byte": 4e-9,
    "balancing_s": 0.003,
}
REPLAY = {"convergence_run": "0123456789abcdef", "compute_profile": None, "compute_emulation": None, "classes": None}


def run(mode: str, factor: float, method: str = "dense", label: str = "") -> dict[str, Any]:
    """Returns a run that takes `factor` times as long as a live run."""
    curve = make_curve(factor * ITERATION_TIME_S[method], BEST_ACCURACY[method])
    return make_record(method, axes={"mode": label or mode}, mode=mode, curve=curve)


class PredictionsTableTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def call(self, *records: dict[str, Any]) -> tuple[int, str, str]:
        for record in records:
            write(self.folder, record)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = predictions_table.main([str(self.folder)])
        return code, out.getvalue(), err.getvalue()

    def test_each_prediction_is_compared_with_live_runs(self) -> None:
        live = run("live", 1.0)
        live["predicted"] = {"exchange_time_s": 0.5, "iteration_time_s": 0.5 * ITERATION_TIME_S["dense"]}
        with_machine = run("simulate", 0.93, label="simulate, machine")
        with_machine["replay"] = {**REPLAY, "machine": MACHINE}
        code, text, err = self.call(
            live, run("live", 1.0, "fp16"), run("replay", 1.02), run("simulate", 0.7), run("simulate", 0.9, "fp16"), with_machine
        )
        self.assertEqual((code, err), (0, ""))
        found = [tuple(row.values()) for row in rows_of(text)]
        self.assertEqual([each[0] for each in found[:2]], ["plan", "simulate"])
        self.assertEqual(found[0][2:], ("1", "0", "0", "0.50", "0.50", "0.50"))
        self.assertEqual(found[1][2:], ("2", "0", "1", "0.70", "0.80", "0.90"))
        self.assertEqual(found[2][2:], ("1", "0", "1", "0.93", "0.93", "0.93"))
        self.assertEqual(found[3][2:], ("1", "1", "1", "1.02", "1.02", "1.02"))

    def test_a_prediction_that_was_not_made_has_no_numbers(self) -> None:
        _, text, _ = self.call(run("live", 1.0))
        self.assertEqual([row["median ratio"] for row in rows_of(text)], ["-"] * 4)

    def test_without_live_runs_there_is_nothing_to_compare_with(self) -> None:
        code, text, err = self.call(run("replay", 1.0))
        self.assertEqual((code, text), (2, ""))
        self.assertIn("no live run reached its target", err)


if __name__ == "__main__":
    unittest.main()
