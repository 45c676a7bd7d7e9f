# SPDX-License-Identifier: Apache-2.0
"""Draws a method's curves: those of its runs, and over several runs their mean."""
from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from shared.method_style import MethodStyle

RUN_OF_SEVERAL = {"marker": "", "linewidth": 0.6, "alpha": 0.45}


def draw_curves(
    axes: Axes, runs: pd.DataFrame, curves: pd.DataFrame, over: str, style: MethodStyle, label: str, place: int
) -> None:
    """Draws "level" over the column `over` of `curves`, which has points of all runs.

    A method of several runs gets a thick mean and thin runs, which the legend leaves out. A method without points gets an
    empty line, for its legend entry. place: the method's in the panel, so that the markers of like curves stand apart.
    """
    markers = {"markevery": (0.04 * place % 0.2, 0.2)}
    several = len(runs) > 1
    for run in runs.itertuples():
        curve = curves[curves.key == run.key]
        looks = {**style.line(), **(RUN_OF_SEVERAL if several else markers)}
        if run.status != "completed":
            looks["linestyle"] = ":"
        axes.plot(curve[over], curve.level, **looks, label=f"_{label}" if several else label, zorder=3)
    if several:
        mean = mean_curve(runs, curves, over)
        axes.plot(mean[over], mean.level, **style.line(), **markers, label=label, zorder=4)


def mean_curve(runs: pd.DataFrame, curves: pd.DataFrame, over: str) -> pd.DataFrame:
    """Returns the mean of `over` and of the level at each iteration that all completed runs have evaluated.

    Where a run's level is not finite, so is the mean's.
    """
    completed = runs.key[runs.status == "completed"]
    at_iteration = curves[curves.key.isin(completed)].groupby("iteration")[[over, "level"]]
    return at_iteration.agg(lambda values: values.mean(skipna=False))[at_iteration.size() == len(completed)]
