# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import advice_table
import best_peer_table
import claims_table
import cost_table
import factors_table
import links_table
import methods_table
import predictions_table
import references_table
import replay_table
import report_block
import speed_table
import table1
from shared.latex_table import from_markdown, inline
from shared.latex_text import in_latex
from shared.markdown_table import in_markdown

from .figure_test import FigureTest
from .records import make_converge_record, make_curve, make_record, write

LATEX = shutil.which("pdflatex") or shutil.which("xelatex")
AWKWARD = r"50 % of #1 & _a_b_ \ {$x$} ~^ `c` *d* [e](f) <g> a|b"


class LatexTextTest(unittest.TestCase):
    def test_special_characters_and_marks(self) -> None:
        self.assertEqual(in_latex("a_b & 5 %, #1 {$} \\ ~ ^"), r"a\_b \& 5 \%, \#1 \{\$\} \textbackslash{} "
                         r"\textasciitilde{} \textasciicircum{}")  # fmt: skip
        marks = r"\ensuremath{\geq} 5.4\texttimes{}\textdagger{} \textdaggerdbl{} -- \checkmark{}"
        self.assertEqual(in_latex("≥ 5.4×† ‡ – ✓"), marks)

    def test_what_markdown_escaped_comes_back(self) -> None:
        self.assertEqual(inline(in_markdown(AWKWARD)), in_latex(AWKWARD))

    def test_bold_code_and_links_have_their_notation(self) -> None:
        line = "**1.5_a**, `x_y` and [a page](docs/a_b.md): 5 < 6 &amp; more"
        self.assertEqual(inline(line), r"\textbf{1.5\_a}, \texttt{x\_y} and a page: 5 < 6 \& more")


class LatexTableTest(FigureTest):
    def made(self, script: object, *arguments: str) -> str:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            self.assertEqual(script.main([str(self.directory), *arguments]), 0)
        return out.getvalue()

    def test_a_table_has_the_cells_of_its_markdown(self) -> None:
        degraded = make_record("topk 0.1", labels={"method": AWKWARD})
        degraded["fidelity"]["verdict"] = "degraded"
        write(self.directory, make_record("dense"), make_record("fp16"), degraded)
        markdown, latex = self.made(table1), self.made(table1, "--latex")
        rows = [line for line in markdown.splitlines() if line.startswith("| ")]
        lines = [line for line in latex.splitlines() if line.endswith(r"\\")]
        self.assertEqual(len(lines), len(rows) - 1)
        self.assertIn(r"\begin{tabular}{lrrrrrrrrrrr}" + "\n\\toprule\nmethod & iterations to target &", latex)
        self.assertIn(rf"{in_latex(AWKWARD)}\textdagger{{}} & ", latex)
        self.assertIn(r"1.00\texttimes{}", latex)
        self.assertTrue(latex.isascii())
        self.assertTrue(latex.startswith("% Written by plotting/table1.py --latex. Needs the packages booktabs and amssymb."))
        self.assertIn(r"{\footnotesize\noindent Target: 84 \% accuracy", latex)

    def test_without_origin_notes_are_comments(self) -> None:
        write(self.directory, make_record("dense"))
        latex = self.made(table1, "--latex", "--no-origin")
        self.assertNotIn("footnotesize", latex)
        self.assertIn("% mode live · data fashion_mnist", latex)

    def test_panels_have_titles_and_names_the_user_s_order(self) -> None:
        rates = ("1 Gbit/s", "100 Mbit/s")
        records = [make_record(name, axes={"bottleneck.rate": rate}) for rate in rates for name in ("dense", "fp16")]
        write(self.directory, *records)
        latex = self.made(table1, "--latex", "--order", "fp16", "--rename", "dense=all-reduce")
        self.assertIn(r"\textbf{bottleneck.rate = 100 Mbit/s}", latex)
        self.assertEqual(latex.count(r"\begin{tabular}"), 2)
        names = [line.split(" & ")[0] for line in latex.splitlines() if line.endswith(r"\\")]
        self.assertEqual(names, ["method", "fp16", "all-reduce"] * 2)

    def test_it_goes_with_neither_csv_nor_a_page(self) -> None:
        write(self.directory, make_record("dense"))
        page = self.directory.parent / "page.md"
        for script, arguments, words in (
            (table1, ["--latex", "--csv"], "--csv and --latex: choose one"),
            (methods_table, ["--latex", "--update", str(page)], "leave out --csv, --latex and --output"),
            (cost_table, ["--latex", "--update", str(page), "--iterations", "5"], "is a page in Markdown; give --output FILE"),
            (table1, ["--no-origin"], "--no-origin: is for --latex"),
        ):
            code, said = self.program(script, *arguments)
            self.assertEqual(code, 2)
            self.assertIn(words, said)
            self.assertNotIn("Traceback", said)

    def test_every_table_has_the_option(self) -> None:
        tables = (advice_table, best_peer_table, claims_table, cost_table, factors_table, links_table, methods_table,
                  predictions_table, references_table, replay_table, speed_table, table1)  # fmt: skip
        for script, has in [*((script, True) for script in tables), (report_block, False)]:
            with mock.patch("sys.stdout") as out, self.assertRaises(SystemExit):
                script.main(["--help"])
            self.assertEqual("--latex" in "".join(call.args[0] for call in out.write.call_args_list), has, script.__name__)

    def test_intervals_and_missing_values_stay(self) -> None:
        records = [make_converge_record("dense", seed=seed, curve=make_curve(1.0, 0.85 + 0.01 * seed)) for seed in (1, 2)]
        write(self.directory, *records)
        latex = self.made(methods_table, "--latex")
        self.assertIn(r"method [95 \% CI] & final accuracy (\%)", latex)
        self.assertRegex(latex, r"dense & \d\d\.\d \[\d\d\.\d, \d\d\.\d\] & ")

    @unittest.skipUnless(LATEX, "no LaTeX is installed")
    def test_latex_reads_it(self) -> None:
        write(self.directory, make_record("dense"), make_record("fp16", labels={"method": AWKWARD}))
        document = (
            "\\documentclass{article}\\usepackage{booktabs,amssymb}\\begin{document}\n"
            f"{self.made(table1, '--latex')}\\end{{document}}\n"
        )
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "page.tex").write_text(document, encoding="utf-8")
            ended = subprocess.run(
                [LATEX, "-interaction=nonstopmode", "-halt-on-error", "page.tex"], cwd=folder, capture_output=True, check=False,
                env={**os.environ, "TEXMFVAR": folder},
            )
            self.assertEqual(ended.returncode, 0, ended.stdout[-2000:])


class FromMarkdownTest(unittest.TestCase):
    def test_names_align_left_and_numbers_right(self) -> None:
        latex = from_markdown("| a | b |\n| :--- | ---: |\n| x \\| y | 1 |\n\nNote: 5 %.\n", "t")
        self.assertEqual(
            latex,
            "% Written by plotting/t.py --latex. Needs the packages booktabs.\n\\begin{tabular}{lr}\n\\toprule\na & b \\\\\n"
            "\\midrule\nx | y & 1 \\\\\n\\bottomrule\n\\end{tabular}\n\n{\\footnotesize\\noindent Note: 5 \\%.\\par}\n",
        )
