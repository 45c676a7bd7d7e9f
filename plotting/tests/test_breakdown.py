# SPDX-License-Identifier: Apache-2.0
from typing import Any

from matplotlib.axes import Axes

import breakdown
from shared.iteration_parts import OF_COMMUNICATION_THREAD, OF_TRAINING_THREAD

from .figure_test import FigureTest, legend_texts, small_print
from .records import make_record, write


def run(method: str, **members: Any) -> dict[str, Any]:
    record = make_record(method, **{name: value for name, value in members.items() if name not in TIMES})
    record["iteration_time_s"].update({name: value for name, value in members.items() if name in TIMES})
    return record


TIMES = ("mean", "load", "compute", "encode", "exchange", "decode", "exposed_exchange")
DENSE = {"mean": 0.5, "load": 0.01, "compute": 0.04, "exposed_exchange": 0.45, "encode": 0.0, "exchange": 0.47, "decode": 0.0}
TOPK = {"mean": 0.1, "load": 0.01, "compute": 0.04, "exposed_exchange": 0.05, "encode": 0.02, "exchange": 0.03, "decode": 0.01}


def bars(axes: Axes, part: str) -> list[tuple[float, float]]:
    """Returns the beginnings and lengths of the part's bars, in ms, by row."""
    found = [patch for patch in axes.patches if patch.get_gid() == part]
    return [(round(bar.get_x(), 6), round(bar.get_width(), 6)) for bar in sorted(found, key=lambda bar: bar.get_y())]


def words(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


class BreakdownTest(FigureTest):
    def test_the_training_threads_parts_make_up_the_iteration(self) -> None:
        (axes,) = breakdown.draw(self.compared(run("dense", **DENSE), run("topk 0.01", **TOPK))).axes
        self.assertEqual(bars(axes, "compute"), [(0.0, 40.0), (0.0, 40.0)])
        self.assertEqual(bars(axes, "load"), [(40.0, 10.0), (40.0, 10.0)])
        self.assertEqual(bars(axes, "exposed_exchange"), [(50.0, 450.0), (50.0, 50.0)])
        self.assertEqual([text.get_text() for text in axes.get_yticklabels()], ["dense", "topk 0.01"])
        self.assertEqual(words(axes), ["500 ms, 90 %", "100 ms, 50 %"])

    def test_the_communication_thread_may_take_longer_than_the_wait(self) -> None:
        (axes,) = breakdown.draw(self.compared(run("topk 0.01", **TOPK))).axes
        self.assertEqual(bars(axes, "encode"), [(0.0, 20.0)])
        self.assertEqual(bars(axes, "exchange"), [(20.0, 30.0)])
        self.assertEqual(bars(axes, "decode"), [(50.0, 10.0)])

    def test_a_bar_is_the_mean_over_seeds(self) -> None:
        runs = [run("dense", seed=seed, **{**DENSE, "mean": mean, "exposed_exchange": mean - 0.05})
                for seed, mean in ((1, 0.4), (2, 0.6))]  # fmt: skip
        figure = breakdown.draw(self.compared(*runs))
        self.assertEqual(bars(figure.axes[0], "exposed_exchange"), [(50.0, 450.0)])
        self.assertEqual(words(figure.axes[0]), ["500 ms, 90 %"])
        self.assertIn("means over seeds", small_print(figure))

    def test_bars_of_all_panels_have_one_scale(self) -> None:
        runs = [run("dense", **{**DENSE, "mean": mean}, axes={"bottleneck.rate": rate})
                for rate, mean in (("100 Mbit/s", 0.5), ("1 Gbit/s", 0.06))]  # fmt: skip
        figure = breakdown.draw(self.compared(*runs))
        self.assertEqual(len({axes.get_xlim() for axes in figure.axes}), 1)

    def test_without_parts_there_is_the_whole_iteration(self) -> None:
        unknown = dict.fromkeys(TIMES, None) | {"mean": 0.3, "load": 0.0}
        (axes,) = breakdown.draw(self.compared(run("dense", **unknown))).axes
        self.assertEqual(bars(axes, "mean"), [(0.0, 300.0)])
        self.assertEqual([patch.get_gid() for patch in axes.patches], ["mean"])
        self.assertEqual(words(axes), ["300 ms"])

    def test_the_legend_has_what_can_be_seen(self) -> None:
        figure = breakdown.draw(self.compared(run("dense", **DENSE)))
        self.assertEqual(legend_texts(figure), ["compute", "waits for its batch", "waits for the exchange (%)", "collectives"])
        every = breakdown.draw(self.compared(run("dense", **DENSE), run("topk 0.01", **TOPK)))
        self.assertEqual(len(legend_texts(every)), len(OF_TRAINING_THREAD + OF_COMMUNICATION_THREAD))

    def test_a_failed_method_and_a_degraded_network_are_told(self) -> None:
        failed = run("fp16", status="failed", error={"kind": "crash", "message": "it died"})
        degraded = run("dense", fidelity={"verdict": "degraded", "checks": []}, **DENSE)
        figure = breakdown.draw(self.compared(degraded, failed))
        self.assertEqual(words(figure.axes[0]), ["500 ms, 90 %†", "failed"])
        self.assertIn("† network emulation degraded", small_print(figure))

    def test_the_program_draws_it(self) -> None:
        write(self.directory, run("dense", **DENSE))
        self.assertEqual(self.program(breakdown), (0, ""))
        self.assertTrue((self.directory / "breakdown.png").is_file())

    def test_without_a_completed_run_there_is_no_figure(self) -> None:
        write(self.directory, run("dense", status="failed", error={"kind": "crash", "message": "it died"}))
        code, error = self.program(breakdown)
        self.assertEqual(code, 2)
        self.assertIn("no completed run has times of iterations", error)
