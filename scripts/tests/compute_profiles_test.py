# SPDX-License-Identifier: Apache-2.0
"""Makes profiles with scripts/compute_profiles.py; those of the paper's models need a GPU and are only estimated here.

Usage: compute_profiles_test.py PATH/thinpipe-trainer
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class ComputeProfilesTest(unittest.TestCase):
    def call(self, *arguments):
        command = [ROOT / "scripts/compute_profiles.py", "--trainer", TRAINER, "--output", self.folder, *arguments]
        return subprocess.run(command, capture_output=True, text=True)

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def test_an_estimate_is_a_profile_of_the_named_device(self):
        ended = self.call("--estimate", ROOT / "trainer/profiles/h100.json", "--only", "resnet18-*")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        (file,) = Path(self.folder).iterdir()
        profile = json.loads(file.read_text())
        self.assertEqual(file.name, "resnet18-estimated.json")
        self.assertEqual((profile["origin"], profile["device"]["name"]), ("estimated", "NVIDIA H100 SXM"))
        # ResNet18 multiplies and adds 0.56 billion times per image of 32 x 32 and pass; backward takes two passes.
        self.assertAlmostEqual(profile["device"]["flops"] / (2 * 3 * 32 * 0.556e9), 1, delta=0.05)

    def test_a_profile_for_each_training_of_an_experiment_that_a_replay_takes(self):
        folder = Path(self.folder)
        experiment = {
            "name": "mine",
            "base": {"mode": "simulate", "topology": "pair", "model": {"name": "mlp", "hidden": [16]},
                     "dataset": {"name": "synthetic", "train_examples": 128}, "pretraining": {"iterations": 0}},
            "sweep": {"method": {"dense": {}, "top 1 %": {"synchroniser": {"name": "topk", "ratio": 0.01}},
                                 "top 1": {"synchroniser": {"name": "topk", "ratio": 1.0}}},
                      "bottleneck.rate": ["100 Mbit/s", "1 Gbit/s"], "seed": [1, 2]},
        }
        file = folder / "mine.json"
        file.write_text(json.dumps(experiment))
        ended = self.call("--experiment", file, "--device", "cpu", "--seconds", "0.2")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        names = {"dense": "dense.json", "top 1 %": "top-1.json", "top 1": "top-1-2.json"}
        self.assertEqual({each.name for each in folder.iterdir()}, {"mine.json", *names.values()})

        for label, patch in experiment["sweep"]["method"].items():
            patch["compute_profile"] = names[label]
        file.write_text(json.dumps(experiment))
        program = Path(TRAINER).parent / "thinpipe"
        subprocess.run([program, "run", file, "--results", folder / "results"], check=True, capture_output=True)
        records = [json.loads(each.read_text()) for each in folder.glob("results/mine/*/run.json")]
        origins = [record["replay"]["compute_profile"]["origin"] for record in records if record["replay"]]
        self.assertEqual(origins, ["measured"] * 12)

    def test_an_unknown_name_is_refused(self):
        ended = self.call("--only", "resnet19-*")
        self.assertEqual(ended.returncode, 2)
        self.assertIn("resnet19-*: no profile has such a name", ended.stderr)


if __name__ == "__main__":
    TRAINER = sys.argv.pop(1)
    unittest.main(verbosity=2)
