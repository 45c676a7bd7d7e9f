# SPDX-License-Identifier: Apache-2.0
"""Trains with thinpipe.ddp_hook and with thinpipe-trainer: same model, weights, batches and method, so the same bits.

Usage: ddp_hook_test.py [--full] FOLDER     FOLDER has the package thinpipe (exit status 77: skipped)

--full: more steps, all methods of the comparison with 2 and 4 workers, one run of every method, and the script of
docs/how-to/your-ddp-hook.md. Over the script's own process group only two workers are compared: torch's Gloo adds four
workers' numbers in another order.
"""
from __future__ import annotations

import functools
import json
import math
import os
import re
import socket
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

# One thread each, as in the trainer: more threads divide matrices, and round differently.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
FULL, PACKAGE = "--full" in sys.argv, os.path.abspath(sys.argv[-1])
sys.path[:0] = [PACKAGE, str(Path(__file__).parents[2] / "tests"), str(Path(__file__).parent)]
try:
    import torch
    import torch.distributed as dist
    import torch.multiprocessing as mp
    from torch import nn

    import thinpipe
    from pytorch_reference import training_data
    from thinpipe import _core
    from thinpipe.process_group import ProcessGroup
except ImportError as error:
    print(f"SKIPPED: {error}; build the target thinpipe-python")
    sys.exit(77)

BATCH, SEED, STEPS = 8, 4, 20 if FULL else 6
LEARNING_RATE, WEIGHT_DECAY = 0.02, 5e-4
# Several buckets, whose layout changes after the first step.
BUCKETS = {"first_size": "1 kB", "size": "10 kB"}
GLOO, OWN_GROUP = {"name": "gloo"}, None

DENSE, FP16, TOPK = {"name": "dense"}, {"name": "fp16"}, {"name": "topk", "ratio": 0.05}
PACTRAIN, TERNARY = {"name": "pactrain"}, {"name": "pactrain", "values": "ternary"}
UPDATE = {"name": "ef", "inner": {"name": "scaled_sign"}, "units": "update"}
POWERSGD, DGC = {"name": "powersgd", "rank": 2, "start_step": 2}, {"name": "dgc"}
PRUNED = ("pactrain",)
SHORT = [(PACTRAIN, 2, GLOO), (TOPK, 2, OWN_GROUP)]
COMPARED = [(method, workers, GLOO)
            for method in (DENSE, FP16, TOPK, PACTRAIN, TERNARY, POWERSGD, DGC) for workers in (2, 4)]
# With two workers there is one order of additions.
COMPARED += [(method, 2, OWN_GROUP) for method in (DENSE, FP16, TOPK, PACTRAIN, TERNARY, POWERSGD, DGC)]
NEEDS_MORE = {
    "deepreduce": {"inner": {"name": "topk", "ratio": 0.1}},
    "ef": UPDATE,
    "topk": {"ratio": 0.05},
}


class Net(nn.Module):
    """Convolution, normalisation and two layers: prunable weights of two kinds, and biases."""

    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(1, 4, 5, stride=2)
        self.normalisation = nn.BatchNorm2d(4)
        self.hidden = nn.Linear(576, 32)
        self.output = nn.Linear(32, 10)

    def forward(self, inputs):
        features = self.normalisation(self.convolution(inputs)).relu().flatten(1)
        return self.output(self.hidden(features).relu())


def new_net():
    torch.manual_seed(SEED)
    return Net()


def momentum_of(method):
    return 0.0 if method["name"] in ("dgc", "gmc", "demo") else 0.9


def unpacked(mask):
    """Returns the mask of a checkpoint of thinpipe-trainer: a bit for each weight of all layers, lowest bit first."""
    weights = {name: parameter for name, parameter in Net().named_parameters() if parameter.dim() > 1}
    bits = ((mask.unsqueeze(1) >> torch.arange(8, dtype=torch.uint8)) & 1).bool().flatten()
    parts = bits.split([weight.numel() for weight in weights.values()] + [-sum(
        weight.numel() for weight in weights.values()) % 8])
    return {name: part.view(weight.shape) for (name, weight), part in zip(weights.items(), parts)}


def config_of(method, workers):
    return {
        "seed": SEED,
        "workers": workers,
        "model": {"name": f"{Path(__file__).resolve()}:Net"},
        "dataset": {"name": "fashion_mnist", "train_examples": workers * BATCH * STEPS, "test_examples": 10},
        "optimiser": {"name": "sgd", "learning_rate": LEARNING_RATE, "momentum": momentum_of(method),
                      "weight_decay": WEIGHT_DECAY},
        "synchroniser": method,
        "pruning": {"ratio": 0.5 if method["name"] in PRUNED else 0},
        "collective": GLOO,
        "training": {"batch_size_per_worker": BATCH},
        "buckets": BUCKETS,
    }


