# SPDX-License-Identifier: Apache-2.0
"""Selects the runs that figures and tables compare."""
from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Callable, Iterable, Sequence

import pandas as pd

from shared.load import MODES_WITHOUT_TIME, Results
from shared.look import Look, Wishes
from shared.method_style import MethodStyle, styles_of
from shared.report import Group, InputError
from shared.target import Target

MOST_PANELS = 9
# Runs of these modes share a folder with their convergence runs. If times are needed, only they can be meant.
MODES_OF_CONVERGENCE_RUNS = ("replay", "simulate")


@dataclass(frozen=True)
class Panel:
    """Runs that share all swept values except method and seed. `title` is empty if nothing else is swept."""

    title: str
    runs: pd.DataFrame


@dataclass(frozen=True)
class Comparison:
    """Runs of one mode and one target.

    runs: rows of Results.runs. Their times are NaN in a mode without times.
    methods: every method of the experiment, including failed ones, in a fixed order.
    styles: the style of each of them.
    look: the user's choices; `methods` and `runs` are in its order.
    target_was_preset: true if every run had this target in its configuration before it started.
    """

    results: Results
    runs: pd.DataFrame
    methods: tuple[str, ...]
    panels: tuple[Panel, ...]
    target: Target
    target_was_preset: bool
    styles: dict[str, MethodStyle]
    look: Look = Look()

    def shown(self, method: str) -> str:
        """Returns the method's name for display."""
        return self.look.shown(method)

    def group(self, runs: pd.DataFrame) -> Group:
        return self.results.group(runs)


def compare(
    results: Results,
    mode: str | None = None,
    where: dict[str, str] | None = None,
    panels: Callable[[pd.DataFrame], tuple[Panel, ...]] | None = None,
    needs_time: bool = True,
    wishes: Wishes = Wishes(),
) -> Comparison:
    """Selects the runs, which must have one target.

    `panels` groups the runs that are compared with each other; None means panels_of().
    If `needs_time`, runs of a mode without times are refused.
    """
    styles = styles_of(dict(zip(results.runs.method, results.runs.method_name)))
    look = wishes.look(list(styles))
    results = in_order(results, look)
    methods = tuple(dict.fromkeys(results.runs.method))
    results = of_one_mode(results, mode, needs_time)
    if needs_time:
        check_timed(results)
    results = matching(results, where or {})
    runs, target = results.runs, common_target(results)
    if (runs.target_iteration <= 0).any():
        beyond = "lower" if target.is_loss else "higher"
        raise InputError(
            f"{results.directory}: the target {target.option} is no {beyond} than the {target.noun} a run "
            f"starts from, so it is reached before training; choose a {beyond} one with --target"
        )
    return Comparison(
        results, runs, methods, (panels or panels_of)(runs), target, bool(runs.target_preset.eq(True).all()), styles, look
    )


def in_order(results: Results, look: Look) -> Results:
    """Returns the results with the methods' runs in the user's order."""
    places = {method: place for place, method in enumerate(look.sorted(list(dict.fromkeys(results.runs.method))))}
    runs = results.runs.iloc[results.runs.method.map(places).argsort(kind="stable")].reset_index(drop=True)
    return replace(results, runs=runs) if look.order else results


def of_one_mode(results: Results, mode: str | None, needs_time: bool = True) -> Results:
    modes = sorted(results.runs["mode"].unique())
    if mode is None and len(modes) > 1:
        fitting = [each for each in modes if (each in MODES_WITHOUT_TIME) != needs_time]
        if len(fitting) != 1 or fitting[0] not in MODES_OF_CONVERGENCE_RUNS:
            raise InputError(
                f"{results.directory}: has runs of the modes {' and '.join(modes)}, which measure time "
                f"differently or not at all; choose one, for example with --mode {(fitting or modes)[0]}"
            )
        mode = fitting[0]
    if mode is not None and mode not in modes:
        raise InputError(f"--mode {mode}: {results.directory} has only runs of mode {', '.join(modes)}")
    return results.only(results.runs["mode"] == (mode or modes[0]))


def check_timed(results: Results) -> None:
    untimed = results.runs[results.runs["mode"].isin(MODES_WITHOUT_TIME)]
    if len(untimed):
        run = untimed.iloc[0]
        raise InputError(
            f"{results.directory}: run {run.run_id} is of mode {run['mode']}, which has no times; "
            "times to a target need runs of mode live (plotting/methods_table.py shows these)"
        )


def matching(results: Results, where: dict[str, str]) -> Results:
    for axis, wanted in where.items():
        values = sorted({axes[axis] for axes in results.runs.other_axes if axis in axes}, key=quantity_key)
        if wanted not in values:
            have = (
                f"it has {', '.join(values)}"
                if values
                else f"the swept axes are: {', '.join(swept_axes(results)) or 'none'}"
            )
            raise InputError(f"--where {axis}={wanted}: no run of {results.directory} has this value; {have}")
        results = results.only(pd.Series([axes.get(axis) == wanted for axes in results.runs.other_axes]))
    return results


