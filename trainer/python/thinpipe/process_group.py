# SPDX-License-Identifier: Apache-2.0
"""The collective calls of Thinpipe's methods over a process group of torch.distributed. The extension calls it."""
from __future__ import annotations

import itertools

import torch
import torch.distributed as dist
from torch import Tensor


class ProcessGroup:
    """A Gloo group, for tensors in main memory.

    All-gathers pad messages to the longest, because torch.distributed has none for different sizes over Gloo.
    """

    def __init__(self, group: dist.ProcessGroup) -> None:
        if dist.get_backend(group) != "gloo":
            raise ValueError(f"process_group must be a Gloo group, but its backend is {dist.get_backend(group)}")
        self._group = group
        self._ranks = dist.get_process_group_ranks(group)
        self.rank, self.world_size = dist.get_rank(group), dist.get_world_size(group)
        self._tags = itertools.count(1)

    def all_reduce(self, tensor: Tensor, takes_maximum: bool) -> None:
        if tensor.dtype == torch.bfloat16:
            return self._all_reduce_by_parts(tensor, takes_maximum)  # Gloo sums it only in newer versions
        dist.all_reduce(tensor, dist.ReduceOp.MAX if takes_maximum else dist.ReduceOp.SUM, self._group)

    def all_gather_v(self, tensor: Tensor, counts: list[int]) -> Tensor:
        own, width = tensor.view(torch.uint8), tensor.element_size()
        longest = width * max(counts)
        if longest == 0:
            return tensor.new_empty(0)
        padded = own.new_zeros(longest)
        padded[: len(own)] = own
        gathered = [torch.empty_like(padded) for _ in counts]
        dist.all_gather(gathered, padded, self._group)
        return torch.cat([part[: width * count] for part, count in zip(gathered, counts)]).view(tensor.dtype)

    def all_to_all_v(self, tensor: Tensor, send_counts: list[int], receive_counts: list[int]) -> Tensor:
        width = tensor.element_size()
        received = torch.empty(width * sum(receive_counts), dtype=torch.uint8)
        dist.all_to_all_single(received, tensor.view(torch.uint8), [width * count for count in receive_counts],
                               [width * count for count in send_counts], self._group)
        return received.view(tensor.dtype)

    def broadcast(self, tensor: Tensor, root: int) -> None:
        dist.broadcast(tensor.view(torch.uint8), self._ranks[root], self._group)

    def barrier(self) -> None:
        dist.barrier(self._group)

    def open_messages(self, message_bytes: int) -> Messages:
        return Messages(self._group, self._ranks, message_bytes, next(self._tags))

    def _all_reduce_by_parts(self, tensor: Tensor, takes_maximum: bool) -> None:
        """Each rank reduces a part, in the order of ranks. Sends as many bytes as a ring does."""
        counts = [len(part) for part in tensor.tensor_split(self.world_size)]
        own = counts[self.rank]
        first, *others = self.all_to_all_v(tensor, counts, [own] * self.world_size).view(self.world_size, own)
        reduced = first.clone()
        for part in others:
            torch.maximum(reduced, part, out=reduced) if takes_maximum else reduced.add_(part)
        tensor.copy_(self.all_gather_v(reduced, counts))


class Messages:
    """Messages of up to a size, from any worker to any other. The calls are those of PointToPoint in C++."""

    def __init__(self, group: dist.ProcessGroup, ranks: list[int], message_bytes: int, tag: int) -> None:
        self._group, self._ranks, self._bytes, self._tag = group, ranks, message_bytes, tag
        self._sent: list[dist.Work] = []

    def send(self, to: int, message: Tensor) -> None:
        self._sent.append(dist.isend(message, self._ranks[to], self._group, self._tag))

    def receive(self) -> tuple[int, Tensor]:
        message = torch.empty(self._bytes, dtype=torch.uint8)
        sender = dist.recv(message, None, self._group, self._tag)
        return self._ranks.index(sender), message

    def close(self) -> None:
        for work in self._sent:
            work.wait()
        self._sent.clear()
