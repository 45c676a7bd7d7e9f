# SPDX-License-Identifier: Apache-2.0
from typing import Any

import fig3
import fig5
import fig6
from shared.comparison import Comparison, compare
from shared.load import load
from shared.report import InputError

from .figure_test import FigureTest, drawn, legend_texts, small_print
from .records import (
    TEXT_TARGET,
    failed_record,
    make_converge_record,
    make_curve,
    make_record,
    make_text_curve,
    write,
)

CAPS = ("100 Mbit/s", "1 Gbit/s")
MODELS = ("resnet", "small_cnn")


def run(method: str, model: str, cap: str, factor: float = 1.0, **changes: Any) -> dict[str, Any]:
    """Returns a run with iterations of 0.8 s times `factor`, a tenth of that at 1 Gbit/s."""
    iteration_s = 0.8 * factor * (0.1 if cap == "1 Gbit/s" else 1.0)
    changes.setdefault("curve", make_curve(iteration_s, 0.868))
    return make_record(method, axes={"model": model, "bottleneck.rate": cap}, model=model, **changes)


class Fig3Test(FigureTest):
    def compared_by_model(self, *records: dict[str, Any]) -> Comparison:
        panels = lambda runs: fig3.panel_a_cell(runs, fig3.MODELS)
        return compare(load(write(self.directory, *records)), panels=panels)

    def grid(self) -> list[dict[str, Any]]:
        return [
            run(method, model, cap, factor)
            for model in MODELS
            for cap in CAPS
            for method, factor in (("dense", 1.0), ("fp16", 0.5))
        ]

    def test_dots_are_times_over_denses_of_the_same_model_and_cap(self) -> None:
        figure = fig3.draw(self.compared_by_model(*self.grid()))
        self.assertEqual([axes.get_title() for axes in figure.axes], list(MODELS))
        for axes in figure.axes:
            self.assertEqual(drawn(axes, "mean", upright=True), [[1.0], [0.5], [1.0], [0.5]])
        self.assertEqual(figure.axes[0].get_ylim(), figure.axes[1].get_ylim())
        self.assertEqual([text.get_text() for text in figure.axes[0].get_xticklabels()], list(CAPS))
        self.assertEqual([text.get_text() for text in figure.legends[0].get_texts()], ["dense", "fp16"])
        self.assertNotIn("also differ", small_print(figure))

    def test_what_has_no_time_says_why(self) -> None:
        never = run("topk 0.01", "resnet", CAPS[0], curve=make_curve(0.1, 0.7))
        figure = fig3.draw(self.compared_by_model(*self.grid(), never))
        words = [text.get_text() for text in figure.axes[0].texts]
        self.assertIn("not reached", words)
        self.assertIn("not run", words)
        self.assertIn("0.50", words)

    def test_a_baseline_that_did_not_get_there_gives_a_bound(self) -> None:
        records = [record for record in self.grid() if record["labels"]["method"] != "dense"]
        slow = [run("dense", model, cap, curve=make_curve(0.8, 0.7)) for model in MODELS for cap in CAPS]
        figure = fig3.draw(self.compared_by_model(*records, *slow))
        self.assertTrue(any(text.get_text().startswith("≤ ") for text in figure.axes[0].texts))

    def test_runs_are_dots_and_the_mark_is_of_one_cell(self) -> None:
        records = self.grid() + [run("fp16", "resnet", CAPS[0], seed=2), run("dense", "resnet", CAPS[0], seed=2)]
        records[0]["fidelity"]["verdict"] = "degraded"  # of dense in the first cell
        figure = fig3.draw(self.compared_by_model(*records))
        self.assertEqual(drawn(figure.axes[0], "runs", upright=True), [[1.0, 1.0], [0.5, 1.0]])
        self.assertEqual(drawn(figure.axes[0], "interval", upright=True), [[1.0, 1.0], [0.5, 1.0]])
        words = [text.get_text() for text in figure.axes[0].texts]
        self.assertEqual(words, ["†", "1.00†", "†", "0.71†", "1.00", "0.50"])
        self.assertEqual([text.get_text() for text in figure.legends[0].get_texts()], ["dense", "fp16"])

    def test_a_run_that_did_not_get_there_is_a_bound(self) -> None:
        records = [run(method, "resnet", CAPS[0], seed=seed) for method in ("dense", "fp16") for seed in (1, 2)]
        records[3] = run("fp16", "resnet", CAPS[0], seed=2, curve=make_curve(0.8, 0.7))
        figure = fig3.draw(self.compared_by_model(*records))
        words = [text.get_text() for text in figure.axes[0].texts]
        self.assertIn(f"≥ {2.4**0.5:.2f}, not reached in 1 of 2", words)  # 1, and 480 iterations over 200
        self.assertIn("≥", words, "at the run's own dot")

    def test_a_mark_of_a_baseline_that_is_left_out_is_explained(self) -> None:
        axes = {"model": "resnet", "bottleneck.rate": CAPS[0]}
        dense = make_record("dense", axes={**axes, "pruning.ratio": "0"}, model="resnet")
        fp16 = make_record("fp16", axes={**axes, "pruning.ratio": "0.5"}, model="resnet")
        dense["config"]["pruning"]["ratio"] = 0.0
        dense["fidelity"]["verdict"] = "not judged"
        where = {"pruning.ratio": "0.5"}
        results = load(write(self.directory, dense, fp16))
        figure = fig3.draw(compare(results, where=where, panels=lambda runs: fig3.panel_a_cell(runs, fig3.MODELS)))
        self.assertEqual([text.get_text() for text in figure.axes[0].texts], ["0.54‡"])
        self.assertIn("‡ network emulation not judged", small_print(figure))

    def test_without_dense_it_says_so(self) -> None:
        write(self.directory, run("fp16", "resnet", CAPS[0]))
        code, said = self.program(fig3)
        self.assertEqual(code, 2)
        self.assertIn("no dense run to compare with", said)

    def test_the_program_writes_the_figure(self) -> None:
        write(self.directory, *self.grid())
        self.assertEqual(self.program(fig3), (0, ""))
        self.assertTrue((self.directory / "fig3.png").exists())


