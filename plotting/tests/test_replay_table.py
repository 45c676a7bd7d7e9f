# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from typing import Any, Sequence

import replay_table
from shared.comparison import compare
from shared.load import load

from .records import BEST_ACCURACY, ITERATION_TIME_S, make_converge_record, make_curve, make_record, write


def pair(method: str, factor: float, **axes: str) -> list[dict[str, Any]]:
    """Returns a live run and its replay, which takes `factor` times as long."""
    live = make_record(method, axes={"mode": "live", **axes})
    slower = make_curve(factor * ITERATION_TIME_S[method], BEST_ACCURACY[method])
    replay = make_record(method, axes={"mode": "replay", **axes}, mode="replay", curve=slower)
    return [live, replay]


def rows_of(text: str) -> list[dict[str, str]]:
    """Returns the rows of the first table, by heading."""
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return [dict(zip(lines[0], line)) for line in lines[2:]]


class ReplayTableTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def call(self, *records: dict[str, Any], options: Sequence[str] = ()) -> tuple[int, str, str]:
        for record in records:
            write(self.folder, record)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = replay_table.main([str(self.folder), *options])
        return code, out.getvalue(), err.getvalue()

    def again(self, *records: dict[str, Any]) -> str:
        """Returns a new folder with the records of another turn."""
        folder = self.enterContext(tempfile.TemporaryDirectory())
        for record in records:
            write(Path(folder), record)
        return folder

    def test_a_row_for_each_training_that_was_run_both_ways(self) -> None:
        code, text, err = self.call(*pair("dense", 1.02), make_record("fp16", axes={"mode": "live"}))
        self.assertEqual((code, err), (0, ""))
        rows = rows_of(text)
        self.assertEqual([row["method"] for row in rows], ["dense"])
        self.assertEqual(rows[0]["time to target, replay / live"], "1.02")
        self.assertEqual(rows[0]["iteration, replay / live"], "1.02")
        self.assertEqual((rows[0]["live, iteration (ms)"], rows[0]["replay, iteration (ms)"]), ("800", "816"))
        self.assertEqual(rows[0]["live, exchange / lower bound"], "-")

    def test_a_run_that_missed_the_target_has_cells_for_all_columns(self) -> None:
        missed = pair("topk 0.01", 1.02)  # ends below the target
        for record in (*(reached := pair("dense", 1.02)), *missed):
            record["iteration_time_s"]["cpu"] = 0.1
        for order in ((*reached, *missed), (*missed, *reached)):
            code, text, err = self.call(*order)
            self.assertEqual((code, err), (0, ""))
            cells = {row["method"]: row["replay, CPU (ms)"] for row in rows_of(text)}
            self.assertEqual(cells, {"dense": "100", "topk 0.01": "-"})

    def test_an_emulated_network_is_held_against_the_cluster(self) -> None:
        real = make_record("dense", axes={"mode": "cluster"}, mode="cluster")
        slower = make_curve(1.03 * ITERATION_TIME_S["dense"], BEST_ACCURACY["dense"])
        emulated = make_record("dense", axes={"mode": "live"}, mode="live", curve=slower)
        real["parameters_hash"] = emulated["parameters_hash"] = "00ff"
        code, text, err = self.call(real, emulated)
        self.assertEqual((code, err), (0, ""))
        (row,) = rows_of(text)
        self.assertEqual(row["iteration, live / cluster"], "1.03")
        self.assertIn("1 of 1 times in mode live are within 5 % of mode cluster", text)
        self.assertIn("1 of 1 live runs are equal, bit for bit, to the run on the cluster", text)

    def test_a_page_has_the_table_of_each_folder_in_its_place(self) -> None:
        for record in pair("dense", 1.02):
            write(self.folder / "half", record)
        page = self.folder / "page.md"
        before = "<!-- full: begin -->\nkept\n<!-- full: end -->\n<!-- half: begin -->\n"
        page.write_text(f"{before}lost\n<!-- half: end -->\n")
        self.assertEqual(replay_table.main([str(self.folder / "half"), "--update", str(page)]), 0)
        text = page.read_text()
        self.assertTrue(text.startswith(f"{before}\n| method |"), text)
        self.assertTrue(text.endswith("\n\n<!-- half: end -->\n"), text)
        self.assertNotIn("lost", text)

    def test_an_exchange_is_held_against_its_least_time(self) -> None:
        runs = [{**run, "predicted": {"exchange_time_s": 0.5, "iteration_time_s": None}} for run in pair("dense", 1.0)]
        _, text, _ = self.call(*runs)
        self.assertEqual(rows_of(text)[0]["replay, exchange / lower bound"], "1.20")

    def test_what_the_machine_computed_slower_meanwhile_is_taken_off(self) -> None:
        live, replay = pair("dense", 1.0)
        live["iteration_time_s"]["cpu"], replay["iteration_time_s"]["cpu"] = 0.01, 0.02
        workers_a_core = live["config"]["workers"] / live["provenance"]["cores"]
        _, text, _ = self.call(live, replay)
        (row,) = rows_of(text)
        iterations, time_s = 200, 160
        expected = 1 - iterations * workers_a_core * 0.01 / time_s
        self.assertLess(expected, 1)
        self.assertEqual(row["time to target at the same speed, replay / live"], f"{expected:.2f}")
        self.assertEqual((row["live, CPU (ms)"], row["replay, CPU (ms)"]), ("10.0", "20.0"))
        self.assertIn("if its compute had taken the live run's CPU time", text)

    def test_simulations_are_held_against_replays(self) -> None:
        replay = pair("dense", 1.0)[1]
        faster = make_curve(0.9 * ITERATION_TIME_S["dense"], BEST_ACCURACY["dense"])
        simulation = make_record(
            "dense", axes={"mode": "simulate"}, mode="simulate", curve=faster, fidelity=None
        )
        code, text, err = self.call(replay, simulation)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(rows_of(text)[0]["iteration, simulate / replay"], "0.90")
        self.assertEqual(rows_of(text)[0]["fidelity"], "faithful / -")
        self.assertIn("Iteration: 1 of 1 times in mode simulate are within 10 % of mode replay", text)

    def test_the_summary_counts_replays_within_five_percent(self) -> None:
        _, text, _ = self.call(*pair("dense", 1.02), *pair("topk 0.1", 0.9))
        self.assertIn("Time to target: 1 of 2 times in mode replay are within 5 % of mode live", text)
        self.assertIn("largest deviation is -10.0 %", text)

    def test_the_summary_counts_equal_weights(self) -> None:
        runs = [*pair("dense", 1.0), *pair("topk 0.1", 1.0)]
        for run, weights in zip(runs, ("a", "a", "b", "c")):
            run["parameters_hash"] = weights
        _, text, _ = self.call(*runs)
        self.assertIn("Final weights: 1 of 2 live runs are equal, bit for bit, to the replayed training run", text)

    def test_of_runs_that_took_turns_means_are_compared(self) -> None:
        again = self.again(*pair("dense", 1.08), *pair("fp16", 1.0))
        code, text, err = self.call(*pair("dense", 1.0), *pair("fp16", 1.0), options=[again])
        self.assertEqual((code, err), (0, ""))
        dense = next(row for row in rows_of(text) if row["method"] == "dense")
        self.assertEqual(dense["time to target, replay / live"], "1.04")
        self.assertEqual(dense["fidelity"], "faithful / faithful")
        self.assertIn("Times are means over 2 runs", text)
        self.assertIn(
            "Time to target: 2 of 2 times in mode replay are within 5 % of mode live; the largest deviation is +4.0 %", text
        )
        self.assertIn(
            "Time to target: 3 of 4 single runs of mode replay are within 5 % of the run of mode live beside them; "
            "the largest deviation is +8.0 %",
            text,
        )

    def test_live_runs_are_held_against_their_repetitions(self) -> None:
        live, replay = pair("dense", 1.0)
        slower = make_curve(1.2 * ITERATION_TIME_S["dense"], BEST_ACCURACY["dense"])
        again = self.again(make_record("dense", axes={"mode": "live"}, curve=slower), replay)
        _, text, _ = self.call(live, replay, options=[again])
        self.assertIn(
            "Time to target: 0 of 2 single runs of mode live are within 5 % of the mean of their repetitions; "
            "the largest deviation is +20.0 %",
            text,
        )

    def test_a_run_that_a_folder_lacks_is_named(self) -> None:
        again = self.again(*pair("fp16", 1.0))
        code, _, err = self.call(*pair("dense", 1.0), *pair("fp16", 1.0), options=[again])
        self.assertEqual(code, 2)
        self.assertIn("dense", err)
        self.assertIn(again, err)

    def test_verdicts_that_differ_are_all_told(self) -> None:
        live, replay = pair("dense", 1.0)
        worse = make_record("dense", axes={"mode": "live"})
        worse["fidelity"]["verdict"] = "degraded"
        _, text, _ = self.call(live, replay, options=[self.again(worse, replay)])
        self.assertEqual(rows_of(text)[0]["fidelity"], "faithful, degraded / faithful")

    def test_other_axes_make_tables_of_their_own(self) -> None:
        _, text, _ = self.call(
            *pair("dense", 1.0, **{"bottleneck.rate": "500 Mbit/s"}),
            *pair("dense", 1.0, **{"bottleneck.rate": "100 Mbit/s"}),
        )
        slow, fast = text.index("bottleneck.rate = 100"), text.index("bottleneck.rate = 500")
        self.assertLess(slow, fast)

    def test_without_pairs_it_says_how_to_get_them(self) -> None:
        code, _, err = self.call(make_record("dense"), make_converge_record("dense"))
        self.assertEqual(code, 2)
        self.assertIn('sweep "mode": ["live", "replay"]', err)


class ModesTest(unittest.TestCase):
    def test_replays_are_meant_where_their_convergence_runs_stand_beside_them(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), make_converge_record("dense"), make_record("dense", mode="replay"))
            comparison = compare(load(Path(folder)))
        self.assertEqual(list(comparison.runs["mode"]), ["replay"])


if __name__ == "__main__":
    unittest.main()
