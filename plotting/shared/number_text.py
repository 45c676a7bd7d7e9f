# SPDX-License-Identifier: Apache-2.0
"""Formats numbers without the digits that the noise of their machine makes meaningless."""
from __future__ import annotations

import math
from typing import Callable

import pandas as pd

from noise import decimals, noise_of

# Formats a value, the mean or an end of its interval. The second argument is the mean, which determines the digits.
Text = Callable[[float, float], str]


def ratio_text(noise: float) -> Text:
    """Returns a format of ratios without the digits below their relative noise."""
    return lambda value, mean: rounded(value, min(2 if mean < 10 else 1, decimals(mean, noise)))


def time_text(noise: float | None) -> Text:
    """Returns a format of times with three digits, without those below their relative noise."""
    return lambda value, mean: rounded(value, min(three_decimals(mean), decimals(mean, noise or 0.0)))


def target_time_text(runs: pd.DataFrame) -> Text:
    """Returns the format of the runs' times to the target."""
    noise = noise_of(runs)
    return time_text(noise and (noise.time_to_target or noise.iteration_time))


def iteration_time_text(runs: pd.DataFrame) -> Text:
    noise = noise_of(runs)
    return time_text(noise and noise.iteration_time)


def rounded(value: float, places: int) -> str:
    return f"{round(value, places):.{max(0, places)}f}"


def three_digits(value: float, mean: float | None = None) -> str:
    """Formats `value` with as many decimals as give the mean, or itself if there is none, three digits."""
    size = abs(value if mean is None else mean)
    return f"{value:.2e}" if 0.0 < size < 1e-3 else f"{value:.{three_decimals(size)}f}"


def three_decimals(size: float) -> int:
    """Returns how many decimals give a number of this size three digits."""
    return max(0, 2 - math.floor(math.log10(abs(size)))) if size else 0


def whole_number(value: float, _mean: float) -> str:
    return f"{value:.0f}"
