# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path

import paper_claims

from .records import make_record, write_exported

PACKING = {
    "paper": "PacTrain",
    "page": "pactrain.md",
    "claim": "fp16 halves the iteration",
    "claimed": "2×",
    "source": "caps",
    "measured": 'iteration_time_s.mean["dense"] / iteration_time_s.mean["fp16"]',
    "shown": "{}×",
    "decimals": 1,
    "confirmed": [1.9, None],
    "in part": [1.0, 1.9],
    "because": "Compute takes the rest.",
}
IMAGENET = {"paper": "IWP", "page": "iwp.md", "claim": "accuracy on ImageNet", "claimed": "kept", "not testable": "no ImageNet"}


def timed(method: str, time_s: float) -> dict:
    record = make_record(method)
    record["iteration_time_s"]["mean"] = time_s
    return record


class PaperClaimsTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.claims = self.folder / "claims.json"

    def measure(self, dense_s: float, fp16_s: float) -> None:
        (self.folder / "caps").mkdir()
        write_exported(self.folder / "caps" / "records.jsonl", timed("dense", dense_s), timed("fp16", fp16_s))

    def run_program(self, *claims: dict, options: tuple[str, ...] = ()) -> tuple[int, str]:
        """Returns the exit code and everything printed."""
        self.claims.write_text(json.dumps(claims), encoding="utf-8")
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = paper_claims.main([str(self.claims), "--reference", str(self.folder), *options])
        return code, said.getvalue()

    def row(self, *claims: dict) -> list[str]:
        """Returns the cells of the first claim."""
        code, text = self.run_program(*claims)
        self.assertEqual(code, 0, text)
        return [cell.strip() for cell in text.splitlines()[2].strip("|").split("|")]

    def test_a_value_in_the_range_confirms(self) -> None:
        self.measure(0.8, 0.4)
        self.assertEqual(
            self.row(PACKING),
            [
                *("PacTrain", "fp16 halves the iteration", "2×", "≥ 1.9×; in part: 1× to 1.9×"),
                *("2.0×", "live", "confirmed"),
            ],
        )
        self.assertIn("\n- quickstart · mode live · ", self.run_program(PACKING)[1])
        self.assertIn("Details: [PacTrain](pactrain.md), [IWP](iwp.md).", self.run_program(PACKING, IMAGENET)[1])

    def test_a_value_in_the_second_range_confirms_in_part(self) -> None:
        self.measure(0.6, 0.4)
        self.assertEqual(self.row(PACKING)[4:], ["1.5×", "live", "confirmed in part"])

    def test_any_other_value_does_not_confirm(self) -> None:
        self.measure(0.2, 0.4)
        self.assertEqual(self.row(PACKING)[4:], ["0.5×", "live", "not confirmed"])

    def test_a_limit_within_the_interval_over_seeds_is_named(self) -> None:
        (self.folder / "caps").mkdir()
        records = []
        for seed, time_s in enumerate((1.0, 2.0, 3.0), 1):
            records.append(timed("dense", time_s) | {"run_id": f"{seed:016x}"})
            records[-1]["config"]["seed"] = seed
            records[-1]["labels"]["seed"] = str(seed)
        write_exported(self.folder / "caps" / "records.jsonl", *records)
        claim = {name: value for name, value in PACKING.items() if name != "in part"}
        claim["measured"] = 'iteration_time_s["dense"]'
        for limits, verdict in (
            ([1.5, None], "confirmed, within what seeds vary by"),
            ([2.5, None], "not confirmed, within what seeds vary by"),
            ([0.5, None], "confirmed"),
        ):
            with self.subTest(limits):
                self.assertEqual(self.row({**claim, "confirmed": limits})[6], verdict)

    def test_without_the_second_range_there_is_no_part(self) -> None:
        self.measure(0.6, 0.4)
        whole = {name: value for name, value in PACKING.items() if name != "in part"}
        self.assertEqual((self.row(whole)[3], self.row(whole)[6]), ("≥ 1.9×", "not confirmed"))

    def test_the_modes_are_those_of_the_number(self) -> None:
        (self.folder / "caps").mkdir()
        other = {**timed("topk 0.1", 0.4), "mode": "replay"}
        write_exported(self.folder / "caps" / "records.jsonl", timed("dense", 0.8), timed("fp16", 0.4), other)
        self.assertEqual(self.row(PACKING)[5], "live")
        both = 'max(iteration_time_s.mean["dense"], iteration_time_s.mean["topk 0.1"])'
        self.assertEqual(self.row({**PACKING, "measured": both})[5], "live, replay")

    def test_the_reason_stands_once_below_the_table(self) -> None:
        self.measure(0.6, 0.4)
        self.assertEqual(self.run_program(PACKING, PACKING)[1].count("\nCompute takes the rest.\n"), 1)

    def test_a_number_has_the_marks_of_its_networks(self) -> None:
        (self.folder / "caps").mkdir()
        degraded = {**timed("fp16", 0.4), "fidelity": {"verdict": "degraded", "checks": []}}
        write_exported(self.folder / "caps" / "records.jsonl", timed("dense", 0.8), degraded)
        self.assertEqual(self.row(PACKING)[4], "2.0×†")
        self.assertIn("\n† network emulation degraded.\n", self.run_program(PACKING)[1])
        accuracy = 'final_accuracy["fp16"]'  # does not depend on the network
        self.assertNotIn("†", self.run_program({**PACKING, "measured": accuracy})[1])

    def test_without_records_nothing_is_judged(self) -> None:
        code, text = self.run_program(PACKING)
        self.assertEqual(code, 0, text)
        self.assertIn("| not run yet |", text)
        self.assertNotIn("Compute takes the rest.", text)

    def test_a_claim_that_cannot_be_tested_gives_its_reason(self) -> None:
        self.assertEqual(self.row(IMAGENET)[3:], ["-", "-", "-", "not testable here: no ImageNet"])

    def test_one_paper(self) -> None:
        code, text = self.run_program(PACKING, IMAGENET, options=("--paper", "IWP"))
        self.assertEqual((code, text.count("\n| IWP |"), text.count("PacTrain")), (0, 1, 0), text)
        code, text = self.run_program(PACKING, IMAGENET, options=("--paper", "SBC"))
        self.assertEqual(code, 2)
        self.assertIn("known: PacTrain, IWP", text)

    def test_wrong_claims_are_refused_with_their_place(self) -> None:
        self.measure(0.6, 0.4)
        for change, expected in (
            ({"confirmd": [1, 2]}, "/0/confirmd: is unknown"),
            ({"decimals": "1"}, "/0/decimals: must be of type int"),
            ({"confirmed": [1]}, "/0/confirmed: must be the lowest and the highest value"),
            ({"measured": "1 +"}, "/0/measured: is no expression"),
            ({"shown": "2×"}, "/0/shown: must have {} once"),
            ({"not testable": "no GPU"}, "/0/confirmed: cannot stand beside"),
            ({"measured": 'iteration_time_s.mean["denze"]'}, "unknown method"),
        ):
            with self.subTest(change):
                code, text = self.run_program({**PACKING, **change})
                self.assertEqual(code, 2)
                self.assertIn(expected, text)
        for name in ("claim", "source"):
            with self.subTest(name):
                code, text = self.run_program({key: value for key, value in PACKING.items() if key != name})
                self.assertEqual(code, 2)
                self.assertIn(f"/0: has no \"{name}\"", text)


if __name__ == "__main__":
    unittest.main()
