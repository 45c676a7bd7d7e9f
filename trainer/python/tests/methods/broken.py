# SPDX-License-Identifier: Apache-2.0
"""Methods with one fault each: thinpipe check-method must name it."""
import torch

import thinpipe


class RankDependent(thinpipe.Synchroniser):
    """Each worker adds noise of its own to the mean."""

    def synchronise(self, bucket, net):
        net.all_reduce(bucket.gradient)
        bucket.gradient /= net.world_size
        generator = torch.Generator()
        generator.manual_seed(net.rank)
        bucket.gradient *= 1 + 1e-3 * torch.rand(bucket.size, generator=generator)


class RemembersNan(thinpipe.Synchroniser):
    """Averages over steps, and changes its average before it is known whether the step is applied."""

    def start(self, context):
        self.average = thinpipe.State(context)

    def synchronise(self, bucket, net):
        net.all_reduce(bucket.gradient)
        bucket.gradient /= net.world_size
        bucket.gradient += 0.5 * self.average.in_bucket(bucket)
        self.average.stage(bucket, bucket.gradient)

    def finish_step(self, applied):
        self.average.commit()


class LosesTheRest(thinpipe.Compressor):
    """Claims error feedback, but has no memory of what it did not send."""

    properties = thinpipe.Properties(estimate="error_feedback")

    def compress(self, tensor, name):
        indices = tensor.abs().topk(max(1, tensor.numel() // 10)).indices
        return [tensor[indices], indices.int()], tensor.numel()

    def decompress(self, tensors, context):
        values, indices = tensors
        return torch.zeros(context).index_put_((indices.long(),), values)


class MovesPruned(thinpipe.Synchroniser):
    """Centres the gradient, so that entries that were zero are not."""

    def synchronise(self, bucket, net):
        net.all_reduce(bucket.gradient)
        bucket.gradient /= net.world_size
        bucket.gradient -= bucket.gradient.mean()


class ClaimsTooLittle(thinpipe.Synchroniser):
    """States half of the bytes that it sends."""

    properties = thinpipe.Properties(estimate="exact", traffic_depends_on_data=False)

    def synchronise(self, bucket, net):
        net.all_reduce(bucket.gradient)
        bucket.gradient /= net.world_size

    def traffic(self, bucket, workers):
        return 2 * bucket.size


class Raises(thinpipe.Synchroniser):
    """Fails in its first step."""

    def synchronise(self, bucket, net):
        raise ValueError("there is no result")


class WaitsForNobody(thinpipe.Synchroniser):
    """Only worker 0 makes the collective call."""

    def synchronise(self, bucket, net):
        if net.rank == 0:
            net.all_reduce(bucket.gradient)


class NeverEnds(thinpipe.Synchroniser):
    """Worker 0 computes without end, and the others wait for it."""

    def synchronise(self, bucket, net):
        while net.rank == 0 and net.world_size > 1:
            pass
        net.all_reduce(bucket.gradient)
