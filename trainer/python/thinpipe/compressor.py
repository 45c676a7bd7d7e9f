# SPDX-License-Identifier: Apache-2.0
"""Methods in the shorter form of the GRACE library: compress, decompress, memory."""
from __future__ import annotations

from typing import Any, ClassVar, Optional, Sequence

import torch

from . import _core
from .method import Synchroniser
from .scripts import InvalidScript


class Compressor(Synchroniser):
    """A method that only compresses: Thinpipe exchanges the messages, decompresses those of all workers, and averages.

        class MyTopK(thinpipe.Compressor):
            ratio: float = thinpipe.field(0.01, above=0, at_most=1)
            memory = "residual"

            def compress(self, tensor, name):
                indices = tensor.abs().topk(max(1, int(self.ratio * tensor.numel()))).indices
                return [tensor[indices], indices.int()], tensor.numel()

            def decompress(self, tensors, context):
                values, indices = tensors
                return torch.zeros(context).index_put_((indices.long(),), values)
    """

    # "residual": the part of the gradient that a message lacks is added to the next one. None: it is lost.
    memory: ClassVar[Optional[str]] = None  # fields.py reads it, also before Python 3.10
    # What is compressed at once: a "bucket", or each parameter ("tensor"), as in GRACE.
    unit: ClassVar[str] = "bucket"
    # "all_gather": every worker decompresses all messages. "all_reduce": messages can be summed, and the sum is
    # decompressed.
    exchange: ClassVar[str] = "all_gather"

    def compress(self, tensor: torch.Tensor, name: str) -> tuple[Sequence[torch.Tensor], Any]:
        """Returns the message, a list of tensors, and whatever decompress() needs besides. tensor: float32 [n].

        Only the tensors travel: what is needed besides must be the same on every worker. With "all_gather", the first
        dimension of a tensor may differ between workers.
        """
        raise NotImplementedError(f"{type(self).__name__}.compress")

    def decompress(self, tensors: Sequence[torch.Tensor], context: Any) -> torch.Tensor:
        """Returns the tensor of a message, float32 [n]. It may change the message's tensors."""
        raise NotImplementedError(f"{type(self).__name__}.decompress")

    def start(self, context: _core.Context) -> None:
        choices = {"memory": (None, "residual"), "unit": ("bucket", "tensor"), "exchange": ("all_gather", "all_reduce")}
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise InvalidScript(f"{type(self).__name__}.{name} must be {allowed[0]!r} or {allowed[1]!r}, but is "
                                    f"{getattr(self, name)!r}")
        if self.memory is not None:
            self.residual = _core.Residual(context)
        self._kept = context.kept

    def adopt_masks(self, kept: list[Any]) -> None:
        super().adopt_masks(kept)
        self._kept = kept

    def synchronise(self, bucket: _core.Bucket, net: _core.Network) -> None:
        gradient = bucket.gradient
        if self.memory is not None:
            self.residual.add_to(bucket)
        unsent = gradient.clone() if self.memory is not None else None
        for name, part in self._parts(bucket):
            tensors, context = self.compress(gradient[part], name)
            if unsent is not None:
                unsent[part] -= self.decompress([tensor.clone() for tensor in tensors], context)
            gradient[part] = self._exchange(tensors, context, net)
        self._clear_pruned(bucket, gradient, unsent)
        if unsent is not None:
            self.residual.stage(bucket, unsent)

    def _clear_pruned(self, bucket: _core.Bucket, *tensors: torch.Tensor | None) -> None:
        """Sets pruned entries to zero, because a compressor does not know of masks: its error would move them."""
        for part in bucket.slices:
            kept = self._kept[part.parameter]
            if kept is None:
                continue
            for tensor in tensors:
                if tensor is not None:
                    tensor[part.offset:part.offset + part.size].masked_fill_(~kept, 0)

    def _parts(self, bucket: _core.Bucket) -> list[tuple[str, slice]]:
        if self.unit == "tensor":
            return [(part.name, slice(part.offset, part.offset + part.size)) for part in bucket.slices
                    if part.size > 0]
        return [("+".join(part.name for part in bucket.slices), slice(0, bucket.size))]

    def _exchange(self, tensors: Sequence[torch.Tensor], context: Any, net: _core.Network) -> torch.Tensor:
        if self.exchange == "all_reduce":
            for tensor in tensors:
                net.all_reduce(tensor)
            return self.decompress(tensors, context) / net.world_size
        messages = zip(*([_in_shape_of(tensor, gathered) for gathered in net.all_gather_any(tensor)]
                         for tensor in tensors))
        total = None
        for message in messages:
            decompressed = self.decompress(list(message), context)
            total = decompressed if total is None else total + decompressed
        return total / net.world_size


def _in_shape_of(own: torch.Tensor, gathered: torch.Tensor) -> torch.Tensor:
    """Returns a worker's flat tensor in the shape of this worker's, of which the first dimension may differ."""
    return gathered.view(own.shape if gathered.numel() == own.numel() else (-1, *own.shape[1:]))
