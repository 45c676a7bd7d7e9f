"""What all figures say: which runs stand side by side, and when each reached the target."""
from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Callable

import pandas as pd

from load import MODES_WITHOUT_TIME, InputError, Results
from target import Target, hardest

MOST_PANELS = 9
# Their runs stand beside the convergence runs that they are of, so that there is no doubt which are meant.
MODES_OF_CONVERGENCE_RUNS = ("replay", "simulate")


@dataclass(frozen=True)
class Panel:
    """Runs that share all swept values but method and seed. `title` is empty where nothing else is swept."""

    title: str
    runs: pd.DataFrame


@dataclass(frozen=True)
class Comparison:
    """Runs of one mode against one target.

    runs: as in Results, and "reached" (bool), "target_time_s", "target_iteration" (NaN unless reached) and
          "best_level" and "final_level" (of the target's metric), "end_time_s", "end_iteration" (NaN for a
          run without a curve). Times are NaN in a mode without them.
    methods: every method of the experiment in its lasting order, which fixes colours; the failed ones too.
    target_was_preset: whether every run had this target in its configuration, before it started.
    """

    results: Results
    runs: pd.DataFrame
    methods: tuple[str, ...]
    panels: tuple[Panel, ...]
    target: Target
    target_was_preset: bool


def compare(
    results: Results,
    target: Target | None = None,
    mode: str | None = None,
    where: dict[str, str] | None = None,
    panels: Callable[[pd.DataFrame], tuple[Panel, ...]] | None = None,
    needs_time: bool = True,
) -> Comparison:
    """Choose the runs and judge them by the target; the hardest preset one if `target` is None.

    `panels` says which runs are compared with each other: those of panels_of(), if it is None.
    `needs_time` refuses runs of a mode that has no times.
    """
    methods = tuple(dict.fromkeys(results.runs.method))
    results = of_one_mode(results, mode, needs_time)
    if needs_time:
        check_timed(results)
    results = matching(results, where or {})
    target, preset = choose_target(results, target)
    runs = judged(results, target)
    if (runs.target_iteration <= 0).any():
        beyond = "lower" if target.is_loss else "higher"
        raise InputError(
            f"{results.directory}: the target {target.option} is no {beyond} than the {target.noun} a run "
            f"starts from, so it is there at once; give a {beyond} one with --target"
        )
    return Comparison(results, runs, methods, (panels or panels_of)(runs), target, preset)


def of_one_mode(results: Results, mode: str | None, needs_time: bool = True) -> Results:
    modes = sorted(results.runs["mode"].unique())
    if mode is None and len(modes) > 1:
        fitting = [each for each in modes if (each in MODES_WITHOUT_TIME) != needs_time]
        if len(fitting) != 1 or fitting[0] not in MODES_OF_CONVERGENCE_RUNS:
            raise InputError(
                f"{results.directory}: holds runs of the modes {' and '.join(modes)}, which measure time "
                f"differently or not at all; choose one, for example with --mode {(fitting or modes)[0]}"
            )
        mode = fitting[0]
    if mode is not None and mode not in modes:
        raise InputError(f"--mode {mode}: {results.directory} holds runs of mode {', '.join(modes)} only")
    return results.only(results.runs["mode"] == (mode or modes[0]))


def check_timed(results: Results) -> None:
    untimed = results.runs[results.runs["mode"].isin(MODES_WITHOUT_TIME)]
    if len(untimed):
        run = untimed.iloc[0]
        raise InputError(
            f"{results.directory / run.run_id / 'run.json'}: is of mode {run['mode']}, which has no times; "
            "times to a target need runs of mode live (plotting/methods_table.py shows these)"
        )


def matching(results: Results, where: dict[str, str]) -> Results:
    for axis, wanted in where.items():
        values = sorted({axes[axis] for axes in results.runs.other_axes if axis in axes}, key=quantity_key)
        if wanted not in values:
            have = (
                f"it has {', '.join(values)}"
                if values
                else f"swept are {', '.join(swept_axes(results)) or 'none'}"
            )
            raise InputError(f"--where {axis}={wanted}: no run of {results.directory} has this value; {have}")
        results = results.only(pd.Series([axes.get(axis) == wanted for axes in results.runs.other_axes]))
    return results


def swept_axes(results: Results) -> list[str]:
    return sorted({axis for axes in results.runs.other_axes for axis in axes})


