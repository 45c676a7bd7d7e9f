# SPDX-License-Identifier: Apache-2.0
"""The target of runs, as the report names it: the level of a metric to which the time is measured."""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Metric:
    """How figures name a metric: on its axis, in a sentence, and in a sentence together with a level."""

    label: str
    noun: str
    phrase: str


# Keys: the names of metrics in reports.
METRICS = {
    "accuracy": Metric("Test accuracy", "accuracy", "{} accuracy"),
    "test_loss": Metric("Test loss (nats)", "test loss", "a test loss of {}"),
    "bits_per_byte": Metric("Bits per byte", "bits per byte", "{} bits per byte"),
    "perplexity": Metric("Perplexity", "perplexity", "a perplexity of {}"),
}


@dataclass(frozen=True)
class Target:
    """A level of one of METRICS. Accuracy reaches it from below; the others, which are losses, from above."""

    metric: str
    value: float

    @staticmethod
    def of_report(target: Any) -> Target:
        """Reads the target of a report: a number is an accuracy; other metrics are objects."""
        return Target(*next(iter(target.items()))) if isinstance(target, dict) else Target("accuracy", target)

    @property
    def is_loss(self) -> bool:
        return self.metric != "accuracy"

    @property
    def axis_label(self) -> str:
        return METRICS[self.metric].label

    @property
    def noun(self) -> str:
        return METRICS[self.metric].noun

    @property
    def phrase(self) -> str:
        return METRICS[self.metric].phrase.format(self.level_text(self.value))

    @property
    def option(self) -> str:
        """Returns the form that --target takes."""
        return f"{self.metric}={self.value:g}" if self.is_loss else f"{self.value:g}"

    def level_text(self, level: float) -> str:
        """Formats the target's level, or a measured level of its metric, for figures."""
        return f"{level:.4g}" if self.is_loss else f"{100 * level:.3g} %"

    def measured(self, curves: pd.DataFrame) -> pd.Series:
        """Returns the metric at each evaluation, for curves; NaN if it was not finite."""
        with np.errstate(over="ignore"):
            if self.metric == "bits_per_byte":
                return (curves.test_loss / math.log(2.0)).replace(math.inf, math.nan)
            if self.metric == "perplexity":
                return np.exp(curves.test_loss).replace(math.inf, math.nan)
        return curves.test_loss if self.is_loss else curves.test_accuracy

    def best(self, levels: pd.Series) -> float:
        return levels.min() if self.is_loss else levels.max()
