# SPDX-License-Identifier: Apache-2.0
"""Hand-written communication: every worker trains on its own, and all average their weights every few steps.

    thinpipe exec three-switch -- python3 local_sgd.py --every 4
"""
import argparse

import torch
import torch.distributed as dist
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=20)
parser.add_argument("--every", type=int, default=4, help="steps between averages")
options = parser.parse_args()

dist.init_process_group("gloo")
rank, workers = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)  # all start from the same weights
classes = torch.randn(10, 784)
model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10))
optimiser = torch.optim.SGD(model.parameters(), 0.1)
torch.manual_seed(1 + rank)

for step in range(1, options.steps + 1):
    labels = torch.randint(10, (32,))
    loss = nn.functional.cross_entropy(model(classes[labels] / 4 + torch.randn(32, 784)), labels)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    if step % options.every == 0:
        weights = nn.utils.parameters_to_vector(model.parameters()).detach()
        dist.all_reduce(weights)
        nn.utils.vector_to_parameters(weights / workers, model.parameters())
        losses = [torch.zeros(()) for _ in range(workers)]
        dist.all_gather(losses, loss.detach())
        if rank == 0:
            print(f"step {step} mean loss {sum(losses).item() / workers:.3f}")
dist.destroy_process_group()
