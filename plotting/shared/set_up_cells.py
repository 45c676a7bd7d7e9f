# SPDX-License-Identifier: Apache-2.0
"""The columns "with set-up" of tables: times and speed-ups that include pre-training and pruning."""
from __future__ import annotations

import pandas as pd

from shared.comparison import Comparison
from shared.markdown_table import Cell, ratio_cell, spread_cell, to_target_cell
from shared.number_text import Text, three_digits, whole_number
from shared.report import Group, Spread

# Of the report's names for times and speed-ups that include the cost of set-up (docs/reference/metrics.md).
WITH_SET_UP = "_with_set_up"


def time_with_set_up_cell(runs: pd.DataFrame, group: Group, text: Text) -> Cell:
    """Returns a cell with the mean of the times to the target with set-up, likewise a lower bound if some runs did not
    reach it."""
    name = f"time_to_accuracy{WITH_SET_UP}_s"
    if group.spread(name).count < group.spread("time_to_accuracy_s").count:
        return unknown_set_up_cell(name, "lower")
    return to_target_cell(name, runs, group, text)


def speed_up_with_set_up_cell(runs: pd.DataFrame, group: Group, baseline: str) -> Cell:
    name = f"speed_up_over_{baseline}{WITH_SET_UP}"
    if group.spread(name).count < group.spread(f"speed_up_over_{baseline}").count:
        return unknown_set_up_cell(name, "lower", "upper")
    return ratio_cell(group, "speed_up_over", baseline, runs, WITH_SET_UP)


def unknown_set_up_cell(name: str, *bounds: str) -> Cell:
    """Returns a cell in place of a value whose set-up cost is not known for all of the runs. bounds: that it may be."""
    cell = spread_cell(name, Spread(0, None, None, None), whole_number, "unknown")
    return Cell(cell.text, cell.numbers | {f"{name}_is_{bound}_bound": None for bound in bounds})


def set_up_note(comparison: Comparison) -> str:
    """Returns the meaning of times with set-up, and the range of what it adds."""
    groups = (comparison.results.groups[name] for name in comparison.runs.group.unique())
    costs = [spread.mean for group in groups if (spread := group.spread("set_up_s")).mean is not None]
    about = "With set-up: pre-training and pruning are added to both times"
    if not costs:
        return f"{about}; unknown, because the records are older than their measurement."
    low, high = (three_digits(cost) for cost in (min(costs), max(costs)))
    return f"{about}: {low if low == high else f'{low} to {high}'} s here."
