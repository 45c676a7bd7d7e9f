# SPDX-License-Identifier: Apache-2.0
import json
import math
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import noise
from shared.load import load
from shared.markdown_table import noise_notes
from shared.number_text import iteration_time_text, ratio_text, target_time_text
from shared.report import InputError

from .records import make_curve, make_record, write


class NoiseTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file = self.folder / "noise.json"

    def repetition(self, name: str, iteration_time_s: float, **changes: object) -> str:
        record = make_record("dense", curve=make_curve(iteration_time_s, 0.868), **changes)
        record["iteration_time_s"]["mean"] = iteration_time_s
        record["run_id"] = "0123456789abcdef"
        return str(write(self.folder / name, record))

    def test_it_is_the_relative_deviation_of_repetitions(self) -> None:
        folders = [self.repetition(str(i), time_s) for i, time_s in enumerate((0.8, 0.82, 0.78))]
        self.assertEqual(noise.main([*folders, "--update", str(self.file)]), 0)
        (machine,) = json.loads(self.file.read_text())["machines"]
        self.assertAlmostEqual(machine["iteration_time"], 0.02 / 0.8)
        self.assertAlmostEqual(machine["time_to_target"], 0.02 / 0.8)
        self.assertEqual(machine["repetitions"], 3)

    def test_a_second_measurement_of_a_machine_replaces_the_first(self) -> None:
        for times_s in ((0.8, 0.82), (0.8, 0.9)):
            folders = [self.repetition(f"{times_s}{i}", time_s) for i, time_s in enumerate(times_s)]
            self.assertEqual(noise.main([*folders, "--update", str(self.file)]), 0)
        (machine,) = json.loads(self.file.read_text())["machines"]
        self.assertAlmostEqual(machine["iteration_time"], 0.1 / math.sqrt(2.0) / 0.85)

    def test_what_are_no_repetitions_is_refused(self) -> None:
        first = self.repetition("a", 0.8)
        with self.assertRaisesRegex(InputError, "two or more"):
            noise.measured([load(first)])
        other = write(self.folder / "b", make_record("fp16"))
        with self.assertRaisesRegex(InputError, "differ in run_id"):
            noise.measured([load(first), load(other)])

    def test_simulated_times_have_none(self) -> None:
        runs = load(self.repetition("a", 0.8, mode="simulate")).runs
        key = (runs["provenance.cpu"][0], runs["provenance.cores"][0])
        entry = noise.Noise(*key, "quickstart", "dense", 5, "c", "2026-11-26", time_to_target=0.03, iteration_time=0.002)
        with mock.patch.object(noise, "known", lambda: {key: entry}):
            self.assertEqual(target_time_text(runs)(43.71, 43.71), "43.7")
            self.assertEqual(noise_notes(runs), [])

    def test_tables_leave_out_the_digits_below_it(self) -> None:
        runs = load(self.repetition("a", 0.8)).runs
        key = (runs["provenance.cpu"][0], runs["provenance.cores"][0])
        entry = noise.Noise(*key, "quickstart", "dense", 5, "c", "2026-11-26", time_to_target=0.03, iteration_time=0.002)
        with mock.patch.object(noise, "known", lambda: {key: entry}):
            self.assertEqual(target_time_text(runs)(43.71, 43.71), "44")
            self.assertEqual(target_time_text(runs)(4371.0, 4371.0), "4400")
            self.assertEqual(iteration_time_text(runs)(43.71, 43.71), "43.7")
        with mock.patch.object(noise, "known", dict):
            self.assertEqual(target_time_text(runs)(43.71, 43.71), "43.7")
            self.assertIsNone(noise.noise_of(runs))
        self.assertEqual(ratio_text(0.2)(2.345, 2.345), "2.3")
        self.assertEqual(ratio_text(0.0)(2.346, 2.346), "2.35")


if __name__ == "__main__":
    unittest.main()