@contextmanager
def outputs_in(path):
    """Redirects what this process's C++ code prints."""
    saved = [os.dup(descriptor) for descriptor in (1, 2)]
    with path.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    try:
        yield path
    finally:
        for descriptor, before in zip((1, 2), saved):
            os.dup2(before, descriptor)
            os.close(before)


def train_thinpipe(method, rank, workers, folder):
    """Returns the weights after the last step of thinpipe-trainer's loop in this process, and its mask."""
    checkpoint = {"directory": str(folder), "every_iterations": STEPS}
    worker = {"schema_version": 2, "rank": rank, "world_size": workers, "address": "127.0.0.1",
              "rendezvous_directory": str(folder / "rendezvous"), "initial_weights": str(folder / "weights.pt"),
              "checkpoint": checkpoint, "config": config_of(method, workers)}
    path = folder / f"worker-{rank}.json"
    path.write_text(json.dumps(worker))
    with outputs_in(folder / f"worker-{rank}.log") as log:
        status = _core.run_command_line(["thinpipe-trainer", "work", str(path)])
    assert status == 0, log.read_text()[-2000:]
    state = torch.load(folder / f"rank-{rank}.iteration-{STEPS}.pt")
    weights = {name[len("model."):]: tensor for name, tensor in state.items() if name.startswith("model.")}
    return weights, unpacked(state["mask"])


def train_ddp(method, rank, workers, collective, mask=None, steps=STEPS):
    """Returns the weights after the last step of a script with DistributedDataParallel, and the hook."""
    bare = new_net()
    model = nn.parallel.DistributedDataParallel(bare, bucket_cap_mb=0.01)
    optimiser = torch.optim.SGD(bare.parameters(), LEARNING_RATE, momentum_of(method), weight_decay=WEIGHT_DECAY)
    hook = thinpipe.ddp_hook(model, method, optimiser=optimiser, mask=mask, seed=SEED, buckets=BUCKETS,
                             collective=collective, address="127.0.0.1")
    examples = training_data.FashionMnist("train", workers * BATCH * steps)
    order = training_data.epoch_order(len(examples), SEED, 0)
    for step in range(steps):
        first = (step * workers + rank) * BATCH
        images, labels = examples.batch(order[first : first + BATCH])
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(images), labels).backward()
        optimiser.step()
    return dict(bare.named_parameters()), hook


def compare(method, rank, workers, collective, folder):
    folder.mkdir(exist_ok=True)
    (folder / "rendezvous").mkdir(exist_ok=True)
    if rank == 0:
        torch.save(new_net().state_dict(), folder / "weights.pt")
    dist.barrier()
    theirs, mask = train_thinpipe(method, rank, workers, folder)
    ours, hook = train_ddp(method, rank, workers, collective, mask)
    different = [name for name, weight in ours.items() if not torch.equal(weight.detach(), theirs[name])]
    statistics = hook.statistics()
    assert not different, f"{method}, {workers} workers, {collective}: {different} differ on rank {rank}"
    assert statistics["steps"] == STEPS and statistics["payload_bytes"] > 0, statistics
    if rank == 0:
        print(f"the same bits: {method}, {workers} workers, over {'gloo' if collective else 'the own group'}; "
              f"{statistics['payload_bytes']} bytes", flush=True)


@contextmanager
def raises(text):
    try:
        yield
    except ValueError as error:
        assert text in str(error), f"expected {text!r} in: {error}"
        return
    raise AssertionError(f"nothing was raised, expected: {text}")


def check_refusals():
    """Errors appear on every rank, before any of them waits for others."""
    model = nn.parallel.DistributedDataParallel(Net())
    with raises("needs a DistributedDataParallel, but got a Net"):
        thinpipe.ddp_hook(model.module, DENSE)
    with raises("ratio"):
        thinpipe.ddp_hook(model, {"name": "topk", "ratio": 2})
    with raises("topk"):
        thinpipe.ddp_hook(model, {"name": "topkk"})
    with raises("sees gradients only"):
        thinpipe.ddp_hook(model, {"name": "diloco"})
    with raises("pass optimiser="):
        thinpipe.ddp_hook(model, DGC)
    with raises("momentum 0"):
        thinpipe.ddp_hook(model, DGC, optimiser=torch.optim.SGD(model.parameters(), 0.1, 0.9))
    with raises("the method ef needs the learning rate"):
        thinpipe.ddp_hook(model, UPDATE)
    thinpipe.ddp_hook(nn.parallel.DistributedDataParallel(Net()), UPDATE, learning_rate=lambda: 0.1)
    with raises("evaluates gradients at shifted weights"):
        thinpipe.ddp_hook(model, {"name": "gmc", "detached": 0.3}, optimiser=torch.optim.SGD(model.parameters(), 0.1))
    with raises("compares the time of an exchange with that of the computation"):
        thinpipe.ddp_hook(model, {"name": "netsense"})
    with raises("mask names fc.weight"):
        thinpipe.ddp_hook(model, PACTRAIN, mask={"fc.weight": torch.ones(1, dtype=torch.bool)})
    with raises("mask['output.bias'] must be bool [10]"):
        thinpipe.ddp_hook(model, PACTRAIN, mask={"output.bias": torch.ones(3)})


