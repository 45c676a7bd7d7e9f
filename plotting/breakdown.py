#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where the time of an iteration goes: for each method a bar for the training thread, and one for the communication thread."""
from __future__ import annotations

import sys
from typing import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from shared.comparison import Comparison, Panel
from shared.figure import (
    ON_WHITE,
    add_origin,
    first_in_rows,
    legend_below,
    marks_of,
    methods_shown,
    new_figure,
    row_name,
    run_figure,
    state_of,
)
from shared.iteration_parts import OF_COMMUNICATION_THREAD, OF_TRAINING_THREAD, WAIT, WHOLE, Part
from shared.number_text import three_digits
from shared.report import InputError
from shared.small_print import OF_MEANS

ROW_HEIGHT_IN, MARGINS_IN = 0.3, 0.95
# From the middle of a method's row, which is 1 high.
TRAINING_AT, TRAINING_HEIGHT = -0.12, 0.5
COMMUNICATION_AT, COMMUNICATION_HEIGHT = 0.27, 0.2
# For the number beyond the longest bar, as a share of it: in a single panel, and in one of several, which is narrower.
ROOM_FOR_NUMBERS, ROOM_IN_NARROW_PANELS = 0.42, 0.6
# The legend has parts that take this share of any method's iteration; smaller ones cannot be seen.
LEAST_SHARE = 0.005


def main(arguments: Sequence[str] | None = None) -> int:
    return run_figure(
        "breakdown",
        "Draw where the mean time of an iteration goes. The upper bar of a method is its training thread: compute and\n"
        "waits, together the iteration. The lower one is its communication thread, which the backward pass may hide in part.",
        draw,
        arguments,
    )


def draw(comparison: Comparison) -> Figure:
    most_methods = max(panel.runs.method.nunique() for panel in comparison.panels)
    figure, axes = new_figure(
        len(comparison.panels), panel_height_in=MARGINS_IN + ROW_HEIGHT_IN * most_methods, look=comparison.look
    )
    largest: dict[Part, float] = {}
    for panel, own in zip(comparison.panels, axes):
        for part, share in draw_panel(own, panel, comparison).items():
            largest[part] = max(share, largest.get(part, 0.0))
    if not largest:
        raise InputError(f"{comparison.results.directory}: no completed run has times of iterations")
    longest = max(own.get_xlim()[1] for own in axes)
    for own in axes:
        own.set_xlim(0.0, longest)
    seen = [part for part in (*OF_TRAINING_THREAD, *OF_COMMUNICATION_THREAD, WHOLE) if largest.get(part, 0.0) >= LEAST_SHARE]
    handles = [Patch(color=part.colour, label=f"{part.label} (%)" if part == WAIT else part.label) for part in seen]
    legend_below(first_in_rows(axes)[-1], ncols=2 if len(axes) == 1 else 1, handles=handles)
    methods = methods_shown(comparison)
    axes[0].set_yticks(range(len(methods)), [row_name(method, comparison) for method in methods])
    axes[0].set_ylim(len(methods) - 0.5, -0.5)
    add_origin(figure, comparison, OF_MEANS)
    return figure


def draw_panel(axes: Axes, panel: Panel, comparison: Comparison) -> dict[Part, float]:
    """Returns the parts that it has drawn, each with its largest share of an iteration."""
    drawn: dict[Part, float] = {}
    longest_ms = 0.0
    by_method = dict(list(panel.runs.groupby("method", sort=False)))
    for row, method in enumerate(methods_shown(comparison)):
        if method not in by_method:
            continue
        runs = by_method[method]
        done = runs[(runs.status == "completed") & runs[column_of(WHOLE)].notna()]
        if done.empty:
            axes.text(0.01, row, state_of(runs), transform=axes.get_yaxis_transform(), va="center", style="italic")
            continue
        whole_ms = mean_ms(done, WHOLE)
        training = known_parts(done, OF_TRAINING_THREAD)
        if len(training) < len(OF_TRAINING_THREAD):
            training = {WHOLE: whole_ms}
        communication = known_parts(done, OF_COMMUNICATION_THREAD)
        end_ms = max(
            draw_bar(axes, row + TRAINING_AT, TRAINING_HEIGHT, training),
            draw_bar(axes, row + COMMUNICATION_AT, COMMUNICATION_HEIGHT, communication),
        )
        text = number_of(whole_ms, training.get(WAIT)) + marks_of(done)
        axes.annotate(text, (end_ms, row), xytext=(3, 0), textcoords="offset points", va="center", bbox=ON_WHITE)
        longest_ms = max(longest_ms, end_ms)
        for part, length_ms in (training | communication).items():
            drawn[part] = max(length_ms / whole_ms, drawn.get(part, 0.0))
    room = ROOM_FOR_NUMBERS if len(comparison.panels) == 1 else ROOM_IN_NARROW_PANELS
    axes.set_xlim(0.0, (1.0 + room) * (longest_ms or 1.0))
    axes.grid(visible=False, axis="y")
    axes.set_title(panel.title)
    axes.set_xlabel("Time per iteration (ms)")
    return drawn


def draw_bar(axes: Axes, place: float, height: float, parts_ms: dict[Part, float]) -> float:
    """Draws the parts one after another. Returns the end."""
    end_ms = 0.0
    for part, length_ms in parts_ms.items():
        axes.barh(place, length_ms, height, left=end_ms, color=part.colour, linewidth=0, gid=part.name)
        end_ms += length_ms
    return end_ms


def number_of(whole_ms: float, wait_ms: float | None) -> str:
    """Returns the time of an iteration and the share of it that waits for the exchange: "501 ms, 96 %"."""
    text = f"{three_digits(whole_ms)} ms"
    return text if wait_ms is None else f"{text}, {100.0 * wait_ms / whole_ms:.0f} %"


def known_parts(runs: pd.DataFrame, parts: Sequence[Part]) -> dict[Part, float]:
    """Returns the means in ms of the parts that all runs know."""
    return {part: mean for part in parts if (mean := mean_ms(runs, part)) is not None}


def column_of(part: Part) -> str:
    return f"iteration_time_s.{part.name}"


def mean_ms(runs: pd.DataFrame, part: Part) -> float | None:
    """Returns None if a run does not know it."""
    column = column_of(part)
    if column not in runs.columns or runs[column].isna().any():
        return None
    return 1e3 * float(runs[column].mean())


if __name__ == "__main__":
    sys.exit(main())