def choose_target(results: Results, target: Target | None) -> tuple[Target, bool]:
    """The target, and whether all runs had set it beforehand: one picked afterwards can flatter a method."""
    presets = [set(map(Target.of_configuration, entries)) for entries in results.runs["config.targets"]]
    common = set.intersection(*presets)
    if target is not None:
        return target, any(target.is_same(each) for each in common)
    if not common:
        raise InputError(
            f"{results.directory}: its runs have no target in common; give one with --target, for example "
            "--target 0.84, --target bits_per_byte=2.2 or --target test_loss=0.5"
        )
    if len({each.metric for each in common}) > 1:
        options = sorted(each.option for each in common)
        raise InputError(
            f"{results.directory}: its runs share targets of several metrics ({', '.join(options)}); "
            f"choose one, for example with --target {options[0]}"
        )
    return hardest(common), True


def judged(results: Results, target: Target) -> pd.DataFrame:
    rows = [
        judge(results, run_id, status, target)
        for run_id, status in zip(results.runs.run_id, results.runs.status)
    ]
    return pd.concat([results.runs, pd.DataFrame(rows, index=results.runs.index)], axis="columns")


def judge(results: Results, run_id: str, status: str, target: Target) -> dict[str, object]:
    """When the run reached the target: by its record or, for another target, at the first evaluation there.

    A run that failed has not reached anything: its time is no measurement, whatever its curve touched before.
    """
    curve = results.curves[results.curves.run_id == run_id]
    levels = target.measured(curve)
    outcome: dict[str, object] = {
        "reached": False,
        "target_time_s": math.nan,
        "target_iteration": math.nan,
        "best_level": target.best(levels),
        "final_level": levels.iloc[-1] if len(levels) else math.nan,
        "end_time_s": curve.train_time_s.max(),
        "end_iteration": curve.iteration.max(),
    }
    preset = results.targets[
        (results.targets.run_id == run_id)
        & (results.targets.metric == target.metric)
        & ((results.targets.value - target.value).abs() < 1e-9)
    ]
    reaching = preset[preset.reached.astype(bool)] if len(preset) else curve[target.is_reached(levels)]
    if status == "completed" and len(reaching):
        outcome.update(
            reached=True,
            target_time_s=reaching.train_time_s.iloc[0],
            target_iteration=reaching.iteration.iloc[0],
        )
    return outcome


def panels_of(runs: pd.DataFrame) -> tuple[Panel, ...]:
    titles = [", ".join(f"{axis} = {value}" for axis, value in axes.items()) for axes in runs.other_axes]
    order = sorted(set(titles), key=quantity_key)
    if len(order) > MOST_PANELS:
        raise InputError(
            f"the experiment sweeps {len(order)} combinations beside the method, too many for one figure "
            f"(at most {MOST_PANELS} panels); choose some with --where, for example --where "
            f"'{'='.join(next(iter(runs.other_axes[0].items())))}'"
        )
    panels = tuple(Panel(title, runs[[each == title for each in titles]]) for title in order)
    for panel in panels:
        check_comparable(panel)
    return panels


def check_comparable(panel: Panel) -> None:
    """A difference in time means something only on the same task with the same number of workers."""
    for column in ("config.dataset.name", "config.model.name", "config.workers"):
        values = sorted({str(value) for value in panel.runs[column].dropna()})
        if len(values) > 1:
            raise InputError(
                f"runs that would share a panel differ in {column.removeprefix('config.')} "
                f"({', '.join(values)}): sweep it as an axis of its own, apart from the method"
            )


def also_differing(panel: Panel) -> list[str]:
    """Settings, beside the method's own and the seed, in which runs of a panel differ.

    A method may want its own learning rate; but after an experiment was edited and its sweep not finished,
    old and new settings stand side by side. Whoever reads the figure must be told either way.
    """
    own = re.compile(r"config\.(synchroniser|pruning)\.|config\.seed$")
    columns = [name for name in panel.runs.columns if name.startswith("config.") and not own.match(name)]
    return [
        name.removeprefix("config.")
        for name in columns
        if panel.runs[name].map(str, na_action="ignore").nunique(dropna=False) > 1
    ]


def quantity_key(text: str) -> list[tuple[float, str]]:
    """Order by numbers with their prefixes, so that 100 Mbit/s comes before 1 Gbit/s and 0.01 before 0.1."""
    prefixes = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "m": 1e-3}
    parts = re.findall(r"(\d+(?:\.\d+)?)(?:\s*([kMGTm])(?=i?[Bb]|s))?|([^\d]+)", text)
    return [
        (float(number) * prefixes.get(prefix, 1.0), "") if number else (math.inf, words)
        for number, prefix, words in parts
    ]
