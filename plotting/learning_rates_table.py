#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tabulates each method's final accuracy at each learning rate of a grid, and chooses a rate."""
from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Sequence

import pandas as pd

from shared.comparison import common_target, in_words, quantity_key, with_modes
from shared.destination import MARKERS_OF_NAME, markers_of, write_to_destination
from shared.load import Results, load
from shared.markdown_table import UNKNOWN, grid, in_markdown, records_parser
from shared.number_text import three_digits
from shared.origin import whole_origin
from shared.report import InputError, Question
from shared.target import Target

AXIS = "optimiser.learning_rate"
# Below this share, one seed does not tell two rates apart.
TOLERANCE = 0.01


@dataclass(frozen=True)
class Trial:
    """A method's runs at one rate: the mean of their final levels; None if one did not end, or not with a number."""

    rate: float
    level: float | None


def main(arguments: Sequence[str] | None = None) -> int:
    parser = records_parser(
        "learning_rates_table",
        "Tabulate each method's final accuracy, or loss, at each learning rate of a grid, and choose a rate:\n"
        "the lowest that is about as good as the best.\n"
        "Methods that were not in the grid are untuned.",
        "  thinpipe run experiments/learning-rates.json\n"
        "  python3 plotting/learning_rates_table.py results/learning-rates --experiment experiments/convergence.json",
        MARKERS_OF_NAME,
        f"folder of records of an experiment that sweeps {AXIS}",
    )
    parser.add_argument(
        "--experiment", type=Path, metavar="FILE", help="the experiment whose methods and learning rates are judged"
    )
    parser.add_argument(
        "--together",
        action="store_true",
        help="choose one rate per method for all combinations of the other axes, such as models: by the mean of their "
        "levels, in a table of its own",
    )
    options = parser.parse_args(arguments)

    def make() -> str:
        results = load(options.results, Question.of(options))
        return table(results, rates_of(options.experiment) if options.experiment else {}, options.together)

    return write_to_destination("learning_rates_table", make, options, *markers_of(options.results))


