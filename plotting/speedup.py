#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Speed-up over dense and over fp16 in time to the target: each run, the mean and its interval per method."""
from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from shared.comparison import Comparison, Panel
from shared.dots import MARK_WIDTH, MEAN_SIZE, Dots, draw_dots, ratio_dots, room_for_marks, scale
from shared.figure import (
    ON_WHITE,
    TimeUnit,
    add_origin,
    legend_below,
    marks_of,
    mean_time,
    methods_shown,
    new_figure,
    row_name,
    run_figure,
    state_of,
    time_unit,
)
from shared.method_style import MethodStyle
from shared.report import InputError
from shared.small_print import OF_RATIOS, missing_of_ratio

BASELINES = ("dense", "fp16")
# Both rows of a method have its colour and marker; the lower one, over fp16, is pale.
PALE = {"dense": False, "fp16": True}
ROW_HEIGHT = 0.38
# Room for a number beyond the last dot, as a share of the axis; and for one with the number of runs that have a speed-up.
ROOM_FOR_NUMBERS, ROOM_FOR_COUNTS = 0.25, 1.7


@dataclass(frozen=True)
class Speedup:
    """A method's speed-up over a baseline, the mean over seeds. `sign`: "≥" of a lower bound, because a baseline run did not
    reach the target; "≤" of an upper one, because a run did not; "" otherwise. `mark`: of a network that was not faithful.
    `missing`: the number of runs that reached the target or have a speed-up, such as "2 of 3", if not all do."""

    mean: float
    sign: str
    mark: str
    missing: str

    def text(self) -> str:
        return f"{self.sign}{' ' if self.sign else ''}{self.mean:.{2 if self.mean < 10 else 1}f}×{self.mark}"

    def counted_text(self) -> str:
        return self.text() + (f" ({self.missing})" if self.missing else "")


def main(arguments: Sequence[str] | None = None) -> int:
    return run_figure(
        "speedup",
        "Draw each method's speed-up over dense and over fp16 in time to the target.",
        draw,
        arguments,
    )


def draw(comparison: Comparison) -> Figure:
    most_methods = max(panel.runs.method.nunique() for panel in comparison.panels)
    figure, axes = new_figure(
        len(comparison.panels), panel_height_in=1.0 + 0.33 * most_methods, share_x=True, look=comparison.look
    )
    drawn = [draw_panel(panel_axes, panel, comparison) for panel, panel_axes in zip(comparison.panels, axes)]
    if not any(has_baselines for has_baselines, _ in drawn):
        raise InputError(
            f"{comparison.results.directory}: no speed-up can be drawn, because no run has a baseline: a completed dense or "
            "fp16 run of its seed that differs only in method and pruning"
        )
    scale(axes[0], [end for _, ends in drawn for end in ends], also=[1.0])
    low, high = axes[0].get_xlim()
    is_log = axes[0].get_xscale() == "log"
    some_missed = any(runs.reached.nunique() > 1 for _, runs in comparison.runs.groupby("group"))
    room = ROOM_FOR_COUNTS if some_missed else ROOM_FOR_NUMBERS
    axes[0].set_xlim(low, high * (high / low) ** room if is_log else (1.0 + room) * high)
    label_methods(axes, comparison)
    add_origin(figure, comparison, OF_RATIOS)
    return figure


def draw_panel(axes: Axes, panel: Panel, comparison: Comparison) -> tuple[bool, list[float]]:
    """Draws the methods of one panel. Returns whether it has baselines, and the ends of all that has a speed-up: none if
    no method reached the target."""
    baselines = {
        name: runs for name in BASELINES if len(runs := baseline_runs(panel.runs, name, comparison.runs))
    }
    unit = time_unit(comparison.runs)
    ends: list[float] = []
    groups = dict(list(panel.runs.groupby("method", sort=False)))
    for row, method in enumerate(methods_shown(comparison)):
        if method in groups:
            ends += draw_group(axes, row, groups[method], list(baselines), comparison.styles[method], unit, comparison)
    axes.axvline(1.0, color="0.35", linewidth=0.7, zorder=1.5)
    axes.grid(visible=False, axis="y")
    axes.set_title(panel.title)
    axes.set_xlabel(f"Speed-up in time to {comparison.target.phrase}")
    if baselines:
        legend_below(
            axes,
            ncols=2 if all(runs.reached.all() for runs in baselines.values()) else 1,
            handles=[handle_of(name, runs) for name, runs in baselines.items()],
        )
    return bool(baselines), ends