def accumulated(model, rank, steps, micro_batches):
    """Takes steps of several micro-batches each; only the last of a step is exchanged."""
    torch.manual_seed(rank)
    for _ in range(steps):
        model.zero_grad()
        for micro_batch in range(micro_batches):
            inputs = torch.randn(2, 1, 28, 28)
            if micro_batch + 1 < micro_batches:
                with model.no_sync():
                    model(inputs).square().sum().backward()
            else:
                model(inputs).square().sum().backward()


def check_accumulation(rank):
    """With no_sync(), dense gives the sum that DistributedDataParallel itself gives."""
    gradients = []
    for hooked in (False, True):
        model = nn.parallel.DistributedDataParallel(new_net(), gradient_as_bucket_view=hooked)
        hook = thinpipe.ddp_hook(model, DENSE) if hooked else None
        accumulated(model, rank, 2, 3)
        gradients.append([parameter.grad.clone() for parameter in model.parameters()])
    assert hook.statistics()["steps"] == 2
    for expected, found in zip(*gradients):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


def check_skipped_step(rank):
    """A NaN on one rank changes neither weights nor momentum on any; the next step counts again."""
    model = nn.parallel.DistributedDataParallel(new_net())
    optimiser = torch.optim.SGD(model.parameters(), 0.1, 0.9, weight_decay=0.1)
    hook = thinpipe.ddp_hook(model, TOPK, optimiser=optimiser)
    before, saw = None, []
    for step in range(3):
        optimiser.zero_grad()
        loss = model(torch.ones(2, 1, 28, 28) * (rank + step)).square().sum()
        (loss * (math.nan if step == 1 and rank == 1 else 1)).backward()
        optimiser.step()
        weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
        saw.append(before is None or not torch.equal(before, weights))
        before = weights.clone()
    assert saw == [True, False, True], saw
    assert hook.statistics()["skipped_steps"] == 1, hook.statistics()
    assert weights.isfinite().all()
    model = nn.parallel.DistributedDataParallel(new_net())
    thinpipe.ddp_hook(model, DENSE, non_finite="keep")
    (model(torch.ones(2, 1, 28, 28)).sum() * math.nan).backward()
    assert all(parameter.grad.isnan().any() for parameter in model.parameters())


def check_scaled_gradients(rank):
    """A residual stays right while the factor of the gradients changes. Powers of two leave the bits alone."""
    found = []
    for scales in (1, 1, 1), (4, 1024, 2):
        model = nn.parallel.DistributedDataParallel(new_net())
        of_step = iter(scales)
        thinpipe.ddp_hook(model, TOPK, non_finite="keep", grad_scale=lambda: next(of_step))
        for scale in scales:
            model.zero_grad()
            (model(torch.ones(2, 1, 28, 28) * (rank + 1)).square().sum() * scale).backward()
        found.append([parameter.grad / scale for parameter in model.parameters()])
    assert all(torch.equal(a, b) for a, b in zip(*found))


