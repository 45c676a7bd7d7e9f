# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import math
from typing import Any

import pandas as pd

import utilisation
import utilisation_table

from .figure_test import FigureTest, legend_texts, small_print
from .records import make_record, write
from .test_replay_table import rows_of


def run(method: str, rate: str, computes: float, **members: Any) -> dict[str, Any]:
    """A run that computes for that share of an iteration."""
    record = make_record(method, axes={"bottleneck.rate": rate}, **members)
    record["iteration_time_s"]["exposed_exchange"] = (1.0 - computes) * record["iteration_time_s"]["mean"]
    return record


RUNS = [
    run("dense", "10 Mbit/s", 0.1),
    run("dense", "1 Gbit/s", 0.9),
    run("topk 0.01", "1 Gbit/s", 0.95),
    run("topk 0.01", "10 Mbit/s", 0.6),
]


class UtilisationTest(FigureTest):
    def table(self, *records: dict[str, Any]) -> str:
        write(self.directory, *records)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            self.assertEqual(utilisation_table.main([str(self.directory)]), 0)
        return out.getvalue()

    def test_the_rate_is_interpolated_by_its_logarithm(self) -> None:
        curve = pd.Series({1e7: 0.1, 1e9: 0.9})
        self.assertAlmostEqual(utilisation.rate_for(curve, 0.5), 1e8)
        self.assertAlmostEqual(utilisation.rate_for(curve, 0.9), 1e9)
        self.assertEqual(utilisation.rate_for(curve, 0.95), math.inf)
        self.assertEqual(utilisation.rate_for(curve, 0.05), -math.inf)

    def test_the_rate_is_the_one_from_which_on_utilisation_stays(self) -> None:
        curve = pd.Series({1e6: 0.6, 1e7: 0.1, 1e9: 0.9})
        self.assertAlmostEqual(utilisation.rate_for(curve, 0.5), 1e8)
        self.assertEqual(utilisation.rate_for(pd.Series({1e6: 0.6, 1e7: 0.1}), 0.5), math.inf)

    def test_the_picture_has_a_curve_per_method(self) -> None:
        write(self.directory, *RUNS)
        code, error = self.program(utilisation)
        self.assertEqual((code, error), (0, ""))
        self.assertTrue((self.directory / "utilisation.png").is_file())

    def test_curves_go_from_low_to_high_rates(self) -> None:
        figure = utilisation.draw(self.compared(*RUNS, panels=utilisation.of_all_rates))
        self.assertEqual(legend_texts(figure), ["dense", "topk 0.01"])
        (line,) = [line for line in figure.axes[0].get_lines() if line.get_label() == "topk 0.01"]
        self.assertEqual(list(line.get_xdata()), [1e7, 1e9])
        self.assertEqual([round(value, 9) for value in line.get_ydata()], [0.6, 0.95])

    def test_methods_do_not_differ_in_the_rate_of_the_axis(self) -> None:
        figure = utilisation.draw(self.compared(*RUNS, panels=utilisation.of_all_rates))
        self.assertNotIn("also differ", small_print(figure))

    def test_networks_that_are_not_faithful_are_marked(self) -> None:
        degraded = run("dense", "10 Mbit/s", 0.1, fidelity={"verdict": "degraded", "checks": []})
        figure = utilisation.draw(self.compared(degraded, *RUNS[1:], panels=utilisation.of_all_rates))
        self.assertEqual(legend_texts(figure), ["dense†", "topk 0.01"])
        text = self.table(degraded, *RUNS[1:])
        self.assertEqual([row["method"] for row in rows_of(text)], ["dense†", "topk 0.01"])
        self.assertIn("† network emulation degraded", text)

    def test_modes_have_tables_of_their_own(self) -> None:
        simulated = [run("dense", rate, 0.95, mode="simulate") for rate in ("10 Mbit/s", "1 Gbit/s")]
        text = self.table(*RUNS[:2], *simulated)
        tables = text.split("**mode = simulate**")
        self.assertEqual([rows_of(each)[0]["50%"] for each in tables], ["100 Mbit/s", "below 10 Mbit/s"])

    def test_a_utilisation_that_was_not_measured_is_unknown(self) -> None:
        records = [run("fp16", rate, 0.5) for rate in ("10 Mbit/s", "1 Gbit/s")]
        for record in records:
            record["iteration_time_s"]["exposed_exchange"] = None
        self.assertEqual([row["50%"] for row in rows_of(self.table(*RUNS[:2], *records))], ["100 Mbit/s", "-"])

    def test_another_axis_is_refused(self) -> None:
        write(self.directory, make_record("dense", axes={"ratio": "0.1"}))
        code, error = self.program(utilisation)
        self.assertEqual(code, 2)
        self.assertIn("every run must sweep bottleneck.rate and the method only, but one has ratio", error)

    def test_the_table_says_where_a_method_lies_outside_of_the_rates(self) -> None:
        dense, topk = rows_of(self.table(*RUNS))
        self.assertEqual((dense["50%"], dense["90%"]), ("100 Mbit/s", "1 Gbit/s"))
        self.assertEqual((topk["50%"], topk["90%"]), ("below 10 Mbit/s", "518 Mbit/s"))
