# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

import learning_rates_table

from .records import failed_record, make_converge_record, make_curve, write
from .test_replay_table import rows_of

AXIS = "optimiser.learning_rate"


def run(method: str, rate: float, best: float, size: str | None = None, **changes: Any) -> dict[str, Any]:
    axes = {AXIS: f"{rate:g}"} | ({"size": size} if size else {})
    return make_converge_record(method, axes=axes, curve=make_curve(1.0, best), **changes)


class LearningRatesTableTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def call(self, *records: dict[str, Any], options: tuple[str, ...] = ()) -> tuple[int, str, str]:
        write(self.folder / "results", *records)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = learning_rates_table.main([str(self.folder / "results"), *options])
        return code, out.getvalue(), err.getvalue()

    def made(self, *records: dict[str, Any], options: tuple[str, ...] = ()) -> str:
        code, text, err = self.call(*records, options=options)
        self.assertEqual(code, 0, err)
        return text

    def rows(self, *records: dict[str, Any], options: tuple[str, ...] = ()) -> dict[str, dict[str, str]]:
        return {row["method"]: row for row in rows_of(self.made(*records, options=options))}

    def experiment(self, base: dict[str, Any], methods: dict[str, Any]) -> tuple[str, str]:
        path = self.folder / "experiment.json"
        path.write_text(json.dumps({"base": base, "sweep": {"method": methods}}))
        return "--experiment", str(path)

    def test_the_best_rate_is_named(self) -> None:
        records = [run("dense", 0.05, 0.85), run("dense", 0.1, 0.88), run("dense", 0.2, 0.86)]
        row = self.rows(*records, run("fp16", 0.05, 0.84), run("fp16", 0.1, 0.83))["dense"]
        self.assertEqual(row["best"], "0.1")
        self.assertEqual(list(row)[1:4], ["0.05", "0.1", "0.2"])

    def test_the_lowest_of_the_rates_that_are_about_as_good_is_chosen(self) -> None:
        records = [run("dense", 0.05, 0.85), run("dense", 0.1, 0.874), run("dense", 0.2, 0.88)]
        row = self.rows(*records)["dense"]
        self.assertEqual((row["best"], row["chosen"]), ("0.2", "0.1"))

    def test_a_rate_that_a_method_was_not_tried_at_is_unknown(self) -> None:
        rows = self.rows(run("dense", 0.05, 0.85), run("fp16", 0.1, 0.84))
        self.assertEqual((rows["dense"]["0.1"], rows["fp16"]["0.05"]), ("-", "-"))

    def test_a_best_rate_at_the_end_of_the_grid_is_said(self) -> None:
        text = self.made(run("dense", 0.05, 0.85), run("dense", 0.1, 0.88))
        self.assertIn("Best at an end of their rates, so that one beyond may be better: dense.", text)
        text = self.made(run("dense", 0.05, 0.85), run("dense", 0.1, 0.88), run("dense", 0.2, 0.86))
        self.assertNotIn("Best at an end", text)

    def test_a_failed_run_is_not_the_best(self) -> None:
        failed = failed_record("dense", axes={AXIS: "0.4"}, mode="converge", experiment="convergence")
        row = self.rows(run("dense", 0.1, 0.88), failed)["dense"]
        self.assertEqual((row["0.4"], row["best"]), ("failed", "0.1"))

    def test_methods_that_are_not_in_the_grid_are_untuned(self) -> None:
        options = self.experiment(
            {"optimiser": {"learning_rate": 0.1}},
            {"dense": {}, "zen": {}, "fp16": {"optimiser": {"learning_rate": 0.4}}},
        )
        records = [run("dense", 0.05, 0.85), run("dense", 0.1, 0.88), run("fp16", 0.1, 0.84)]
        text = self.made(*records, options=options)
        self.assertIn("Untuned, because they are not in the grid: zen.", text)
        self.assertIn("Used with another rate than the chosen one: fp16.", text)
        self.assertEqual(self.rows(*records, options=options)["fp16"]["used"], "0.4")

    def test_seeds_are_averaged(self) -> None:
        records = [run("dense", 0.1, best, seed=seed) for seed, best in ((1, 0.86), (2, 0.88))]
        finals = [record["curve"][-1]["test_accuracy"] for record in records]
        self.assertEqual(self.rows(*records)["dense"]["0.1"], f"{50 * sum(finals):.1f}")

    def test_a_method_whose_runs_failed_was_in_the_grid(self) -> None:
        failed = failed_record("fp16", axes={AXIS: "0.1"}, mode="converge", experiment="convergence")
        options = self.experiment({}, {"dense": {}, "fp16": {}})
        text = self.made(run("dense", 0.1, 0.88), failed, options=options)
        self.assertNotIn("Untuned", text)
        self.assertIn("Without a best rate, because runs failed at each rate: fp16.", text)

    def test_other_axes_have_tables_of_their_own(self) -> None:
        records = [run("dense", 0.1, best, size) for size, best in (("8", 0.88), ("16", 0.80))]
        tables = self.made(*records).split("**size = 16**")
        finals = [record["curve"][-1]["test_accuracy"] for record in records]
        self.assertEqual([rows_of(each)[0]["0.1"] for each in tables], [f"{100 * final:.1f}" for final in finals])

    def test_together_one_rate_is_chosen_by_the_mean(self) -> None:
        # Each size has another best rate; the middle one is the best for both.
        levels = {"8": (0.88, 0.87, 0.80), "16": (0.70, 0.79, 0.80)}
        records = [
            run("dense", rate, best, size)
            for size, of_size in levels.items()
            for rate, best in zip((0.1, 0.2, 0.4), of_size)
        ]
        finals = [records[index]["curve"][-1]["test_accuracy"] for index in (1, 4)]
        options = ("--together", *self.experiment({"optimiser": {"learning_rate": 0.1}}, {"dense": {}}))
        first, second, mean = self.made(*records, options=options).split("**")[2::2]
        for each in (first, second):
            self.assertEqual(list(rows_of(each)[0]), ["method", "0.1", "0.2", "0.4"])
            self.assertNotIn("Chosen", each)
        row = rows_of(mean)[0]
        self.assertEqual(row["0.2"], f"{50 * sum(finals):.1f}")
        self.assertEqual((row["best"], row["chosen"], row["used"]), ("0.2", "0.2", "0.1"))
        self.assertIn("Used with another rate than the chosen one: dense.", mean)

    def test_together_a_failed_run_has_no_mean(self) -> None:
        failed = failed_record("dense", axes={AXIS: "0.2", "size": "16"}, mode="converge", experiment="convergence")
        records = [run("dense", rate, 0.8, "8") for rate in (0.1, 0.2)] + [run("dense", 0.1, 0.7, "16"), failed]
        row = rows_of(self.made(*records, options=("--together",)).split("**")[-1])[0]
        self.assertEqual((row["0.2"], row["best"]), ("failed", "0.1"))

    def test_an_experiment_without_methods_is_wrong_input(self) -> None:
        path = self.folder / "no.json"
        path.write_text("{}")
        code, _, err = self.call(run("dense", 0.1, 0.86), options=("--experiment", str(path)))
        self.assertEqual(code, 2)
        self.assertIn(f"--experiment {path}: cannot read the methods", err)

    def test_results_without_the_axis_are_wrong_input(self) -> None:
        code, _, err = self.call(make_converge_record("dense"))
        self.assertEqual(code, 2)
        self.assertIn("not every run has an axis optimiser.learning_rate", err)