def swept_axes(results: Results) -> list[str]:
    return sorted({axis for axes in results.runs.other_axes for axis in axes})


def common_target(results: Results) -> Target:
    """Returns the target of all runs. Raises InputError if a run has none or they differ."""
    targets = {Target.of_report(each) for each in results.runs.target.dropna()}
    if len(targets) != 1 or results.runs.target.isna().any():
        known = ", ".join(sorted(each.option for each in targets)) or "none"
        raise InputError(
            f"{results.directory}: its runs have no target in common ({known}); choose one with --target, for example "
            "--target 0.84, --target test_loss=0.5, --target bits_per_byte=2.2 or --target perplexity=40"
        )
    return targets.pop()


def panels_of(runs: pd.DataFrame) -> tuple[Panel, ...]:
    """Groups the runs by their other axes. Titles leave out axes that do not tell panels apart: see shared_axes()."""
    titles = [in_words(axes) for axes in runs.other_axes]
    if len(set(titles)) > 1:
        shared = shared_axes(runs)
        titles = [in_words({axis: value for axis, value in axes.items() if axis not in shared}) for axes in runs.other_axes]
    order = sorted(set(titles), key=quantity_key)
    if len(order) > MOST_PANELS:
        raise InputError(
            f"the experiment sweeps {len(order)} combinations of other axes than the method, too many for one figure "
            f"(at most {MOST_PANELS} panels); select some with --where, for example --where "
            f"'{'='.join(next(iter(runs.other_axes[0].items())))}'"
        )
    panels = tuple(Panel(title, runs[[each == title for each in titles]]) for title in order)
    for panel in panels:
        check_comparable(panel)
    return panels


def shared_axes(runs: pd.DataFrame) -> dict[str, str]:
    """Returns the axes, other than the method, on which all runs have one value."""
    settings = [set(axes.items()) for axes in runs.other_axes]
    return dict(sorted(set.intersection(*settings))) if settings else {}


def with_modes(settings: Sequence[dict[str, str]], modes: Iterable[str]) -> list[dict[str, str]]:
    """Returns the settings of runs, with the runs' modes if a setting has runs of several: such times must neither be
    averaged nor compared."""
    known: dict[frozenset[tuple[str, str]], set[str]] = defaultdict(set)
    pairs = list(zip(settings, modes))
    for setting, mode in pairs:
        known[frozenset(setting.items())].add(mode)
    are_mixed = any(len(each) > 1 for each in known.values())
    return [{**setting, "mode": mode} if are_mixed else setting for setting, mode in pairs]


def in_words(setting: dict[str, str]) -> str:
    return ", ".join(f"{axis} = {value}" for axis, value in setting.items())


def check_comparable(panel: Panel) -> None:
    """Raises InputError unless all runs have the same task and number of workers: otherwise times are not comparable."""
    for column in ("config.dataset.name", "config.model.name", "config.workers"):
        values = sorted({str(value) for value in panel.runs[column].dropna()})
        if len(values) > 1:
            raise InputError(
                f"runs that would share a panel differ in {column.removeprefix('config.')} "
                f"({', '.join(values)}): sweep it on a separate axis, not together with the method"
            )


def also_differing(panel: Panel) -> list[str]:
    """Returns the settings, other than the method's own and the seed, in which runs of a panel differ.

    A method may need its own learning rate. But old and new settings also mix if an experiment was edited and its
    sweep is not finished. The figure's reader must know in either case.
    """
    own = re.compile(r"config\.(synchroniser|pruning)\.|config\.seed$|config\.trainer\.method$")
    columns = [name for name in panel.runs.columns if name.startswith("config.") and not own.match(name)]
    scripted = panel.runs["config.trainer.command"].notna()
    kinds = [runs for runs in (panel.runs[scripted], panel.runs[~scripted]) if len(runs)]
    if len(kinds) == 2:  # a script and thinpipe-trainer have few settings in common: only these are compared
        columns = [name for name in columns if all(runs[name].notna().any() for runs in kinds)]
    differing = [
        name.removeprefix("config.")
        for name in columns
        if panel.runs[name].map(str, na_action="ignore").nunique(dropna=False) > 1
    ]
    return [*differing, "trainer"] if len(kinds) == 2 else differing


def quantity_key(text: str) -> list[tuple[float, str]]:
    """Sorts by numbers with their units: 100 Mbit/s comes before 1 Gbit/s, 100 us before 1 ms, and 1e-05 before 0.01."""
    scales = {"k": 1e3, "K": 1024.0, "M": 1e6, "G": 1e9, "T": 1e12, "m": 1e-3, "us": 1e-6, "min": 60.0, "h": 3600.0}
    number = r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?:\s*(us\b|min\b|h\b|[kKMGTm](?=i?[Bb]|s)))?"
    return [
        (float(digits) * scales.get(unit, 1.0), "") if digits else (math.inf, words)
        for digits, unit, words in re.findall(rf"{number}|([^\d]+)", text)
    ]
