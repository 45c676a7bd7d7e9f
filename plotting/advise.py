#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the prediction of `thinpipe advise`: each method's speed-up over dense against the links' cap."""
from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from shared.figure import add_small_print, legend_label
from shared.figure_file import OUTPUT_HELP, command_of, output_path, save
from shared.look import PAGE_WIDTH_IN, Look, Wishes, add_look_options, style_context
from shared.method_style import MethodStyle, short_name, styles_of
from shared.report import InputError, find_program

BASELINE = "dense"
SCHEMA_VERSION = 1
HEIGHT_IN = 3.0
UNITS = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"))

Advice = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="advise.py",
        description="Draw each method's predicted speed-up over dense per iteration against the bottlenecks' cap.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="all other arguments are those of thinpipe advise, whose prediction is drawn\n\n"
        "examples:\n"
        "  python3 plotting/advise.py three-switch --parameters 25e6 --compute '120 ms' --output advice.png\n"
        "  thinpipe advise three-switch --model small_cnn --compute '50 ms' --json > advice.json\n"
        "  python3 plotting/advise.py --advice advice.json --output advice.pdf\n"
        "  python3 plotting/advise.py --advice advice.json --width column --no-origin --rename 'topk 0.01=Top-1 %' \\\n"
        "    --order 'pactrain 0.5,topk 0.01' --style paper.mplstyle --output advice.pgf\n\n"
        "exit codes: 0 drawn, 1 the figure could not be written, 2 wrong input",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--advice", type=Path, metavar="FILE", help="a saved output of 'thinpipe advise … --json', instead of the program"
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        default=Path("advice.png"),
        help=f"{OUTPUT_HELP} (default: %(default)s)",
    )
    add_look_options(parser)
    parser.add_argument(
        "--thinpipe",
        type=Path,
        metavar="FILE",
        help="the program (default: $THINPIPE, that of the build or installation, or that in PATH)",
    )
    words = sys.argv[1:] if arguments is None else arguments
    options, for_program = parser.parse_known_args(words)
    try:
        advice = read(options, for_program)
        look = Wishes.of(options).look([method["method"] for method in advice["methods"]])
        with style_context(options.style):
            output = output_path(options.output)
            save(draw(advice, look), output, small_print(advice), command_of("advise", words, None))
    except InputError as error:
        print(f"advise: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"advise: cannot write the figure: {error}", file=sys.stderr)
        return 1
    print(output)
    return 0


def read(options: argparse.Namespace, for_program: Sequence[str]) -> Advice:
    if options.advice is None:
        command = [find_program(options.thinpipe), "advise", *for_program, "--json"]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode != 0:
            raise InputError(ended.stderr.strip().removeprefix("thinpipe: "))
        sys.stderr.write(ended.stderr)
        return checked(json.loads(ended.stdout), "the program's advice")
    name = f"--advice {options.advice}"
    if for_program:
        raise InputError(f"{name}: is already made; leave out {' '.join(for_program)}")
    try:
        return checked(json.loads(options.advice.read_bytes()), name)
    except (OSError, ValueError) as error:
        raise InputError(f"{name}: cannot be read ({error}); write it with: thinpipe advise … --json") from error


def checked(advice: Any, name: str) -> Advice:
    if not isinstance(advice, dict) or "methods" not in advice or "rates_bit_per_s" not in advice:
        raise InputError(f"{name}: is not the output of thinpipe advise … --json")
    if advice["schema_version"] != SCHEMA_VERSION:
        raise InputError(
            f"{name}: has schema_version {advice['schema_version']}, but this script reads {SCHEMA_VERSION}; "
            "use program and script of one version"
        )
    if len(advice["rates_bit_per_s"]) < 2:
        raise InputError(f"{name}: has a single cap; name at least two with --rates, or leave it out")
    return advice


def draw(advice: Advice, look: Look = Look()) -> Figure:
    figure = Figure(figsize=(look.width_in or PAGE_WIDTH_IN, HEIGHT_IN))
    axes = figure.subplots()
    methods = advice["methods"]
    styles = styles_of({method["method"]: short_name(method["synchroniser"]["name"]) for method in methods})
    by_name = {method["method"]: method for method in methods}
    for name in look.sorted(list(by_name)):
        draw_method(axes, by_name[name], advice, styles[name], look.shown(name))
    for rate in sorted(set(map(bits_per_s, advice["caps"]))):
        axes.axvline(rate, color="0.35", linewidth=0.9, linestyle=(0, (1, 2)), zorder=1.5)
    style_axes(axes, advice)
    axes.legend(
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        borderaxespad=0.0,
        title=f"beats dense by more than {100 * (advice['threshold'] - 1):.0f} % at caps",
        title_fontsize="small",
        alignment="left",
        labelspacing=0.6,
    )
    if look.has_origin:
        add_small_print(figure, small_print(advice))
    return figure


def draw_method(axes: Axes, method: Advice, advice: Advice, style: MethodStyle, name: str) -> None:
    """Draws one line, dashed if it is an upper bound, with rings at the ends of the range in which the method pays off."""
    rates = advice["rates_bit_per_s"]
    is_bound = is_upper_bound(method, advice)
    axes.plot(
        rates,
        speed_ups(method, advice),
        **{**style.marks(), **({"marker": ""} if method["method"] == BASELINE else {})},
        markevery=4,
        linestyle=(0, (4, 1.5)) if is_bound else "solid",
        linewidth=0.7 if method["method"] == BASELINE else 1.1,
        label=legend_label(name) + legend_note(method, is_bound),
    )
    for rate in (method[f"pays_off_over_{BASELINE}"] or {}).values():
        if rate is not None:
            axes.plot(
                [rate],
                [advice["threshold"]],
                marker="o",
                markersize=4.5,
                markerfacecolor="white",
                markeredgecolor=style.colour,
                markeredgewidth=1.2,
                linestyle="none",
                zorder=4,
                gid="break-even",
            )


def legend_note(method: Advice, is_bound: bool) -> str:
    if method["method"] == BASELINE:
        return ""
    caps = method[f"caps_over_{BASELINE}"]
    return f": {caps}{' at most' if is_bound and caps != 'never' else ''}"


def is_upper_bound(method: Advice, advice: Advice) -> bool:
    return advice["encode_decode_from"] is not None and method["encode_s"] is None


def speed_ups(method: Advice, advice: Advice) -> list[float]:
    (dense,) = (each for each in advice["methods"] if each["method"] == BASELINE)
    times = zip(dense["iteration_time_by_rate_s"], method["iteration_time_by_rate_s"])
    return [of_dense / own for of_dense, own in times]


def style_axes(axes: Axes, advice: Advice) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(advice["rates_bit_per_s"][0], advice["rates_bit_per_s"][-1])
    axes.set_xlabel("Cap of the bottlenecks")
    axes.set_ylabel("Predicted speed-up over dense per iteration")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _place: rate_text(value)))
    low, high = axes.get_ylim()
    ticks = [tick for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if low <= tick <= high]
    axes.set_yticks(ticks, [f"{tick:g}×" for tick in ticks])
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.minorticks_off()


