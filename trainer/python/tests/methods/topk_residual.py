"""Top-k with a residual: the same results, bit for bit, as the method topk in C++ with 4-byte indices."""
import math

import torch

import thinpipe


STRIDE = 64  # one entry in so many is sampled


def candidates_for(magnitudes, k):
    """Returns the indices, ascending, of a few entries more than the k largest, or of all."""
    rank = k * 5 // (4 * STRIDE) + 8
    sample = magnitudes[::STRIDE]
    if rank < sample.numel():
        # NaN is not less than anything, and so a candidate.
        candidates = (magnitudes < sample.topk(rank, sorted=False).values.min()).logical_not_().nonzero().view(-1)
        if candidates.numel() >= k:
            return candidates
    return torch.arange(magnitudes.numel())


def largest(values, k):
    """Returns the indices of the k largest magnitudes, ascending; of equal ones those with lower indices."""
    magnitudes = values.abs()
    candidates = candidates_for(magnitudes, k)
    magnitudes = magnitudes[candidates].nan_to_num_(nan=math.inf, posinf=math.inf)
    threshold = magnitudes.topk(k, sorted=False).values.min()
    kept = magnitudes >= threshold
    surplus = int(kept.sum()) - k
    if surplus > 0:  # topk chooses among equal magnitudes as it likes
        kept[(magnitudes == threshold).nonzero().view(-1)[-surplus:]] = False
    return candidates[kept]


class MyTopK(thinpipe.Synchroniser):
    """Sends the largest entries of gradient plus residual, and keeps the others as the residual."""

    ratio: float = thinpipe.field(0.01, above=0, at_most=1, effect="kept share of the entries")
    properties = thinpipe.Properties(estimate="error_feedback", traffic_depends_on_data=False)

    def start(self, context):
        self.residual = thinpipe.Residual(context)

    def leaves_dense(self, parameter):
        return len(parameter.shape) <= 1

    def synchronise(self, bucket, net):
        self.residual.add_to(bucket)
        gradient = bucket.gradient
        indices = largest(gradient, max(1, int(self.ratio * bucket.size)))
        all_values = net.all_gather(gradient[indices])
        all_indices = net.all_gather(indices.int()).long()
        gradient[indices] = 0
        self.residual.stage(bucket, gradient)
        gradient.zero_()
        for values, places in zip(all_values, all_indices):
            gradient.index_add_(0, places, values)
        gradient /= net.world_size

    def traffic(self, bucket, workers):
        return 8 * max(1, int(self.ratio * bucket.size))
