# SPDX-License-Identifier: Apache-2.0
import shutil
import subprocess
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import advise
import fig3
import fig5
import fig6
import heat_map
import speedup
import time_to_accuracy
import waterfall
from shared.comparison import Comparison, compare
from shared.figure_file import TEX_SYSTEMS, command_of
from shared.load import load
from shared.look import Wishes
from shared.report import InputError

from .figure_test import FigureTest, legend_texts, small_print
from .records import METHODS, make_record, write
from .test_advise import made_up

FIGURES = (time_to_accuracy, speedup, waterfall, heat_map, fig3, fig5, fig6, advise)
HAS_TEX = any(map(shutil.which, TEX_SYSTEMS))


class NamesTest(FigureTest):
    def compared_with(self, *records: dict[str, Any], **wishes: Any) -> Comparison:
        return compare(load(write(self.directory, *records)), wishes=Wishes(**wishes))

    def labelled(self, *labels: str) -> list[dict[str, Any]]:
        return [make_record(method, labels={"method": label}) for method, label in zip(METHODS, labels)]

    def test_the_order_is_of_legends_rows_and_tables_alike(self) -> None:
        records = [make_record(name) for name in ("dense", "fp16", "topk 0.1")]
        compared = self.compared_with(*records, order="topk 0.1,dense")
        self.assertEqual(compared.methods, ("topk 0.1", "dense", "fp16"))
        legend = legend_texts(time_to_accuracy.draw(compared))
        self.assertEqual([text.split(":")[0] for text in legend], ["topk 0.1", "dense", "fp16"])
        rows = [label.get_text().split("\n")[0] for label in speedup.draw(compared).axes[0].get_yticklabels()]
        self.assertEqual(rows, ["topk 0.1", "dense", "fp16"])

    def test_names_are_for_display_and_styles_stay(self) -> None:
        records = [make_record("dense"), make_record("fp16")]
        compared = self.compared_with(*records, renames=("fp16=Half, a=b",), order="Half, a=b,dense")
        self.assertEqual(compared.methods, ("fp16", "dense"))
        legend = legend_texts(time_to_accuracy.draw(compared))
        self.assertEqual([text.split(":")[0] for text in legend], ["Half, a=b", "dense"])
        self.assertEqual(compared.styles, self.compared_with(*records).styles)

    def test_names_may_contain_commas_and_equals_signs(self) -> None:
        records = self.labelled("PacTrain 0.9", "PacTrain 0.9, ternary", "k=4")
        compared = self.compared_with(*records, order="PacTrain 0.9, ternary,k=4, PacTrain 0.9", renames=("k=4=rank = 4",))
        self.assertEqual(compared.methods, ("PacTrain 0.9, ternary", "k=4", "PacTrain 0.9"))
        self.assertEqual(compared.shown("k=4"), "rank = 4")

    def test_unknown_names_list_the_known_ones(self) -> None:
        records = [make_record("dense"), make_record("fp16")]
        for wishes, message in (
            ({"order": "dense,topk"}, "--order dense,topk: 'topk' is no method; the methods are: dense; fp16"),
            ({"order": "dense,dense"}, "names 'dense' twice"),
            ({"renames": ("topk=x",)}, "--rename topk=x: must be OLD=NEW with a method for OLD; the methods are: dense; fp16"),
            ({"renames": ("dense",)}, "must be OLD=NEW"),
            ({"renames": ("dense=",)}, "must be OLD=NEW"),
            ({"renames": ("dense=fp16",)}, "several methods would have this name"),
        ):
            with self.assertRaises(InputError) as raised:
                self.compared_with(*records, **wishes)
            self.assertIn(message, str(raised.exception))


class WrittenFigureTest(FigureTest):
    def write_figure(self, suffix: str, *arguments: str) -> bytes:
        output = self.directory.parent / f"figure{suffix}"
        self.assertEqual(self.program(speedup, "--output", str(output), *arguments), (0, ""))
        return output.read_bytes()

    def setUp(self) -> None:
        super().setUp()
        write(self.directory, make_record("dense"), make_record("fp16", labels={"method": r"50 % of #1 & _2 \ {$x$}"}))


