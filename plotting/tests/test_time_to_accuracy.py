# SPDX-License-Identifier: Apache-2.0
import numpy as np
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import time_to_accuracy
from shared.comparison import compare
from shared.load import load

from .figure_test import FigureTest, legend_texts, small_print
from .records import (
    METHODS,
    TARGET,
    failed_record,
    make_curve,
    make_network_event,
    make_record,
    make_scripted_record,
    with_a_miss,
)


class TimeToAccuracyTest(FigureTest):
    def test_one_curve_a_method_with_its_time_in_the_legend(self) -> None:
        records = [make_record(method) for method in METHODS]
        figure = time_to_accuracy.draw(self.compared(*records))
        self.assertEqual(
            legend_texts(figure),
            [
                "dense: 160 s",
                "fp16: 86.0 s",
                "pactrain: 84.0 s",
                "pactrain ternary: 29.4 s",
                "topk 0.01: not reached",
                "topk 0.1: 172 s",
            ],
        )
        lines = {line.get_label(): line for line in figure.axes[0].get_lines()}
        dense = lines["dense: 160 s"]
        self.assertEqual(figure.axes[0].get_xscale(), "log")
        self.assertEqual(
            dense.get_xdata().tolist(), [point["train_time_s"] for point in records[0]["curve"][1:]]
        )
        self.assertEqual(
            dense.get_ydata().tolist(), [point["test_accuracy"] for point in records[0]["curve"][1:]]
        )

    def test_several_runs_are_thin_and_their_mean_is_the_methods_curve(self) -> None:
        records = [make_record("dense", seed=seed, curve=make_curve(speed, 0.868)) for seed, speed in ((1, 0.4), (2, 0.6))]
        records[1]["curve"].pop()  # the mean has the iterations of both
        records[0]["curve"][2]["test_accuracy"] = None  # and a gap where one has
        figure = time_to_accuracy.draw(self.compared(*records))
        *_, first, second, mean = (line for line in figure.axes[0].get_lines() if line.get_marker() != "*")
        self.assertEqual([line.get_label() for line in (first, second, mean)], ["_dense: 100 s", "_dense: 100 s", "dense: 100 s"])
        self.assertLess(first.get_linewidth(), mean.get_linewidth())
        self.assertEqual(len(mean.get_xdata()), len(second.get_xdata()))
        np.testing.assert_allclose(mean.get_xdata(), [(one + other) / 2 for one, other in zip(first.get_xdata(), second.get_xdata())])
        gaps = np.isnan(first.get_ydata()[: len(mean.get_ydata())])
        self.assertEqual(np.count_nonzero(gaps), 1)
        np.testing.assert_allclose(mean.get_ydata(), np.where(gaps, np.nan, second.get_ydata()))

    def test_labels_are_shown_as_they_are_written(self) -> None:
        for label in ("_hidden", "$5 and $6"):
            record = make_record("fp16", labels={"method": label})
            figure = time_to_accuracy.draw(self.compared(make_record("dense"), record))
            texts = [text for text in figure.axes[0].get_legend().get_texts() if label in text.get_text()]
            self.assertEqual(len(texts), 1, legend_texts(figure))
            self.assertFalse(texts[0].get_parse_math())

    def test_stars_stand_where_the_target_is_reached_and_nowhere_else(self) -> None:
        record = make_record("dense")
        figure = time_to_accuracy.draw(self.compared(record, make_record("topk 0.01")))
        stars = [line for line in figure.axes[0].get_lines() if line.get_marker() == "*"]
        self.assertEqual([star.get_xdata()[0] for star in stars], [record["targets"][0]["train_time_s"]])
        self.assertGreaterEqual(stars[0].get_ydata()[0], TARGET)

    def test_the_target_is_a_line_with_its_value(self) -> None:
        figure = time_to_accuracy.draw(self.compared(make_record("dense")))
        self.assertIn([TARGET, TARGET], [list(line.get_ydata()) for line in figure.axes[0].get_lines()])
        self.assertIn("target 84 %", [text.get_text() for text in figure.axes[0].texts])

    def test_like_speeds_are_drawn_on_a_linear_axis_from_zero(self) -> None:
        figure = time_to_accuracy.draw(self.compared(make_record("dense"), make_record("fp16")))
        self.assertEqual(figure.axes[0].get_xscale(), "linear")
        self.assertEqual(figure.axes[0].get_xlim()[0], 0.0)
        self.assertIn(0.0, figure.axes[0].get_lines()[1].get_xdata())

    def test_long_runs_are_in_hours_throughout(self) -> None:
        slow = make_record("dense", curve=make_curve(90.0, 0.868))
        figure = time_to_accuracy.draw(self.compared(slow, make_record("fp16")))
        self.assertEqual(legend_texts(figure), ["dense: 5.00 h", "fp16: 0.0239 h"])
        self.assertEqual(figure.axes[0].get_xlabel(), "Train time (h)")

    def test_the_time_is_a_lower_bound_if_a_seed_missed_the_target(self) -> None:
        figure = time_to_accuracy.draw(self.compared(*with_a_miss("dense", 0.8)))
        self.assertEqual(legend_texts(figure), ["dense: ≥ 272 s, not reached in 1 of 2"])

    def test_failed_runs_are_in_the_legend_and_their_reason_in_the_small_print(self) -> None:
        figure = time_to_accuracy.draw(self.compared(make_record("dense"), failed_record("topk 0.1")))
        self.assertEqual(legend_texts(figure), ["dense: 160 s", "topk 0.1: failed"])
        self.assertIn("topk 0.1: failed (rank 3 exited with status 139)", small_print(figure))

    def test_an_incomplete_run_has_not_reached_what_its_curve_touched(self) -> None:
        partial = make_record("fp16", status="interrupted", error={"kind": "interrupted", "message": "stopped by the user"})
        figure = time_to_accuracy.draw(self.compared(make_record("dense"), partial))
        self.assertEqual(legend_texts(figure)[1], "fp16: interrupted")

    def test_colours_do_not_depend_on_which_runs_are_shown(self) -> None:
        def colour(figure: Figure, label: str) -> str:
            lines = figure.axes[0].get_lines()
            return next(to_hex(line.get_color()) for line in lines if line.get_label().startswith(label))

        axes = {"bottleneck.rate": "1 Gbit/s"}
        shared = [make_record(method) for method in METHODS]
        for record in shared:
            record["labels"]["bottleneck.rate"] = "100 Mbit/s"
        few = [make_record(method, axes=axes) for method in ("dense", "topk 0.1")]
        everything = time_to_accuracy.draw(self.compared(*shared, *few))
        filtered = time_to_accuracy.draw(compare(load(self.directory), where={"bottleneck.rate": "1 Gbit/s"}))
        self.assertEqual(colour(everything, "topk 0.1:"), colour(filtered, "topk 0.1:"))
        self.assertEqual(colour(filtered, "dense:"), "#000000")

    def test_other_axes_get_panels_in_order_of_quantity(self) -> None:
        rates = ("1 Gbit/s", "100 Mbit/s", "500 Mbit/s")
        records = [make_record("dense", axes={"bottleneck.rate": rate}) for rate in rates]
        figure = time_to_accuracy.draw(self.compared(*records))
        self.assertEqual(
            [axes.get_title() for axes in figure.axes],
            ["bottleneck.rate = 100 Mbit/s", "bottleneck.rate = 500 Mbit/s", "bottleneck.rate = 1 Gbit/s"],
        )

    def test_panels_have_equal_axes_and_one_scale(self) -> None:
        curves = {"1 Gbit/s": make_curve(0.05, 0.868), "100 Mbit/s": make_curve(0.8, 0.868)}
        records = [make_record("dense", axes={"bottleneck.rate": rate}, curve=curve) for rate, curve in curves.items()]
        one, other = time_to_accuracy.draw(self.compared(*records)).axes
        self.assertEqual((one.get_xlim(), one.get_ylim()), (other.get_xlim(), other.get_ylim()))
        self.assertEqual((one.get_xscale(), other.get_xscale()), ("log", "log"))

    def test_no_panel_cuts_the_curves_of_another(self) -> None:
        for longest in (0.8, 1.2, 0.05):
            records = [
                make_record("dense", axes={"bottleneck.rate": rate}, curve=make_curve(iteration_time_s, 0.868))
                for rate, iteration_time_s in (("100 Mbit/s", 0.8), ("500 Mbit/s", longest), ("1 Gbit/s", 0.7))
            ]
            for axes in time_to_accuracy.draw(self.compared(*records)).axes:
                self.assertGreater(axes.get_xlim()[1], 480 * max(longest, 0.8))

    def test_the_run_that_was_not_faithful_is_marked_at_its_star(self) -> None:
        records = [make_record("dense", seed=seed) for seed in (1, 2)]
        records[1]["fidelity"]["verdict"] = "not judged"
        texts = [text.get_text() for text in time_to_accuracy.draw(self.compared(*records)).axes[0].texts]
        self.assertEqual(texts.count("‡"), 1)

    def test_small_print_names_a_congestion_control_that_is_not_the_default(self) -> None:
        records = [make_record("dense"), make_record("fp16")]
        records[0]["provenance"]["congestion_control"] = "cubic"
        for other, is_named in (("cubic", False), ("bbr", True)):
            records[1]["provenance"]["congestion_control"] = other
            text = small_print(time_to_accuracy.draw(self.compared(*records)))
            self.assertEqual("congestion control bbr, cubic" in text, is_named)

    def test_small_print_names_the_origin(self) -> None:
        records = [make_record("dense"), make_record("fp16")]
        records[1]["provenance"]["dirty"] = True
        for record, delay in zip(records, ({}, {"delay": "10 ms"})):
            record["config"]["collective"] = {"name": "ring"}
            record["config"]["topology"]["links"] = [
                {"between": ["a", "b"], "bottleneck": False, "burst": "64 kB"},
                {"between": ["b", "c"], "bottleneck": True, "burst": "4 kB", **delay},
            ]
            record["provenance"]["memory_bytes"] = 25_276_514_304
        records[1]["fidelity"]["verdict"] = "degraded"
        figure = time_to_accuracy.draw(self.compared(*records))
        for words in (
            "mode live",
            "data fashion_mnist",
            "seed 1",
            "cpu Intel Xeon Platinum 8358P (2 cores)",
            "commit 8991000f2c,",
            "8991000f2c + uncommitted changes",
            "† network emulation degraded",
            "collective ring",
            "burst 4 kB",
            "delay of bottlenecks 0 s, 10 ms",
            "memory 25 GB",
            "kernel 6.1.0",
        ):
            self.assertIn(words, small_print(figure))
        self.assertEqual(legend_texts(figure)[1], "fp16†: 86.0 s")

    def test_small_print_says_that_links_changed(self) -> None:
        def note_on(*events: dict[str, object]) -> str:
            record = make_record("dense", network_events=list(events))
            return small_print(time_to_accuracy.draw(self.compared(record, make_record("fp16"))))

        self.assertIn("links changed during the runs", note_on(make_network_event()))
        self.assertNotIn("links changed", note_on(make_network_event(confirmed_s=None)))
        self.assertNotIn("links changed", note_on())
        old = make_record("dense")
        del old["network_events"]
        self.assertNotIn("links changed", small_print(time_to_accuracy.draw(self.compared(old))))

    def test_settings_that_differ_beside_the_method_are_named(self) -> None:
        records = [make_record("dense"), make_record("fp16", seed=2)]
        self.assertNotIn("also differ", small_print(time_to_accuracy.draw(self.compared(*records))))
        records[0]["config"]["optimiser"] = {"name": "sgd", "learning_rate": 0.05}
        records[1]["config"]["optimiser"] = {"name": "sgd", "learning_rate": 0.1}
        figure = time_to_accuracy.draw(self.compared(*records))
        self.assertIn("methods also differ in optimiser.learning_rate", small_print(figure))

    def test_a_hook_of_the_user_s_is_a_method_of_its_trainer(self) -> None:
        dense, mine = make_record("dense"), make_record("fp16")
        mine["labels"] = {"method": "sketch"}
        dense["config"]["trainer"] = "pytorch-ddp"
        hook = {"name": "/mine.py:sketch", "rank": 2}
        mine["config"]["trainer"] = {"program": "pytorch-ddp", "hook": hook, "method": "sketch"}
        figure = time_to_accuracy.draw(self.compared(dense, mine))
        self.assertEqual(legend_texts(figure), ["dense: 160 s", "sketch: 86.0 s"])
        self.assertNotIn("also differ", small_print(figure))

    def test_a_script_is_drawn_by_its_method_s_name(self) -> None:
        records = [make_scripted_record("sketch", "fp16"), make_scripted_record("dense")]
        figure = time_to_accuracy.draw(self.compared(*records))
        self.assertEqual(legend_texts(figure), ["dense: 160 s", "sketch: 86.0 s"])
        self.assertIn("script python3 train.py", small_print(figure))
        for word in ("unknown", "also differ"):
            self.assertNotIn(word, small_print(figure))

    def test_a_script_beside_thinpipe_s_own_method_is_told_by_its_trainer(self) -> None:
        figure = time_to_accuracy.draw(self.compared(make_record("dense"), make_scripted_record("sketch", "fp16")))
        self.assertEqual(legend_texts(figure), ["dense: 160 s", "sketch: 86.0 s"])
        self.assertRegex(small_print(figure), "data fashion_mnist · model small_cnn · script python3 train.py")
        self.assertRegex(small_print(figure), "methods also differ in trainer$")

    def test_another_target_is_judged_from_the_curve_and_said_so(self) -> None:
        record = make_record("dense")
        comparison = self.compared(record, target="0.8")
        expected = next(point for point in record["curve"] if point["test_accuracy"] >= 0.8)
        self.assertEqual(comparison.runs.target_time_s.tolist(), [expected["train_time_s"]])
        self.assertIn("target chosen after the runs", small_print(time_to_accuracy.draw(comparison)))

    def test_seeds_share_a_colour_and_a_legend_entry(self) -> None:
        records = [make_record("dense", seed=seed) for seed in (1, 2, 3)]
        figure = time_to_accuracy.draw(self.compared(*records))
        self.assertEqual(legend_texts(figure), ["dense: 160 s"])
        self.assertIn("seeds 1–3", small_print(figure))
        self.assertIn("thin curves are runs", small_print(figure))
        self.assertNotIn("confidence interval", small_print(figure), "none is drawn")
