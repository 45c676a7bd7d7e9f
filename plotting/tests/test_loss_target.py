# SPDX-License-Identifier: Apache-2.0
import math

import speedup
import time_to_accuracy
from shared.report import InputError
from shared.target import Target

from .figure_test import FigureTest, legend_texts, small_print
from .records import METHODS, make_text_curve, make_text_record


class LossTargetTest(FigureTest):
    def test_the_axis_is_that_of_the_metric(self) -> None:
        records = [make_text_record(method) for method in METHODS]
        figure = time_to_accuracy.draw(self.compared(*records))
        axes = figure.axes[0]
        self.assertEqual(axes.get_ylabel(), "Bits per byte")
        self.assertEqual(axes.yaxis.get_major_formatter()(2.5), "2.5")
        self.assertIn("target 2.2", [text.get_text() for text in axes.texts])
        self.assertIn([2.2, 2.2], [list(line.get_ydata()) for line in axes.get_lines()])
        dense = next(line for line in axes.get_lines() if line.get_label().startswith("dense:"))
        for drawn, point in zip(dense.get_ydata(), records[0]["curve"][1:]):
            self.assertAlmostEqual(drawn, point["test_loss"] / 0.6931471805599453)

    def test_bits_are_reached_at_or_below_the_target(self) -> None:
        record = make_text_record("dense")
        figure = time_to_accuracy.draw(self.compared(record, make_text_record("topk 0.01")))
        stars = [line for line in figure.axes[0].get_lines() if line.get_marker() == "*"]
        self.assertEqual([star.get_xdata()[0] for star in stars], [record["targets"][0]["train_time_s"]])
        self.assertLessEqual(stars[0].get_ydata()[0], 2.2)
        self.assertEqual(legend_texts(figure)[1], "topk 0.01: not reached")
        self.assertNotIn("target chosen after the runs", small_print(figure))

    def test_a_target_in_nats_is_judged_from_the_curve_and_said_so(self) -> None:
        curve = make_text_curve(1.0, 2.0)
        for point, loss in zip(curve, (5.5, 3.0, None, 2.5, 2.4)):
            point["test_loss"] = loss
        comparison = self.compared(
            make_text_record("dense", curve=curve[:5]), target="test_loss=2.5"
        )
        self.assertEqual(comparison.runs.target_time_s.tolist(), [60.0])
        self.assertEqual(comparison.runs.best_level.tolist(), [2.4])
        figure = time_to_accuracy.draw(comparison)
        self.assertEqual(figure.axes[0].get_ylabel(), "Test loss (nats)")
        self.assertIn("target chosen after the runs", small_print(figure))

    def test_a_loss_that_was_not_finite_is_a_gap_and_reaches_nothing(self) -> None:
        curve = make_text_curve(1.0, 2.0)
        reached = next(index for index, point in enumerate(curve) if point["test_loss"] / 0.6931472 <= 2.2)
        for point in curve[1:3] + curve[reached + 1 :]:
            point["test_loss"] = None
        figure = time_to_accuracy.draw(self.compared(make_text_record("dense", curve=curve)))
        line, star = figure.axes[0].get_lines()[1:]
        self.assertEqual(
            [math.isnan(level) for level in line.get_ydata()], [point["test_loss"] is None for point in curve]
        )
        self.assertAlmostEqual(star.get_ydata()[0], curve[reached]["test_loss"] / math.log(2.0))

    def test_a_run_that_diverges_does_not_flatten_the_others(self) -> None:
        diverging = make_text_curve(1.0, 2.0)
        for point in diverging[5:]:
            point["test_loss"] = 1e9
        failed = make_text_record("fp16", curve=diverging, status="failed", error={"kind": "nan", "message": "diverged"})
        figure = time_to_accuracy.draw(self.compared(make_text_record("dense"), failed))
        bottom, top = figure.axes[0].get_ylim()
        self.assertGreater(top, 8.0)
        self.assertLess(top, 9.0)
        self.assertGreater(bottom, 1.5)
        self.assertLess(bottom, 2.0)
        # The dots of a dotted line that leads far outside would fill the memory.
        lines = figure.axes[0].get_lines()
        drawn = max(next(line for line in lines if line.get_label() == "fp16: failed").get_ydata())
        self.assertGreater(drawn, top)
        self.assertLess(drawn, 2.5 * top)

    def test_a_start_that_is_exceeded_a_little_stays_in_the_picture(self) -> None:
        rising = make_text_curve(1.0, 2.0)
        rising[1]["test_loss"] = 9.0 * math.log(2.0)
        rising = make_text_record("fp16", curve=rising)
        figure = time_to_accuracy.draw(self.compared(make_text_record("dense"), rising))
        self.assertGreater(figure.axes[0].get_ylim()[1], 9.0)

    def test_speedup_in_bits_per_byte(self) -> None:
        records = [make_text_record(method) for method in ("dense", "fp16", "topk 0.01")]
        time_s = [record["targets"][0]["train_time_s"] for record in records]
        figure = speedup.draw(self.compared(*records))
        axes = figure.axes[0]
        self.assertEqual(axes.get_xlabel(), "Speed-up in time to 2.2 bits per byte")
        lowest = min(point["test_loss"] for point in records[2]["curve"]) / math.log(2.0)
        self.assertEqual(
            [text.get_text() for text in axes.texts],
            [
                "1.00×",
                f"{time_s[1] / time_s[0]:.2f}×",
                f"{time_s[0] / time_s[1]:.2f}×",
                "1.00×",
                f"not reached (best {lowest:.4g})",
            ],
        )

    def test_the_last_target_of_the_runs_is_the_default(self) -> None:
        aims = (0.5, {"test_loss": 2}, {"bits_per_byte": 2.2})
        comparison = self.compared(make_text_record("dense", aims=aims), make_text_record("fp16", aims=aims))
        self.assertEqual(comparison.target, Target("bits_per_byte", 2.2))
        self.assertTrue(comparison.target_was_preset)

    def test_equal_levels_of_two_metrics_are_two_targets(self) -> None:
        record = make_text_record("dense", aims=({"bits_per_byte": 2.2},))
        comparison = self.compared(record, target="test_loss=2.2")
        self.assertFalse(comparison.target_was_preset)
        expected = next(point for point in record["curve"] if point["test_loss"] <= 2.2)
        self.assertEqual(comparison.runs.target_time_s.tolist(), [expected["train_time_s"]])

    def test_no_common_target_says_what_to_give(self) -> None:
        message = r"no target in common \(0\.5, bits_per_byte=2\.2\); choose one with --target"
        with self.assertRaisesRegex(InputError, message):
            self.compared(make_text_record("dense"), make_text_record("fp16", aims=(0.5,)))
        self.assertFalse(self.compared(target="0.5").target_was_preset)

    def test_a_loss_no_lower_than_at_the_start_is_refused(self) -> None:
        message = r"bits_per_byte=8\.1 is no lower than the bits per byte .* choose a lower one"
        with self.assertRaisesRegex(InputError, message):
            self.compared(make_text_record("dense"), target="bits_per_byte=8.1")