def handle_of(baseline: str, runs: pd.DataFrame) -> Line2D:
    alpha = 0.45 if PALE[baseline] else 1.0
    label = baseline_label(baseline, runs)
    return Line2D([], [], color="0.25", alpha=alpha, marker="o", markersize=MEAN_SIZE, linewidth=1.2, label=label)


def baseline_runs(runs: pd.DataFrame, name: str, among: pd.DataFrame) -> pd.DataFrame:
    """Returns the runs, `among` these, that are baselines of `runs` by this name."""
    column = f"baseline_{name}"
    return among[among.run_id.isin(runs[column].dropna())] if column in runs.columns else among.iloc[:0]


def baseline_label(name: str, runs: pd.DataFrame) -> str:
    return f"over {name}" + ("" if runs.reached.all() else " (≥: it did not reach the target)")


def speedup_over(name: str, runs: pd.DataFrame, comparison: Comparison) -> Speedup | None:
    """Returns the speed-up of runs that differ only in their seed over this baseline; None if there is none."""
    if runs.empty:
        return None
    group = comparison.group(runs)
    ratio = group.ratio("speed_up_over", name)
    if not ratio.spread.count:
        return None
    return Speedup(ratio.spread.mean, ratio.sign, group.mark(name), missing_of_ratio(group, ratio, len(runs)))


def draw_group(
    axes: Axes,
    row: int,
    runs: pd.DataFrame,
    baselines: Sequence[str],
    style: MethodStyle,
    unit: TimeUnit,
    comparison: Comparison,
) -> list[float]:
    """Draws one method: a row of dots per baseline, or words in their place. Returns the ends of the dots."""
    speedups = {name: each for name in baselines if (each := dots_over(name, runs, comparison)) is not None}
    ends: list[float] = []
    for place, (name, (speedup, dots)) in enumerate(speedups.items()):
        y = row + (place - (len(speedups) - 1) / 2) * ROW_HEIGHT
        draw_dots(axes, y, dots, style, 0.6 * ROW_HEIGHT, pale=PALE[name])
        mark = room_for_marks(dots, dots.ends[1])
        axes.annotate(
            speedup.counted_text(),
            (dots.ends[1], y),
            xytext=(5 + MARK_WIDTH * len(mark), 0),
            textcoords="offset points",
            va="center",
            bbox=ON_WHITE,
        )
        ends += dots.ends
    if not speedups:
        axes.text(
            0.01,
            row,
            words_for(runs, unit, comparison) + marks_of(runs),
            transform=axes.get_yaxis_transform(),
            va="center",
            color="0.25",
            style="italic",
            bbox=ON_WHITE,
        )
    return ends


def dots_over(name: str, runs: pd.DataFrame, comparison: Comparison) -> tuple[Speedup, Dots] | None:
    speedup, dots = speedup_over(name, runs, comparison), ratio_dots(runs, comparison, "speed_up_over", name)
    return (speedup, dots) if speedup and dots else None


def words_for(runs: pd.DataFrame, unit: TimeUnit, comparison: Comparison) -> str:
    """Returns the words in place of dots: a run without a speed-up is a result too."""
    target = comparison.target
    if runs.reached.any():
        time, state = mean_time(runs, unit, comparison), state_of(runs)
        return f"{time}, {state}" if state else f"reached in {time}"
    if runs.best_level.isna().all():
        return state_of(runs)
    return f"{state_of(runs)} (best {target.level_text(target.best(runs.best_level))})"


def label_methods(axes: list[Axes], comparison: Comparison) -> None:
    """Labels the rows with the methods' names; a single panel also has room for their times and iterations."""
    by_method = dict(list(comparison.runs.groupby("method", sort=False)))
    shown = methods_shown(comparison)
    names = [row_name(method, comparison) for method in shown]
    if len(axes) == 1:
        names = [
            name + cost(by_method[method], time_unit(comparison.runs), comparison) for name, method in zip(names, shown)
        ]
    axes[0].set_yticks(range(len(shown)), names)
    axes[0].set_ylim(len(shown) - 0.5, -0.5)
    for each in axes:
        each.tick_params(axis="y", length=0)


def cost(runs: pd.DataFrame, unit: TimeUnit, comparison: Comparison) -> str:
    if not runs.reached.any():
        return ""
    iterations = comparison.group(runs).to_target("iterations_to_target")
    count = f"{iterations.before}{iterations.spread.mean:.0f}"
    return f"\n{mean_time(runs, unit, comparison)}{marks_of(runs)}, {count} iterations"


if __name__ == "__main__":
    sys.exit(main())
