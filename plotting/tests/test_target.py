# SPDX-License-Identifier: Apache-2.0
import math
import unittest

import pandas as pd

from shared.target import Target


class TargetTest(unittest.TestCase):
    def test_reports_name_metrics_other_than_accuracy_by_key(self) -> None:
        for entry, target, option in (
            (0.84, Target("accuracy", 0.84), "0.84"),
            ({"bits_per_byte": 2}, Target("bits_per_byte", 2), "bits_per_byte=2"),
        ):
            self.assertEqual(Target.of_report(entry), target)
            self.assertEqual(target.option, option)

    def test_measures_of_texts_follow_from_the_loss(self) -> None:
        curves = pd.DataFrame({"test_accuracy": [0.25], "test_loss": [2.0 * math.log(2.0)]})
        for metric, level in (("accuracy", 0.25), ("test_loss", 1.3862943611198906), ("bits_per_byte", 2.0), ("perplexity", 4.0)):
            self.assertAlmostEqual(Target(metric, 0.5).measured(curves).iloc[0], level, places=14)

    def test_a_level_beyond_doubles_is_not_finite(self) -> None:
        curves = pd.DataFrame({"test_accuracy": [0.25, 0.25], "test_loss": [710.0, 1.5e308]})
        self.assertTrue(Target("perplexity", 40).measured(curves).isna().all())
        self.assertEqual(Target("bits_per_byte", 2).measured(curves).isna().to_list(), [False, True])

    def test_words(self) -> None:
        for target, phrase, level, label in (
            (Target("accuracy", 0.84), "84 % accuracy", "83.2 %", "Test accuracy"),
            (Target("test_loss", 0.5), "a test loss of 0.5", "0.8321", "Test loss (nats)"),
            (Target("bits_per_byte", 2.2), "2.2 bits per byte", "0.8321", "Bits per byte"),
            (Target("perplexity", 40), "a perplexity of 40", "0.8321", "Perplexity"),
        ):
            self.assertEqual(target.phrase, phrase)
            self.assertEqual(target.level_text(0.83214), level)
            self.assertEqual(target.axis_label, label)
