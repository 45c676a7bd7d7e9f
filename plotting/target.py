"""The target of a run: the level of a metric to which the time is measured."""
from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, Iterable

import pandas as pd


@dataclass(frozen=True)
class Metric:
    """How figures name a metric: on its axis, in a sentence, and in a sentence together with a level."""

    label: str
    noun: str
    phrase: str


# Keys: the names of metrics in records and on the command line.
METRICS = {
    "accuracy": Metric("Test accuracy", "accuracy", "{} accuracy"),
    "test_loss": Metric("Test loss (nats)", "test loss", "a test loss of {}"),
    "bits_per_byte": Metric("Bits per byte", "bits per byte", "{} bits per byte"),
}


@dataclass(frozen=True)
class Target:
    """A level of one of METRICS. Accuracy reaches it from below; the others, which are losses, from above."""

    metric: str
    value: float

    def __post_init__(self) -> None:
        if self.metric not in METRICS:
            raise ValueError(f"must be one of {', '.join(METRICS)}, not '{self.metric}'")
        if self.is_loss and not 0.0 < self.value < math.inf:
            raise ValueError(f"must be a finite {self.metric} above 0, not {self.value:g}")
        if not self.is_loss and not 0.0 < self.value <= 1.0:
            raise ValueError(f"must be an accuracy above 0 and at most 1, not {self.value:g}")

    @staticmethod
    def parse(text: str) -> Target:
        """Reads a command-line value: "0.84" or "METRIC=VALUE"."""
        metric, equals, number = text.rpartition("=")
        try:
            return Target(metric if equals else "accuracy", float(number))
        except ValueError:
            raise ValueError(
                f"'{text}' must be a number above 0 and at most 1, such as 0.84 for 84 %, or a loss above 0, "
                "such as bits_per_byte=2.2 or test_loss=0.5"
            ) from None

    @staticmethod
    def of_configuration(entry: Any) -> Target:
        """Reads an entry of a record's config.targets: a number is an accuracy; other metrics are objects."""
        if is_number(entry):
            return Target("accuracy", float(entry))
        if not isinstance(entry, dict) or len(entry) != 1:
            raise ValueError(
                f"must be a number or an object with exactly one of {', '.join(METRICS)}, "
                f"not {json.dumps(entry)[:60]}"
            )
        return Target.of_result(entry)

    @staticmethod
    def of_result(result: Any) -> Target:
        """Reads an entry of a record's targets, where the metric is a key beside the time to it."""
        metrics = [name for name in METRICS if isinstance(result, dict) and name in result]
        if len(metrics) != 1 or not is_number(result[metrics[0]]):
            raise ValueError(
                f"must have exactly one of {', '.join(METRICS)}, a number, but is {json.dumps(result)[:60]}"
            )
        return Target(metrics[0], float(result[metrics[0]]))

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
        """Returns the form that parse() reads."""
        return f"{self.metric}={self.value:g}" if self.is_loss else f"{self.value:g}"

    def level_text(self, level: float) -> str:
        """Formats the target's level, or a measured level of its metric, for figures."""
        return f"{level:.4g}" if self.is_loss else f"{100 * level:.3g} %"

    def measured(self, curves: pd.DataFrame) -> pd.Series:
        """Returns the metric at each evaluation; NaN if it was not finite."""
        if self.metric == "bits_per_byte":
            return curves.test_loss / math.log(2.0)
        return curves.test_loss if self.is_loss else curves.test_accuracy

    def is_reached(self, levels: pd.Series) -> pd.Series:
        """Returns whether each level is at least as good as the target; NaN never is."""
        return levels <= self.value if self.is_loss else levels >= self.value

    def best(self, levels: pd.Series) -> float:
        return levels.min() if self.is_loss else levels.max()

    def is_same(self, other: Target) -> bool:
        return self.metric == other.metric and math.isclose(self.value, other.value)


def hardest(targets: Iterable[Target]) -> Target:
    """Returns the highest accuracy or the lowest loss among targets of one metric."""
    return max(targets, key=lambda target: -target.value if target.is_loss else target.value)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
