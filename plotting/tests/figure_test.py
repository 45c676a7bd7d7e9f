# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of figures."""
import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from typing import Any

import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shared.comparison import Comparison, compare
from shared.load import load
from shared.look import STYLE_FILE
from shared.report import Question

from .records import write


class FigureTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.directory = Path(folder.name) / "quickstart"
        style = matplotlib.style.context(STYLE_FILE)
        style.__enter__()
        self.addCleanup(style.__exit__, None, None, None)

    def compared(
        self, *records: dict[str, Any], target: str | None = None, over: tuple[str, ...] = (), **options: Any
    ) -> Comparison:
        return compare(load(write(self.directory, *records), Question(target, over)), **options)

    def program(self, script: Any, *arguments: str) -> tuple[int, str]:
        """Returns the exit code and the standard error."""
        said = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
            try:
                code = script.main([str(self.directory), *arguments])
            except SystemExit as leaving:
                code = leaving.code
        return code, said.getvalue()


def legend_texts(figure: Figure, panel: int = 0) -> list[str]:
    return [text.get_text() for text in figure.axes[panel].get_legend().get_texts()]


def drawn(axes: Axes, gid: str, upright: bool = False) -> list[list[float]]:
    """Returns the values of the parts of dots.py's dots: gid is "mean", "runs" or "interval"."""
    lines = [line for line in axes.get_lines() if line.get_gid() == gid]
    return [[round(float(value), 6) for value in (line.get_ydata() if upright else line.get_xdata())] for line in lines]


def small_print(figure: Figure) -> str:
    return " ".join(text.get_text() for text in figure.texts).replace("\n", " ")