def rates_of(experiment: Path) -> dict[str, float | None]:
    """Returns the learning rate of each method of an experiment's file; None if it is the optimiser's default."""
    try:
        content = json.loads(experiment.read_text(encoding="utf-8"))
        base, methods = content["base"], content["sweep"]["method"]
        return {name: rate_in(patch, rate_in(base, None)) for name, patch in methods.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(
            f"--experiment {experiment}: cannot read the methods of its sweep ({error!r}); name an experiment's file "
            'with an axis "method" of labels and patches'
        ) from error


def rate_in(config: dict[str, Any], otherwise: float | None) -> float | None:
    return config.get("optimiser", {}).get("learning_rate", otherwise)


def table(results: Results, used: dict[str, float | None], together: bool = False) -> str:
    """Returns one table with notes per combination of the other swept axes, then the origin.

    Together, rates are chosen and judged in one more table, of the means over the combinations.
    """
    runs = results.runs
    if not all(AXIS in axes for axes in runs.other_axes):
        raise InputError(
            f"{results.directory}: not every run has an axis {AXIS}; sweep it, as in experiments/learning-rates.json"
        )
    target = common_target(results)
    others = [{axis: value for axis, value in axes.items() if axis != AXIS} for axes in runs.other_axes]
    runs = runs.assign(panel=[in_words(each) for each in with_modes(others, runs["mode"])])
    panels = {
        title: {method: trials_of(each) for method, each in runs[runs.panel == title].groupby("method", sort=False)}
        for title in sorted(runs.panel.unique(), key=quantity_key)
    }
    if not together:
        return "\n".join([*(panel(title, each, target, used) for title, each in panels.items()), origin(runs)])
    parts = [panel(title, each, target, None) for title, each in panels.items()]
    return "\n".join([*parts, panel("mean of the above", means_of(list(panels.values())), target, used), origin(runs)])


def origin(runs: pd.DataFrame) -> str:
    return in_markdown(whole_origin(runs)) + "\n"


def panel(
    title: str, trials: dict[str, list[Trial]], target: Target, used: dict[str, float | None] | None
) -> str:
    """Returns a table, and notes on it; only the levels if what is used is None."""
    order = sorted({trial.rate for each in trials.values() for trial in each})
    heading = f"**{in_markdown(title)}**\n\n" if title else ""
    rows = grid([row(method, each, order, target, used) for method, each in trials.items()])
    return heading + rows + "".join(["\n", *(f"{note}\n" for note in notes(trials, target, used))])


def means_of(panels: Sequence[dict[str, list[Trial]]]) -> dict[str, list[Trial]]:
    """Returns the mean level of each method and rate that are in all tables; None if it is unknown in one."""
    means: dict[str, list[Trial]] = {}
    for method in panels[0]:
        levels = [{trial.rate: trial.level for trial in each.get(method, [])} for each in panels]
        means[method] = [
            Trial(rate, mean_of(pd.Series([each[rate] for each in levels], dtype=float)))
            for rate in levels[0]
            if all(rate in each for each in levels)
        ]
    return means


def trials_of(runs: pd.DataFrame) -> list[Trial]:
    rates = pd.Series([float(axes[AXIS]) for axes in runs.other_axes], index=runs.index)
    levels = runs.final_level.where(runs.status == "completed")
    return [Trial(rate, mean_of(levels[rates == rate])) for rate in sorted(rates.unique())]


def mean_of(levels: pd.Series) -> float | None:
    return None if levels.isna().any() else float(levels.mean())


def best_of(trials: Sequence[Trial], target: Target) -> Trial | None:
    """Returns the best trial; the lowest rate of equal ones, None if none has a level."""
    known = [trial for trial in trials if trial.level is not None]
    return min(known, key=lambda trial: trial.level if target.is_loss else -trial.level) if known else None


def chosen_of(trials: Sequence[Trial], target: Target) -> Trial | None:
    """Returns the lowest rate that is about as good as the best: higher ones are closer to divergence."""
    best = best_of(trials, target)
    if best is None:
        return None
    allowed = TOLERANCE * (best.level if target.is_loss else 1)
    return next(each for each in trials if each.level is not None and abs(each.level - best.level) <= allowed)


def row(
    method: str, trials: Sequence[Trial], order: Sequence[float], target: Target, used: dict[str, float | None] | None
) -> dict[str, str]:
    best = best_of(trials, target)
    cells = {"method": method}
    by_rate = {trial.rate: trial for trial in trials}
    for rate in order:
        cells[f"{rate:g}"] = level_text(by_rate[rate], target) if rate in by_rate else UNKNOWN
    if used is None:
        return cells
    cells["best"] = UNKNOWN if best is None else f"{best.rate:g}"
    chosen = chosen_of(trials, target)
    cells["chosen"] = UNKNOWN if chosen is None else f"{chosen.rate:g}"
    if used:
        cells["used"] = rate_text(used[method]) if method in used else UNKNOWN
    return cells


def level_text(trial: Trial, target: Target) -> str:
    if trial.level is None:
        return "failed"
    return three_digits(trial.level) if target.is_loss else f"{100 * trial.level:.1f}"


def rate_text(rate: float | None) -> str:
    return "default" if rate is None else f"{rate:g}"


def notes(trials: dict[str, list[Trial]], target: Target, used: dict[str, float | None] | None) -> list[str]:
    lines = [f"Final {target.noun}{'' if target.is_loss else ' in %'} at each learning rate."]
    if used is None:
        return lines
    lines.append(f"Chosen: the lowest rate within {'1 %' if target.is_loss else 'one point'} of the best.")
    chosen = {method: chosen_of(each, target) for method, each in trials.items()}
    best = {method: best_of(each, target) for method, each in trials.items()}
    at_the_end = [
        method
        for method, trial in best.items()
        if trial is not None and len(trials[method]) > 1 and trial in (trials[method][0], trials[method][-1])
    ]
    if at_the_end:
        lines.append(f"Best at an end of their rates, so that one beyond may be better: {listed_names(at_the_end)}.")
    if not used:
        return lines
    others = [method for method, rate in used.items() if (trial := chosen.get(method)) and rate != trial.rate]
    if others:
        lines.append(f"Used with another rate than the chosen one: {listed_names(others)}.")
    failed = [method for method in used if method in best and best[method] is None]
    if failed:
        lines.append(f"Without a best rate, because runs failed at each rate: {listed_names(failed)}.")
    untuned = [method for method in used if method not in best]
    if untuned:
        lines.append(f"Untuned, because they are not in the grid: {listed_names(untuned)}.")
    return lines


def listed_names(names: Sequence[str]) -> str:
    return "; ".join(in_markdown(name) for name in names)  # names have commas


if __name__ == "__main__":
    sys.exit(main())