def check_sums_of_bfloat16(rank, workers):
    """They are the same on every rank, and take no more bytes than a ring."""
    group = ProcessGroup(dist.group.WORLD)
    sent, gather, exchange = [], group.all_gather_v, group.all_to_all_v
    group.all_gather_v = lambda tensor, counts: sent.append((workers - 1) * max(counts)) or gather(tensor, counts)
    group.all_to_all_v = lambda tensor, to, since: sent.append(len(tensor) - to[rank]) or exchange(tensor, to, since)
    for entries in (1, 2, 7, 1000):
        for takes_maximum in (False, True):
            inputs = [torch.arange(entries).add(other).bfloat16() for other in range(workers)]
            tensor = inputs[rank].clone()
            sent.clear()
            group.all_reduce(tensor, takes_maximum)
            expected = functools.reduce(torch.maximum if takes_maximum else torch.add, inputs)
            assert tensor.equal(expected), (entries, tensor, expected)
            assert sum(sent) <= 2 * (workers - 1) * -(-entries // workers), (entries, sent)


def check_checkpoint(rank, workers):
    """Three steps and three more after a restart are six steps."""
    def some_steps(hook_of, state):
        model = nn.parallel.DistributedDataParallel(new_net())
        hook = thinpipe.ddp_hook(model, TOPK)
        if state:
            hook.load_state_dict(state)
        torch.manual_seed(rank)
        all_inputs = torch.randn(6, 2, 1, 28, 28)
        for inputs in all_inputs[hook_of]:
            model.zero_grad()
            model(inputs).square().sum().backward()
        return hook.state_dict(), [parameter.grad.clone() for parameter in model.parameters()]

    _, expected = some_steps(slice(0, 6), None)
    state, _ = some_steps(slice(0, 3), None)
    _, found = some_steps(slice(3, 6), state)
    assert all(torch.equal(a, b) for a, b in zip(expected, found))


def check_every_method(rank, workers):
    for name in registered_methods():
        method = {"name": name, **NEEDS_MORE.get(name, {})}
        try:
            weights, hook = train_ddp(method, rank, workers, OWN_GROUP, steps=4)
        except ValueError as error:
            assert "sees gradients only" in str(error), f"{name}: {error}"
            if rank == 0:
                print(f"refused, as it should be: {name}", flush=True)
            continue
        assert all(weight.isfinite().all() for weight in weights.values()), name
        assert hook.statistics()["steps"] == 4
        flat = torch.cat([weight.detach().flatten() for weight in weights.values()])
        sums = [torch.empty_like(flat) for _ in range(workers)]
        dist.all_gather(sums, flat)
        assert all(torch.equal(flat, other) for other in sums), f"{name}: ranks differ"
        if rank == 0:
            print(f"ran: {name}", flush=True)


def check_collectives(rank, workers):
    """With two workers, every collective gives the same bits."""
    reference, _ = train_ddp(TOPK, rank, workers, OWN_GROUP, steps=3)
    for name in ("ring", "island", "auto"):
        weights, _ = train_ddp(TOPK, rank, workers, {"name": name}, steps=3)
        assert all(torch.equal(weight, weights[key]) for key, weight in reference.items()), name


def registered_methods():
    out = subprocess.run([sys.executable, "-m", "thinpipe", "describe"], env=os.environ | {"PYTHONPATH": PACKAGE},
                         capture_output=True, text=True, check=True).stdout
    return list(json.loads(out)["synchronisers"])


@contextmanager
def group_of(workers, rank, folder, name):
    dist.init_process_group("gloo", f"file://{folder}/group-{name}", rank=rank, world_size=workers)
    yield
    dist.barrier()
    dist.destroy_process_group()


def worker(rank, folder):
    """Runs every case that has this rank in one process, because starting a process takes seconds."""
    torch.set_num_threads(1)
    for place, (method, workers, collective) in enumerate(COMPARED if FULL else SHORT):
        if rank < workers:
            with group_of(workers, rank, folder, place):
                compare(method, rank, workers, collective, folder / str(place))
    if rank < 2:
        with group_of(2, rank, folder, "rules"):
            check_refusals()
            check_accumulation(rank)
            check_skipped_step(rank)
            check_scaled_gradients(rank)
            check_checkpoint(rank, 2)
            if FULL:
                check_collectives(rank, 2)
                check_every_method(rank, 2)
    if rank < 3:
        with group_of(3, rank, folder, "sums"):
            check_sums_of_bfloat16(rank, 3)
    os._exit(0)  # PyTorch 2.14 sometimes aborts a process that ends while one of its threads is running


def follow_the_page(folder):
    """Runs the script of docs/how-to/your-ddp-hook.md in two processes with torchrun's environment.

    Not by torchrun itself: Debian's does not work with Debian's Python.
    """
    page = (Path(__file__).parents[3] / "docs/how-to/your-ddp-hook.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"^```python train.py\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    lines = [line for line in script.splitlines() if line.strip()]
    assert len(lines) <= 25, f"the page promises 25 lines, but its script has {len(lines)}"
    (folder / "train.py").write_text(script, encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    environment = os.environ | {"PYTHONPATH": PACKAGE, "WORLD_SIZE": "2",
                                "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    processes = [subprocess.Popen([sys.executable, "train.py"], cwd=folder, env=environment | {"RANK": str(rank)},
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for rank in range(2)]
    outputs = [process.communicate()[0] for process in processes]
    assert all(process.returncode == 0 for process in processes), outputs
    assert re.search(r"^loss \d\.\d{3}, \d+ bytes$", outputs[0], re.MULTILINE), outputs


def main():
    if not training_data.FASHION_MNIST.is_dir():
        print(f"SKIPPED: {training_data.FASHION_MNIST} is missing; install dataset-fashion-mnist")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        mp.spawn(worker, (Path(name),), nprocs=4 if FULL else 3)
        if FULL:
            follow_the_page(Path(name))


if __name__ == "__main__":
    main()
