# SPDX-License-Identifier: Apache-2.0
"""Writes figures: as PNG, PDF, SVG or PGF, the same bytes for the same records."""
from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path
from typing import Any, Callable, Sequence

import matplotlib
from matplotlib.backends.backend_pgf import LatexError
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import Formatter

from shared.latex_text import in_latex
from shared.report import InputError

# The formats that figures are written in, by suffix, and their metadata for a description and a command: none has a date.
METADATA: dict[str, Callable[[str, str], dict[str, Any]]] = {
    ".png": lambda description, command: {"Description": description, "Source": command},
    ".pdf": lambda description, command: {"Subject": description, "Keywords": command, "CreationDate": None},
    ".svg": lambda description, command: {"Description": description, "Source": command, "Date": None},
    ".pgf": lambda description, command: {},
}
SUFFIXES = ".png, .pdf, .svg or .pgf"
OUTPUT_HELP = "a PNG; a PDF or an SVG, with vectors; or PGF for \\input in LaTeX, which needs LaTeX itself"
# The programs that can measure text for PGF, in the order of preference. They need Debian's packages.
TEX_SYSTEMS = ("xelatex", "pdflatex", "lualatex")
# Families that name a font of the document; any other is a file of this machine.
FAMILIES = {"serif", "sans-serif", "monospace"}
PGF_FAMILY = "sans-serif"
TEX_PACKAGES = "texlive-xetex, or texlive-latex-recommended and texlive-pictures"


def output_path(output: Path) -> Path:
    """Returns the path. Raises InputError unless its suffix is a supported format and its folder exists."""
    if output.suffix not in METADATA:
        raise InputError(f"--output {output}: must end in {SUFFIXES}")
    if not output.parent.is_dir():
        raise InputError(f"--output {output}: the folder {output.parent} does not exist")
    if output.suffix == ".pgf":
        tex_systems(output)  # raises if there is none
    return output


def tex_systems(output: Path) -> list[str]:
    """Returns the installed programs that may measure text for PGF, first the style's own. Raises InputError if there is
    none."""
    names = dict.fromkeys((matplotlib.rcParams["pgf.texsystem"], *TEX_SYSTEMS))
    if installed := [name for name in names if shutil.which(name)]:
        return installed
    raise InputError(
        f"--output {output}: PGF needs LaTeX to measure text, but none of {', '.join(names)} is installed: install "
        f"Debian's {TEX_PACKAGES}, or write .pdf or .svg"
    )


def command_of(name: str, words: Sequence[str], results: Path | None) -> str:
    """Returns "plotting/NAME.py RESULTS --target 0.7": without the places of results and output, which belong to a machine."""
    kept, is_output = [], False
    for word in words:
        if is_output or word == "--output":
            is_output = not is_output
        elif not word.startswith("--output="):
            kept.append("RESULTS" if results is not None and Path(word) == results else quoted(word))
    return " ".join([f"plotting/{name}.py", *kept])


def quoted(word: str) -> str:
    """Quotes the word for a shell, in ASCII: beyond it, PDF has another encoding."""
    if word.isascii():
        return shlex.quote(word)
    escaped = (f"\\{letter}" if letter in "'\\" else letter if letter.isascii() else f"\\U{ord(letter):08x}" for letter in word)
    return f"$'{''.join(escaped)}'"


def save(figure: Figure, path: Path, description: str, command: str) -> None:
    """Writes the format of the suffix; renames the file into place when complete. It has no date: the same records give
    the same bytes. The file has the command that drew it, in ASCII, for `thinpipe bundle`."""
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        if path.suffix == ".pgf":
            write_pgf(figure, path, temporary, f"{description}\n{command}")
        else:
            figure.savefig(temporary, metadata=METADATA[path.suffix](description, command))
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_pgf(figure: Figure, path: Path, temporary: Path, description: str) -> None:
    """Writes PGF, in the fonts of the document that reads it, with the description as a comment at its head. Raises
    InputError if no LaTeX can measure the text, for example because it lacks fonts or packages."""
    escape(figure)
    problems = []
    for name in tex_systems(path):
        try:
            with matplotlib.rc_context({"pgf.texsystem": name, "pgf.rcfonts": False, "font.family": PGF_FAMILY}):
                figure.savefig(temporary)
            break
        except (LatexError, RuntimeError, OSError) as error:
            lines = str(error).splitlines()
            problems.append(f"{name}: {next((line for line in lines if line.startswith('!')), lines[0])}")
    else:
        raise InputError(
            f"--output {path}: LaTeX cannot measure the text ({'; '.join(problems)}): install Debian's {TEX_PACKAGES}, or "
            "write .pdf or .svg"
        )
    comment = "".join(f"%% {line}\n" for line in description.splitlines())
    temporary.write_text(comment + temporary.read_text(encoding="utf-8"), encoding="utf-8")


def escape(figure: Figure) -> None:
    """Writes every text of the figure for LaTeX, in a font family of the document: labels are the user's text, not
    commands."""
    axes = figure.findobj(lambda artist: hasattr(artist, "xaxis"))
    ticks: set[Text] = set()
    for axis in (axis for each in axes for axis in (each.xaxis, each.yaxis)):
        ticks |= {label for which in ("major", "minor") for label in axis.get_ticklabels(which=which)}
        axis.set_major_formatter(InLatex(axis.get_major_formatter()))
    for text in figure.findobj(Text):
        if not FAMILIES.intersection(text.get_fontfamily()):
            text.set_fontfamily(PGF_FAMILY)
        if text not in ticks:
            text.set_text(in_latex(text.get_text()))


class InLatex(Formatter):
    """A formatter of tick labels whose texts are for LaTeX."""

    def __init__(self, inner: Formatter) -> None:
        self.inner = inner

    def set_axis(self, axis: Any) -> None:
        super().set_axis(axis)
        self.inner.set_axis(axis)

    def set_locs(self, locs: Sequence[float]) -> None:
        super().set_locs(locs)
        self.inner.set_locs(locs)

    def __call__(self, x: float, pos: int | None = None) -> str:
        return in_latex(self.inner(x, pos))

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        return [in_latex(text) for text in self.inner.format_ticks(values)]

    def get_offset(self) -> str:
        return in_latex(self.inner.get_offset())
