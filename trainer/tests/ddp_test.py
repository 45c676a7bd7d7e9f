"""The dense trajectory against PyTorch's own DistributedDataParallel: same weights, same batches, 20 steps.

Usage: ddp_test.py PATH/thinpipe-trainer   (exit status 77: skipped, the reason on standard output)
"""

import gzip
import json
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import torch
    import torch.distributed as dist
    import torch.multiprocessing as mp
    from torch import nn
except ImportError as error:
    print(f"SKIPPED: {error}; install python3-torch")
    sys.exit(77)

DATA = Path("/usr/share/datasets/fashion-mnist")
WORKERS, BATCH, STEPS, SEED = 2, 32, 20, 4
LEARNING_RATE, MOMENTUM, WEIGHT_DECAY = 0.05, 0.9, 5e-4
# Both sum in float32, in another order, over 20 steps; a wrong average or a stale gradient differs in the first digits.
RELATIVE_TOLERANCE = 1e-4


class SmallCnn(nn.Module):
    """`small_cnn` of width 4 with 32 hidden units, written with PyTorch's own layers."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 8, 3, padding=1)
        self.fc1, self.fc2 = nn.Linear(8 * 7 * 7, 32), nn.Linear(32, 10)

    def forward(self, x):
        x = torch.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = torch.max_pool2d(torch.relu(self.conv2(x)), 2)
        return self.fc2(torch.relu(self.fc1(x.flatten(1))))


def philox_words(seed, epoch):
    """The stream that orders an epoch's batches, from the generator's definition (Salmon et al., 2011)."""
    lane, mask = 0, 0xFFFFFFFF
    while True:
        key, counter = [seed & mask, seed >> 32], [epoch, mask, mask, lane]
        for _ in range(10):
            a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
            counter = [(b >> 32) ^ counter[1] ^ key[0], b & mask, (a >> 32) ^ counter[3] ^ key[1], a & mask]
            key = [(key[0] + 0x9E3779B9) & mask, (key[1] + 0xBB67AE85) & mask]
        yield from counter
        lane += 1


def permutation(examples, seed, epoch):
    words, order = philox_words(seed, epoch), list(range(examples))
    for remaining in range(examples, 1, -1):
        product = next(words) * remaining
        while product & 0xFFFFFFFF < 2**32 % remaining:
            product = next(words) * remaining
        chosen = product >> 32
        order[remaining - 1], order[chosen] = order[chosen], order[remaining - 1]
    return order


def training_data():
    examples = WORKERS * BATCH * STEPS
    images = np.frombuffer(gzip.open(DATA / "train-images-idx3-ubyte.gz").read(), np.uint8, offset=16)
    labels = np.frombuffer(gzip.open(DATA / "train-labels-idx1-ubyte.gz").read(), np.uint8, offset=8)
    images = torch.from_numpy(images[: examples * 784].reshape(-1, 1, 28, 28).astype(np.float32))
    return (images / 255 - 0.2860) / 0.3530, torch.from_numpy(labels[:examples].astype(np.int64))


def ddp_worker(rank, port, weights, results):
    dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=WORKERS)
    model = SmallCnn()
    model.load_state_dict(weights)
    model = nn.parallel.DistributedDataParallel(model)
    optimiser = torch.optim.SGD(model.parameters(), LEARNING_RATE, MOMENTUM, weight_decay=WEIGHT_DECAY)
    images, labels = training_data()
    order = permutation(len(labels), SEED, 0)
    losses = []
    for step in range(STEPS):
        first = (step * WORKERS + rank) * BATCH
        batch = order[first : first + BATCH]
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    if rank == 0:
        results.put(losses)
    dist.barrier()


def ddp_losses(weights):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    results = mp.get_context("spawn").SimpleQueue()
    workers = mp.spawn(ddp_worker, (port, weights, results), nprocs=WORKERS, join=False)
    losses = results.get()
    while not workers.join():
        pass
    return losses


def thinpipe_losses(trainer, weights, folder):
    torch.save(weights, folder / "weights.pt")
    (folder / "rendezvous").mkdir()
    config = {
        "seed": SEED,
        "workers": WORKERS,
        "model": {"name": "small_cnn", "width": 4, "hidden": 32},
        "dataset": {"name": "fashion_mnist", "train_examples": WORKERS * BATCH * STEPS, "test_examples": 100},
        "optimiser": {
            "name": "sgd",
            "learning_rate": LEARNING_RATE,
            "momentum": MOMENTUM,
            "weight_decay": WEIGHT_DECAY,
        },
        "training": {"batch_size_per_worker": BATCH},
        # Several buckets, so that overlap and the rebuilt layout take part.
        "buckets": {"first_size": "1 kB", "size": "10 kB"},
    }
    workers = []
    for rank in range(WORKERS):
        path = folder / f"worker-{rank}.json"
        path.write_text(
            json.dumps(
                {
                    "schema_version": 1,
                    "rank": rank,
                    "world_size": WORKERS,
                    "address": "127.0.0.1",
                    "rendezvous_directory": str(folder / "rendezvous"),
                    "starting_weights": str(folder / "weights.pt"),
                    "config": config,
                }
            )
        )
        workers.append(subprocess.Popen([trainer, "work", path], stdout=subprocess.PIPE, text=True))
    outputs = [worker.communicate(timeout=120)[0] for worker in workers]
    for rank, worker in enumerate(workers):
        assert worker.returncode == 0, f"rank {rank} exited with {worker.returncode}: {outputs[rank][-2000:]}"
    events = [json.loads(line) for line in outputs[0].splitlines()]
    return [event["train_loss"] for event in events if event["event"] == "iteration"]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if not DATA.is_dir():
        print(f"SKIPPED: {DATA} is missing; install dataset-fashion-mnist")
        sys.exit(77)
    torch.manual_seed(0)
    weights = SmallCnn().state_dict()
    with tempfile.TemporaryDirectory() as folder:
        ours = thinpipe_losses(sys.argv[1], dict(weights), Path(folder))
    theirs = ddp_losses(weights)
    assert len(ours) == len(theirs) == STEPS, (len(ours), len(theirs))
    worst = max(abs(a - b) / b for a, b in zip(ours, theirs))
    print(f"loss of rank 0 from {theirs[0]:.4f} to {theirs[-1]:.4f} over {STEPS} steps, "
          f"largest relative difference from DistributedDataParallel {worst:.2e}")
    assert worst < RELATIVE_TOLERANCE, list(zip(ours, theirs))
    assert theirs[-1] < 0.8 * theirs[0], "the comparison needs a training that gets somewhere"


if __name__ == "__main__":
    main()
