# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import json
import os
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import matplotlib.style

import advise
from shared.look import STYLE_FILE

RATES = [1e7, 1e8, 1e9, 1e10]


def method(name: str, times: list[float], to: float | None = 3e8, **changes: Any) -> dict[str, Any]:
    pays_off = {"from_bit_per_s": None, "to_bit_per_s": to}
    return {
        "method": name,
        "synchroniser": {"name": name.split()[0]},
        "iteration_time_by_rate_s": times,
        "encode_s": 0.0,
        "pays_off_over_dense": pays_off,
        "caps_over_dense": "always" if to is None else "below 300 Mbit/s",
        **changes,
    }


def made_up(**changes: Any) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "git_commit": "0123456789abcdef",
        "threshold": 1.05,
        "rates_bit_per_s": RATES,
        "topology": "three-switch",
        "caps": ["100 Mbit/s"],
        "workers": 8,
        "model": None,
        "parameters": 25e6,
        "compute_time_s": 0.12,
        "compute_is_measured": False,
        "encode_decode_from": "a CPU, 2026-11-22",
        "methods": [
            method("dense", [10.0, 1.0, 0.2, 0.12], pays_off_over_dense=None, caps_over_dense="-"),
            method("fp16", [5.0, 0.5, 0.18, 0.13]),
            method("topk 0.01", [0.2, 0.14, 0.13, 0.13], encode_s=None),
        ],
        **changes,
    }


class AdviseFigureTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(matplotlib.style.context(STYLE_FILE))

    def call(self, *arguments: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = advise.main([*arguments, "--output", str(self.folder / "a.png")])
        return code, out.getvalue(), err.getvalue()

    def saved(self, advice: Any) -> str:
        file = self.folder / "advice.json"
        file.write_text(advice if isinstance(advice, str) else json.dumps(advice), encoding="utf-8")
        return str(file)

    def test_a_line_a_method_with_its_speed_up_over_dense(self) -> None:
        lines = {line.get_label(): line for line in advise.draw(made_up()).axes[0].lines}
        fp16 = lines["fp16: below 300 Mbit/s"]
        self.assertEqual(list(fp16.get_xdata()), RATES)
        self.assertEqual([round(value, 3) for value in fp16.get_ydata()], [2.0, 2.0, 1.111, 0.923])
        self.assertEqual(fp16.get_linestyle(), "-")
        self.assertEqual(set(lines["dense"].get_ydata()), {1.0})

    def test_the_end_of_what_pays_off_is_a_ring_on_the_threshold(self) -> None:
        figure = advise.draw(made_up())
        rings = [line for line in figure.axes[0].lines if line.get_gid() == "break-even"]
        self.assertEqual([(ring.get_xdata()[0], ring.get_ydata()[0]) for ring in rings], [(3e8, 1.05)] * 2)
        always = made_up(methods=[made_up()["methods"][0], method("fp16", [1.0] * 4, to=None)])
        self.assertFalse([line for line in advise.draw(always).axes[0].lines if line.get_gid() == "break-even"])

    def test_what_leaves_out_its_costs_is_dashed_and_said(self) -> None:
        lines = {line.get_label(): line for line in advise.draw(made_up()).axes[0].lines}
        self.assertEqual(lines["topk 0.01: below 300 Mbit/s at most"].get_linestyle(), "--")
        self.assertIn("dashed: without encode and decode times", advise.small_print(made_up()))
        without = made_up(encode_decode_from=None)
        self.assertNotIn("dashed", advise.small_print(without))
        self.assertIn("encode and decode times left out", advise.small_print(without))

    def test_the_origin_says_that_nothing_was_measured(self) -> None:
        text = advise.small_print(made_up())
        self.assertIn("predicted, not measured; accuracy is not predicted", text)
        self.assertIn("25 million parameters · 8 workers, topology three-switch · 120 ms compute", text)
        self.assertIn("own cap, 100 Mbit/s", text)
        self.assertTrue(text.endswith("commit 0123456789"))

    def test_the_program_gets_all_other_arguments(self) -> None:
        program = self.folder / "thinpipe"
        saved = self.saved(made_up())
        program.write_text(f"#!/bin/sh\necho \"$@\" > {self.folder}/arguments\ncat {saved}\n", encoding="utf-8")
        program.chmod(0o755)
        with mock.patch.dict(os.environ, {"THINPIPE": str(program)}):
            code, out, err = self.call("star", "--parameters", "25e6", "--compute", "120 ms")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out, f"{self.folder}/a.png\n")
        self.assertTrue((self.folder / "a.png").is_file())
        given = (self.folder / "arguments").read_text(encoding="utf-8")
        self.assertEqual(given, "advise star --parameters 25e6 --compute 120 ms --json\n")

    def test_wrong_input_is_refused_by_name(self) -> None:
        for advice, words in (
            ("{", "cannot be read"),
            ({"runs": []}, "is not the output of thinpipe advise"),
            (made_up(schema_version=2), "use program and script of one version"),
            (made_up(rates_bit_per_s=[1e8]), "name at least two with --rates"),
        ):
            with self.subTest(words):
                code, _, err = self.call("--advice", self.saved(advice))
                self.assertEqual(code, 2)
                self.assertIn(words, err)
        code, _, err = self.call("star", "--advice", self.saved(made_up()))
        self.assertEqual(code, 2)
        self.assertIn("leave out star", err)

    def test_the_programs_own_error_is_passed_on(self) -> None:
        code, _, err = self.call("loopback", "--model", "small_cnn")
        self.assertEqual(code, 2)
        self.assertIn("TOPOLOGY loopback", err)


if __name__ == "__main__":
    unittest.main()