class Fig5Test(FigureTest):
    def test_curves_and_speeds_of_the_same_runs(self) -> None:
        figure = fig5.draw(self.compared(make_record("dense"), make_record("fp16")))
        curves, speeds = figure.axes
        self.assertEqual(legend_texts(figure), ["dense: 160 s", "fp16: 86.0 s"])
        self.assertEqual(drawn(speeds, "mean"), [[1.25], [round(1 / 0.43, 6)]])
        self.assertEqual([text.get_text() for text in speeds.get_yticklabels()], ["dense", "fp16"])
        self.assertEqual(curves.get_ylabel(), "Test accuracy")

    def test_a_run_without_iterations_has_words_for_a_dot(self) -> None:
        figure = fig5.draw(self.compared(make_record("dense"), failed_record("fp16")))
        self.assertEqual([text.get_text() for text in figure.axes[1].texts], ["1.25", "no iterations"])

    def test_more_than_methods_is_refused(self) -> None:
        write(self.directory, *(run("dense", "resnet", cap) for cap in CAPS))
        code, said = self.program(fig5)
        self.assertEqual(code, 2)
        self.assertIn("--where", said)


class Fig6Test(FigureTest):
    def compared_by_model(self, *records: dict[str, Any]) -> Comparison:
        panels = lambda runs: fig6.panel_a_value(runs, fig6.MODELS)
        return compare(load(write(self.directory, *records)), panels=panels, needs_time=False)

    def pruned(self, ratio: str, best: float, seed: int = 1) -> dict[str, Any]:
        axes = {"model": "resnet", "pruning.ratio": ratio}
        return make_converge_record("pactrain", curve=make_curve(1.0, best), seed=seed, axes=axes, model="resnet")

    def test_final_accuracies_by_ratio_with_those_of_single_runs(self) -> None:
        records = [self.pruned("0.5", 0.86), self.pruned("0.5", 0.84, seed=2), self.pruned("0.9", 0.8)]
        dense = make_converge_record("dense", axes={"model": "resnet"}, model="resnet")
        figure = fig6.draw(self.compared_by_model(*records, dense))
        line = next(line for line in figure.axes[0].get_lines() if line.get_label() == "pactrain")
        self.assertEqual(list(line.get_xdata()), [0.5, 0.9])
        ends = [record["curve"][-1]["test_accuracy"] for record in records]
        self.assertAlmostEqual(line.get_ydata()[0], (ends[0] + ends[1]) / 2)
        self.assertAlmostEqual(line.get_ydata()[1], ends[2])
        dots = next(line for line in figure.axes[0].get_lines() if line.get_label() == "_runs")
        self.assertEqual(sorted(dots.get_ydata()), sorted(ends))
        self.assertEqual(drawn(figure.axes[0], "interval", upright=True), [sorted(round(end, 6) for end in ends[:2])])
        self.assertIn("dense, not pruned", legend_texts(figure))
        self.assertIn("mode converge", small_print(figure))

    def test_methods_stand_beside_each_other_on_equal_axes(self) -> None:
        records = [self.pruned("0.5", 0.86), self.pruned("0.9", 0.8)]
        axes = {"model": "small_cnn", "pruning.ratio": "0.5"}
        records.append(make_converge_record("pactrain", curve=make_curve(1.0, 0.7), axes=axes, model="small_cnn"))
        axes = {"model": "resnet", "pruning.ratio": "0.5"}
        records.append(make_converge_record("pactrain ternary", axes=axes, model="resnet"))
        one, other = fig6.draw(self.compared_by_model(*records)).axes
        places = {line.get_label(): round(float(line.get_xdata()[0]), 6) for line in one.get_lines()}
        self.assertEqual(places, {"pactrain": 0.496, "pactrain ternary": 0.504})
        self.assertEqual((one.get_xlim(), one.get_ylim()), (other.get_xlim(), other.get_ylim()))

    def test_an_unpruned_method_whose_loss_is_not_finite_stays(self) -> None:
        curve = make_text_curve(1.0, 2.0)
        curve[-1]["test_loss"] = None
        axes = {"model": "resnet"}
        aims = {"aims": (TEXT_TARGET,), "model": "resnet"}
        dense = make_converge_record("dense", curve=curve, axes=axes, **aims)
        pruned_axes = {**axes, "pruning.ratio": "0.5"}
        pruned = make_converge_record("pactrain", curve=make_text_curve(1.0, 2.0), axes=pruned_axes, **aims)
        figure = fig6.draw(self.compared_by_model(dense, pruned))
        self.assertIn("dense, not pruned: not finite", legend_texts(figure))

    def test_a_ratio_must_be_a_number(self) -> None:
        with self.assertRaisesRegex(InputError, "'half', which is not a number"):
            fig6.draw(self.compared_by_model(self.pruned("half", 0.8)))
