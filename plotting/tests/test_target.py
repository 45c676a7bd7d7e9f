import math
import unittest

import pandas as pd

from target import METRICS, Target, hardest


class TargetTest(unittest.TestCase):
    def test_a_number_is_an_accuracy_others_are_named(self) -> None:
        for text, target in (
            ("0.84", Target("accuracy", 0.84)),
            ("1", Target("accuracy", 1.0)),
            ("accuracy=0.84", Target("accuracy", 0.84)),
            ("bits_per_byte=2.2", Target("bits_per_byte", 2.2)),
            ("test_loss=0.5", Target("test_loss", 0.5)),
        ):
            self.assertEqual(Target.parse(text), target)
            self.assertEqual(Target.parse(target.option), target)

    def test_what_is_no_target_is_refused(self) -> None:
        for text in (
            *("84", "0", "-0.5", "nan", "inf", "fast", "", "=", "=0.5", "accuracy=84", "accuracy="),
            *("test_loss=0", "test_loss=inf", "test_loss=nan", "bits_per_byte=-1", "bits_per_byte 2.2"),
            *("bits_per_bite=2", "train_loss=0.5", "a=test_loss=0.5"),
        ):
            with self.subTest(text=text), self.assertRaises(ValueError) as refused:
                Target.parse(text)
            self.assertIn(f"'{text}' must be a number above 0 and at most 1", str(refused.exception))

    def test_records_name_metrics_by_key(self) -> None:
        for entry, target in (
            (0.84, Target("accuracy", 0.84)),
            (1, Target("accuracy", 1.0)),
            ({"accuracy": 0.84}, Target("accuracy", 0.84)),
            ({"bits_per_byte": 2}, Target("bits_per_byte", 2.0)),
        ):
            self.assertEqual(Target.of_configuration(entry), target)
        result = {"test_loss": 0.5, "reached": False, "iteration": None, "train_time_s": None}
        self.assertEqual(Target.of_result(result), Target("test_loss", 0.5))

    def test_accuracies_are_reached_from_below_and_losses_from_above(self) -> None:
        levels = pd.Series([0.4, 0.5, 0.6, math.nan])
        for metric, reached, best in (
            ("accuracy", [False, True, True, False], 0.6),
            ("test_loss", [True, True, False, False], 0.4),
            ("bits_per_byte", [True, True, False, False], 0.4),
        ):
            target = Target(metric, 0.5)
            self.assertEqual(target.is_reached(levels).tolist(), reached)
            self.assertEqual(target.best(levels), best)

    def test_bits_are_nats_over_ln_2(self) -> None:
        curves = pd.DataFrame({"test_accuracy": [0.25], "test_loss": [2.0 * math.log(2.0)]})
        for metric, level in (("accuracy", 0.25), ("test_loss", 1.3862943611198906), ("bits_per_byte", 2.0)):
            self.assertAlmostEqual(Target(metric, 0.5).measured(curves).iloc[0], level, places=15)

    def test_words(self) -> None:
        for target, phrase, level, label in (
            (Target("accuracy", 0.84), "84 % accuracy", "83.2 %", "Test accuracy"),
            (Target("test_loss", 0.5), "a test loss of 0.5", "0.8321", "Test loss (nats)"),
            (Target("bits_per_byte", 2.2), "2.2 bits per byte", "0.8321", "Bits per byte"),
        ):
            self.assertEqual(target.phrase, phrase)
            self.assertEqual(target.level_text(0.83214), level)
            self.assertEqual(target.axis_label, label)

    def test_the_hardest_is_the_highest_accuracy_or_the_lowest_loss(self) -> None:
        for metric in METRICS:
            targets = [Target(metric, value) for value in (0.5, 0.3, 0.7)]
            self.assertEqual(hardest(targets).value, 0.7 if metric == "accuracy" else 0.3)

    def test_the_same_level_of_another_metric_is_another_target(self) -> None:
        self.assertTrue(Target("accuracy", 0.1 + 0.2).is_same(Target("accuracy", 0.3)))
        self.assertFalse(Target("accuracy", 0.3).is_same(Target("test_loss", 0.3)))