def rate_text(rate_bit_per_s: float) -> str:
    for size, unit in UNITS:
        if rate_bit_per_s >= 0.9995 * size:
            return f"{rate_bit_per_s / size:.4g} {unit}"
    return f"{rate_bit_per_s:.4g} bit/s"


def bits_per_s(text: str) -> float:
    """Returns the value of a rate that the program printed, such as "100 Mbit/s"."""
    number, unit = text.split()
    return float(number) * {"bit/s": 1.0, **{name: size for size, name in UNITS}}[unit]


def small_print(advice: Advice) -> str:
    compute_ms = f"{1e3 * advice['compute_time_s']:.4g} ms compute"
    parts = [
        "predicted, not measured; accuracy is not predicted",
        f"{advice['model'] + ', ' if advice['model'] else ''}{advice['parameters'] / 1e6:.4g} million parameters",
        f"{advice['workers']} workers, topology {advice['topology']}",
        f"{compute_ms} per iteration, {'measured' if advice['compute_is_measured'] else 'given'}",
        f"dotted: the topology's own cap{'s' if len(advice['caps']) > 1 else ''}, {', '.join(advice['caps'])}",
        f"rings: {advice['threshold']:g}× over dense",
    ]
    if advice["encode_decode_from"] is None:
        parts.append("encode and decode times left out")
    else:
        parts.append(f"encode and decode times of one core ({advice['encode_decode_from']})")
    if any(is_upper_bound(method, advice) for method in advice["methods"]):
        parts.append("dashed: without encode and decode times, which are unknown")
    return " · ".join([*parts, f"commit {str(advice['git_commit'])[:10]}"])


if __name__ == "__main__":
    sys.exit(main())