class LooksTest(WrittenFigureTest):
    def style(self, text: str) -> Path:
        file = self.directory.parent / "mine.mplstyle"
        file.write_text(text, encoding="utf-8")
        return file

    def test_the_width_is_of_the_written_figure(self) -> None:
        for text, width_in in (("column", 3.5), ("page", 7.16), ("5", 5.0)):
            for script in (time_to_accuracy, waterfall):
                output = self.directory.parent / "figure.svg"
                self.assertEqual(self.program(script, "--output", str(output), "--width", text), (0, ""))
                self.assertIn(f'width="{72 * width_in:g}pt"', output.read_text(encoding="utf-8"))

    def test_panels_of_a_narrow_figure_are_below_each_other(self) -> None:
        records = [make_record("dense"), make_record("fp16")]
        for width_in, columns in ((3.5, 1), (7.16, 2)):
            compared = compare(load(write(self.directory, *records)), wishes=Wishes(width_in))
            lefts = {round(axes.get_subplotspec().get_position(axes.figure).x0, 3) for axes in fig5.draw(compared).axes}
            self.assertEqual(len(lefts), columns)

    def test_without_the_small_print_it_stays_in_the_metadata(self) -> None:
        comparison = self.compared(make_record("dense"))
        self.assertIn("commit", small_print(speedup.draw(comparison)))
        without = compare(comparison.results, wishes=Wishes(has_origin=False))
        self.assertNotIn("commit", small_print(speedup.draw(without)))
        for suffix in (".png", ".svg"):
            self.assertIn("commit 8991000f2c".encode(), self.write_figure(suffix, "--no-origin"))

    def test_the_command_stays_in_the_metadata_without_places(self) -> None:
        write(self.directory, make_record("dense"))
        for suffix in (".png", ".svg", ".pdf"):
            written = self.write_figure(suffix, "--rename", "dense=sum of all")
            self.assertIn(b"plotting/speedup.py RESULTS --rename 'dense=sum of all'", written)

    def test_the_command_has_the_words_of_the_command_line(self) -> None:
        words = ["--output", "a.png", "--rename", "dense=µ 'x' \\n", "r", "--output=r", "--width", "column"]
        command = command_of("fig3", words, Path("r"))
        self.assertTrue(command.isascii(), command)
        printed = ["env", "LC_ALL=C.UTF-8", "bash", "-c", f"printf '%s\\n' {command}"]
        read = subprocess.run(printed, check=True, capture_output=True, text=True).stdout.splitlines()
        self.assertEqual(read, ["plotting/fig3.py", "--rename", "dense=µ 'x' \\n", "RESULTS", "--width", "column"])

    def test_a_style_is_applied_after_ours_and_methods_keep_their_colours(self) -> None:
        plain = self.write_figure(".svg")
        styled = self.write_figure(".svg", "--style", str(self.style("grid.color: ff00ff\n")))
        self.assertIn(b"#ff00ff", styled)
        self.assertNotIn(b"#ff00ff", plain)
        self.assertIn(b"#0072b2", styled)

    def test_a_wrong_style_is_refused_with_a_remedy(self) -> None:
        for text, message in (
            ("font.sise: 9\n", "mine.mplstyle:1: 'font.sise' is no setting of matplotlib; did you mean font.size?"),
            ("# ours\nfont.size: big\n", "mine.mplstyle: Key font.size: Could not convert 'big'"),
            ("no colon\n", "'no colon' is no setting"),
        ):
            code, said = self.program(speedup, "--style", str(self.style(text)))
            self.assertEqual(code, 2, said)
            self.assertIn(message, said)
        code, said = self.program(speedup, "--style", "/nowhere.mplstyle")
        self.assertEqual((code, said.count("\n")), (2, 1))
        self.assertIn("--style /nowhere.mplstyle: cannot be read", said)

    def test_a_wrong_width_names_the_right_ones(self) -> None:
        for text in ("half", "0", "100", "nan"):
            code, said = self.program(speedup, "--width", text)
            self.assertEqual(code, 2)
            self.assertIn(f"'{text}' must be column (3.5), page (7.16) or inches from 1 to 30", said)

    def test_every_figure_has_the_options_with_an_example(self) -> None:
        for script in FIGURES:
            with mock.patch("sys.stdout") as out, self.assertRaises(SystemExit):
                script.main(["--help"])
            text = "".join(call.args[0] for call in out.write.call_args_list)
            for option in ("--style FILE", "--width IN", "--order NAME", "--rename OLD=NEW", "--no-origin"):
                self.assertIn(option, text, script.__name__)
            self.assertIn("--width column --no-origin", text, script.__name__)

    def test_the_advice_has_them_too(self) -> None:
        compared = Wishes(3.5, False, "topk 0.01,dense", ("fp16=Half",)).look(["dense", "fp16", "topk 0.01"])
        figure = advise.draw(made_up(), compared)
        self.assertEqual(figure.get_figwidth(), 3.5)
        self.assertEqual(small_print(figure), "")
        self.assertEqual([text.split(":")[0] for text in legend_texts(figure)], ["topk 0.01", "dense", "Half"])


class PgfTest(WrittenFigureTest):
    def test_without_latex_one_line_names_the_package(self) -> None:
        with mock.patch("shutil.which", return_value=None):
            code, said = self.program(speedup, "--output", str(self.directory.parent / "figure.pgf"))
        self.assertEqual((code, said.count("\n")), (2, 1), said)
        self.assertIn("none of xelatex, pdflatex, lualatex is installed: install Debian's texlive-xetex", said)

    def test_a_latex_that_fails_is_one_line_too(self) -> None:
        broken = self.directory.parent / "bin"
        broken.mkdir()
        for name in TEX_SYSTEMS:
            (broken / name).write_text("#!/bin/sh\necho '! No such font.'\nexit 1\n", encoding="utf-8")
            (broken / name).chmod(0o755)
        with mock.patch.dict("os.environ", {"PATH": f"{broken}:/usr/bin:/bin"}):
            code, said = self.program(speedup, "--output", str(self.directory.parent / "figure.pgf"))
        self.assertEqual((code, said.count("\n")), (2, 1), said)
        self.assertIn("LaTeX cannot measure the text (xelatex: ", said)
        self.assertFalse(list(self.directory.parent.glob(".*")), "no temporary file is left")

    @unittest.skipUnless(HAS_TEX, "no LaTeX is installed")
    def test_pgf_is_the_same_for_the_same_records_and_escapes_labels(self) -> None:
        one, two = (self.write_figure(".pgf", "--no-origin") for _ in range(2))
        self.assertEqual(one, two)
        text = one.decode()
        self.assertTrue(text.startswith("%% mode live"))
        self.assertIn(r"50 \% of \#1 \& \_2 \textbackslash{} \{\$x\$\}", text)
        drawn = [line for line in text.splitlines() if not line.startswith("%%")]
        self.assertTrue("\n".join(drawn).isascii())
        self.assertEqual([file.name for file in self.directory.parent.glob("*.png")], [])
