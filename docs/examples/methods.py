# SPDX-License-Identifier: Apache-2.0
"""Trains with DistributedDataParallel; --method selects the hook that exchanges gradients."""
import argparse, torch, torch.distributed as dist, thinpipe
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook

def largest(state, bucket):  # the method under test: only the largest entries of each bucket, summed as they are
    ratio, entries = state, bucket.buffer()
    kept = entries.abs().topk(max(1, int(ratio * entries.numel()))).indices
    pairs = torch.stack([kept.float(), entries[kept]])
    everyones = [torch.empty_like(pairs) for _ in range(dist.get_world_size())]
    thinpipe.report(payload_bytes=pairs.numel() * 4)
    def add(_):
        entries.zero_()
        for indices, values in everyones:
            entries.index_add_(0, indices.long(), values / len(everyones))
        return entries
    return dist.all_gather(everyones, pairs, async_op=True).get_future().then(add)

parser = argparse.ArgumentParser()
parser.add_argument("--method", default="dense")
parser.add_argument("--lr", type=float, default=0.1)
args = parser.parse_args()
dist.init_process_group("gloo")
torch.manual_seed(1)
teacher, inputs = torch.randn(64, 10), torch.randn(8192, 64)
labels = (inputs @ teacher).argmax(1)
model = torch.nn.parallel.DistributedDataParallel(
    torch.nn.Sequential(torch.nn.Linear(64, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 10)))
if args.method == "fp16":
    model.register_comm_hook(None, fp16_compress_hook)
elif args.method == "largest":
    model.register_comm_hook(thinpipe.option("ratio", 0.01), largest)
optimiser = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
for iteration in range(61):
    if iteration % 10 == 0:
        accuracy = (model.module(inputs[:1024]).argmax(1) == labels[:1024]).float().mean()
        thinpipe.report(iteration=iteration, test_accuracy=accuracy)
    batch = torch.randint(1024, 8192, (64,), generator=torch.Generator().manual_seed(iteration * 100 + dist.get_rank()))
    optimiser.zero_grad()
    torch.nn.functional.cross_entropy(model(inputs[batch]), labels[batch]).backward()
    optimiser.step()
dist.barrier()
dist.destroy_process_group()
