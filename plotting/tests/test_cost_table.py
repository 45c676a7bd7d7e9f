# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from typing import Any

import cost_table

from .records import BEST_ACCURACY, ITERATION_TIME_S, make_converge_record, make_curve, make_record, write
from .test_replay_table import rows_of


def run(mode: str, cap: str, ended_at: str, factor: float = 1.0) -> dict[str, Any]:
    """Returns a run that began at 20:00:00, with iterations `factor` times as long as those of dense."""
    curve = make_curve(factor * ITERATION_TIME_S["dense"], BEST_ACCURACY["dense"])
    record = make_record("dense", axes={"mode": mode, "bottleneck.rate": cap}, mode=mode, curve=curve)
    record["provenance"]["ended_at"] = f"2026-11-20T{ended_at}Z"
    return record


class CostTableTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def call(self, *records: dict[str, Any], iterations: str = "86400") -> tuple[int, str, str]:
        write(self.folder, *records)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = cost_table.main([str(self.folder), "--iterations", iterations])
        return code, out.getvalue(), err.getvalue()

    def test_times_to_run_and_to_train_are_summed_by_cap(self) -> None:
        code, text, err = self.call(
            run("replay", "100 Mbit/s", "20:03:00"),
            run("replay", "1 Gbit/s", "20:01:00", factor=0.5),
            run("simulate", "100 Mbit/s", "20:00:02"),
            make_converge_record("dense"),
        )
        self.assertEqual((code, err), (0, ""))
        rows = {row["cap"]: row for row in rows_of(text)}
        self.assertEqual(list(rows), ["100 Mbit/s", "1 Gbit/s", "all"])
        self.assertEqual(rows["100 Mbit/s"]["replay: run time (min)"], "3.00")
        self.assertEqual(rows["100 Mbit/s"]["simulate: run time (s)"], "2.00")
        self.assertEqual(rows["1 Gbit/s"]["simulate: run time (s)"], "-")
        self.assertEqual(rows["all"]["replay: run time (min)"], "4.00")
        self.assertEqual([rows[cap]["training time (days)"] for cap in rows], ["0.800", "0.400", "1.20"])

    def test_caps_with_simulations_only_are_in_the_total(self) -> None:
        _, text, _ = self.call(
            run("replay", "100 Mbit/s", "20:03:00"), run("simulate", "1 Gbit/s", "20:00:02", factor=0.5)
        )
        self.assertEqual([row["training time (days)"] for row in rows_of(text)], ["0.800", "0.400", "1.20"])

    def test_runs_may_have_the_topology_s_caps(self) -> None:
        own = run("simulate", "1 Gbit/s", "20:00:02")
        del own["config"]["bottleneck"]
        code, text, err = self.call(run("replay", "100 Mbit/s", "20:03:00"), own)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual([row["cap"] for row in rows_of(text)], ["100 Mbit/s", "the topology's", "all"])

    def test_live_runs_alone_are_wrong_input(self) -> None:
        code, _, err = self.call(make_record("dense"))
        self.assertEqual(code, 2)
        self.assertIn("no run of mode replay or simulate is complete", err)


if __name__ == "__main__":
    unittest.main()
