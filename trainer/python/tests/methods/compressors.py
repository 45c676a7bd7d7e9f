# SPDX-License-Identifier: Apache-2.0
"""Methods in the form of GRACE: compress, decompress and memory."""
import torch

import thinpipe


class TopKCompressor(thinpipe.Compressor):
    """The largest entries, with a residual."""

    ratio: float = thinpipe.field(0.1, above=0, at_most=1)
    properties = thinpipe.Properties(estimate="error_feedback")
    memory = "residual"

    def compress(self, tensor, name):
        indices = tensor.abs().topk(max(1, int(self.ratio * tensor.numel()))).indices
        return [tensor[indices], indices.int()], tensor.numel()

    def decompress(self, tensors, context):
        values, indices = tensors
        return torch.zeros(context).index_put_((indices.long(),), values)


class HalfCompressor(thinpipe.Compressor):
    """16-bit floating point; messages are summed on their way."""

    properties = thinpipe.Properties(estimate="rounded", relative_rounding=2.0**-11, all_reduce_compatible=True,
                                     traffic_depends_on_data=False)
    exchange = "all_reduce"

    def compress(self, tensor, name):
        return [tensor.half()], None

    def decompress(self, tensors, context):
        return tensors[0].float()


class RowsCompressor(thinpipe.Compressor):
    """The rows of four entries with the largest magnitudes, with a residual. Decompresses in the message's memory."""

    memory = "residual"

    def compress(self, tensor, name):
        rows = torch.nn.functional.pad(tensor, (0, -tensor.numel() % 4)).view(-1, 4)
        indices = rows.abs().sum(1).topk(max(1, len(rows) // 10)).indices
        return [rows[indices] / 2, indices.int()], tensor.numel()

    def decompress(self, tensors, context):
        rows, indices = tensors
        full = torch.zeros(-(-context // 4), 4)
        full[indices.long()] = rows.mul_(2)
        return full.view(-1)[:context]


class SignCompressor(thinpipe.Compressor):
    """One bit for each entry of a parameter, and the mean magnitude, with a residual."""

    properties = thinpipe.Properties(estimate="error_feedback")
    memory = "residual"
    unit = "tensor"

    def compress(self, tensor, name):
        scale = tensor.abs().mean().view(1)
        bits = torch.zeros(-(-tensor.numel() // 8) * 8, dtype=torch.uint8)
        bits[:tensor.numel()] = tensor >= 0
        weights = torch.tensor([1, 2, 4, 8, 16, 32, 64, 128], dtype=torch.uint8)
        packed = (bits.view(-1, 8) * weights).sum(1, dtype=torch.uint8)
        return [packed, scale], tensor.numel()

    def decompress(self, tensors, context):
        packed, scale = tensors
        weights = torch.tensor([1, 2, 4, 8, 16, 32, 64, 128], dtype=torch.uint8)
        bits = packed.unsqueeze(1).bitwise_and(weights).ne(0).view(-1)[:context]
        return (2 * bits.float() - 1) * scale
