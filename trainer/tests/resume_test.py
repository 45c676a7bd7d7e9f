# SPDX-License-Identifier: Apache-2.0
"""Kills all trainers at a random step and restarts them: the trajectory must equal an uninterrupted run's, bit for bit.

Usage: resume_test.py [--every-method] PATH/thinpipe-trainer [SEED]
With --every-method, tests each registered method instead of the other parts that have state.
"""

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import workers

WORKERS, STEPS = 2, 96
# Parts with state from step to step other than methods: optimisers, schedules, pruning; and variants of methods.
CASES = {
    "dropout": {"model": {"name": "vit_tiny", "width": 16, "depth": 1, "heads": 2, "dropout": 0.5}},
    "topk": {"synchroniser": {"name": "topk", "ratio": 0.05}},
    "fp16 and cosine": {
        "synchroniser": {"name": "fp16"},
        "optimiser": {"name": "adamw"},
        "schedule": {"shape": "cosine", "warmup_iterations": 4},
    },
    "pactrain observed": {
        "synchroniser": {"name": "pactrain", "source": "observed", "stable_iterations": 3},
        "pruning": {"ratio": 0.5},
        "training": {"clip_norm": 1.0},
    },
    "pactrain ternary with error feedback": {
        "synchroniser": {"name": "pactrain", "values": "ternary", "error_feedback": True},
        "pruning": {"ratio": 0.5, "at_iteration": 5, "ramp_iterations": 10, "ramp_steps": 3},
        "optimiser": {"name": "adam"},
    },
    "local steps of muon": {
        "synchroniser": {"name": "diloco", "local_steps": 4, "inner": {"name": "int8"}},
        "optimiser": {"name": "muon"},
    },
}


# Options that a method needs, or that give it the same behaviour on a small model as on a large one.
OPTIONS = {
    "deepreduce": {"inner": {"name": "topk", "ratio": 0.2}},
    "demo": {"chunk": 16, "k": 4},
    "diloco": {"local_steps": 4},
    # Its decisions depend on the network, and so would the end of training.
    "netsense": {"inner": {"name": "topk", "ratio": 0.2}, "minimum_ratio": 0.2, "maximum_ratio": 0.2},
    "streaming_diloco": {"local_steps": 4, "fragments": 2, "overlap_steps": 1},
    "sbc": {"local_steps": 4, "ratio": 0.2},
    "sparseloco": {"local_steps": 4, "chunk": 16, "k": 4},
    **{name: {"ratio": 0.2} for name in ("dgc", "gmc", "iwp", "ok_topk", "spardl", "topk", "topk_chunked")},
}
OWN_MOMENTUM = {"demo", "dgc", "gmc"}


def every_method(trainer):
    """Returns a case for each registered method."""
    described = json.loads(subprocess.run([trainer, "describe"], check=True, capture_output=True, text=True).stdout)
    return {
        f"{name}, pruned": {
            "synchroniser": {"name": name, **OPTIONS.get(name, {})},
            "pruning": {"ratio": 0.5},
            "optimiser": {"name": "sgd", "learning_rate": 0.02, "momentum": 0 if name in OWN_MOMENTUM else 0.9},
        }
        for name in described["synchronisers"]
    }


def configured(changes):
    config = {
        "seed": 3,
        "workers": WORKERS,
        "model": {"name": "small_cnn", "width": 2, "hidden": 16},
        "dataset": {"name": "synthetic", "channels": 3, "height": 8, "width": 8, "train_examples": 192,
                    "test_examples": 50, "augment": True},
        "training": {"epochs": STEPS * WORKERS * 12 // 192, "batch_size_per_worker": 12,
                     "evaluate_every_iterations": 8},
        "buckets": {"first_size": "1 kB", "size": "4 kB"},
    }
    for key, value in changes.items():
        config[key] = value if "name" in value else {**config.get(key, {}), **value}
    return config


def summary(events):
    """Returns the end of the trajectory without times, which differ from run to run."""
    last = next(event for event in events if event["event"] == "summary")
    evaluation = [event for event in events if event["event"] == "evaluation"][-1]
    return {
        "parameters_hash": last["parameters_hash"],
        "effective_density": last["effective_density"],
        "pruning": {key: value for key, value in last["pruning"].items() if key != "time_s"},
        "synchroniser": {key: value for key, value in (last["synchroniser"] or {}).items() if not key.endswith("_s")},
        "iteration": evaluation["iteration"],
        "test_loss": evaluation["test_loss"],
    }


def kill_at(processes, iteration):
    """Kills every worker as soon as rank 0 has reported the iteration."""
    for line in processes[0].stdout:
        event = json.loads(line)
        if event["event"] == "iteration" and event["iteration"] == iteration:
            break
    for process in processes:
        process.kill()
    for process in processes:
        process.communicate()


def main():
    arguments = sys.argv[1:]
    all_methods = arguments[:1] == ["--every-method"]
    if all_methods:
        arguments.pop(0)
    if len(arguments) not in (1, 2):
        sys.exit(__doc__)
    trainer = arguments[0]
    seed = int(arguments[1]) if len(arguments) == 2 else random.SystemRandom().randrange(10**6)
    print(f"seed {seed}: pass it as the last argument to repeat this")
    draw = random.Random(seed)
    for name, changes in (every_method(trainer) if all_methods else CASES).items():
        config = configured(changes)
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            whole = summary(workers.finish(workers.start(trainer, folder / "whole", config)))
            assert whole["iteration"] == STEPS, whole
            checkpoint = {"directory": str(folder / "checkpoints"), "every_iterations": 3}
            (folder / "checkpoints").mkdir()
            kills = sorted(draw.sample(range(4, STEPS // 2), 1 if all_methods else 2))
            for at in kills:
                kill_at(workers.start(trainer, folder / "broken", config, checkpoint=checkpoint), at)
            events = workers.finish(workers.start(trainer, folder / "broken", config, checkpoint=checkpoint))
            resumed_from = min(event["iteration"] for event in events if event["event"] == "iteration")
            assert resumed_from > 1, "nothing was resumed"
            resumed = summary(events)
        print(f"{name}: killed after iterations {' and '.join(map(str, kills))}, resumed with {resumed_from}", flush=True)
        assert resumed == whole, f"{name}: {resumed} is not {whole}"


if __name__ == "__main__":
    main()
