# SPDX-License-Identifier: Apache-2.0
"""Trains over an emulated network with NCCL, on as many GPUs as there are: workers may share one.

Compares with runs on the same GPUs whose gradients go through main memory, and with the kernel's counters.

Usage: nccl_run_test.py PATH/thinpipe   (exit status 77: skipped, the reason on standard output)
"""

import itertools
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

WORKERS = 2
METHODS = {
    "dense": {"synchroniser": {"name": "dense"}},
    "fp16": {"synchroniser": {"name": "fp16"}},
    "bf16": {"synchroniser": {"name": "bf16"}},
    "topk": {"synchroniser": {"name": "topk", "ratio": 0.1}},
    "pactrain": {"synchroniser": {"name": "pactrain"}, "pruning": {"ratio": 0.5}},
}
COLLECTIVES = {
    "island": {"name": "island"},
    "nccl ring": {"name": "nccl"},
    "nccl tree": {"name": "nccl", "all_reduce": "tree"},
}
EXPERIMENT = {
    "name": "nccl",
    "base": {
        "topology": "pair",
        "workers": WORKERS,
        "seed": 1,
        "model": {"name": "mlp"},
        "dataset": {"name": "synthetic", "train_examples": 640},
        "compute": {"device": "cuda"},
        "training": {"epochs": 2, "batch_size_per_worker": 16, "evaluate_every_iterations": 20},
    },
    "sweep": {"method": METHODS, "carried by": {name: {"collective": each} for name, each in COLLECTIVES.items()}},
}
# GPUs add in another order than CPUs.
LOSS_TOLERANCE = 0.02
# TCP's headers and acknowledgements, and NCCL's own messages.
MOST_OVERHEAD = 1.25


class NcclRun(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            experiment = Path(folder) / "nccl.json"
            experiment.write_text(json.dumps(EXPERIMENT))
            command = [PROGRAM, "run", experiment, "--results", f"{folder}/results"]
            ended = subprocess.run(command, capture_output=True, text=True)
            cls.output = ended.stdout + ended.stderr
            cls.records = {}
            for path in Path(folder).glob("results/nccl/*/run.json"):
                record = json.loads(path.read_text())
                cls.records[record["labels"]["method"], record["labels"]["carried by"]] = record

    def record(self, method, collective):
        self.assertIn((method, collective), self.records, self.output)
        record = self.records[method, collective]
        self.assertEqual(record["status"], "completed", f"{method}, {collective}: {record['error']}")
        return record

    def test_training_takes_the_course_that_it_takes_through_main_memory(self):
        for method in METHODS:
            expected = self.record(method, "island")["curve"][-1]["test_loss"]
            for collective in ("nccl ring", "nccl tree"):
                with self.subTest(method=method, collective=collective):
                    found = self.record(method, collective)["curve"][-1]["test_loss"]
                    self.assertAlmostEqual(found, expected, delta=LOSS_TOLERANCE)

    def test_every_byte_of_the_formula_crosses_the_emulated_network(self):
        for method, collective in itertools.product(METHODS, COLLECTIVES):
            with self.subTest(method=method, collective=collective):
                traffic = self.record(method, collective)["traffic"]
                busiest = max(traffic["wire_bytes"].values())
                self.assertGreaterEqual(busiest, traffic["sent_bytes_per_worker"])
                self.assertLessEqual(busiest, MOST_OVERHEAD * traffic["sent_bytes_per_worker"])

    def test_a_shared_gpu_is_in_the_records_warnings(self):
        warnings = self.record("dense", "nccl ring")["warnings"]
        self.assertEqual(any("share" in each for each in warnings), gpus() < WORKERS, warnings)


def gpus():
    """Returns the number of NVIDIA's GPUs, by the driver's files."""
    return len(list(Path("/proc/driver/nvidia/gpus").glob("*")))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    if not gpus():
        print("SKIPPED: this machine has no GPU")
        sys.exit(77)
    unittest.main(verbosity=2)
