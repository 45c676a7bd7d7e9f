"""Top-k with a residual: the same results, bit for bit, as the method topk in C++ with 4-byte indices."""
import torch

import thinpipe


def largest(values, k):
    """Returns the indices of the k largest magnitudes, ascending; of equal ones those with lower indices."""
    magnitudes = values.abs()
    threshold = magnitudes.topk(k, sorted=False).values.min()
    candidates = (magnitudes >= threshold).nonzero().view(-1)
    if candidates.numel() == k:
        return candidates
    # More have the threshold's magnitude than fit, or the threshold is NaN.
    chosen = magnitudes[candidates] > threshold
    if threshold.isnan():
        candidates = torch.arange(values.numel())
        chosen = torch.zeros(values.numel(), dtype=torch.bool)
        equal = magnitudes.isnan()
    else:
        equal = ~chosen
    missing = k - int(chosen.sum())
    chosen[equal.nonzero().view(-1)[:missing]] = True
    return candidates[chosen]


class MyTopK(thinpipe.Synchroniser):
    """Sends the largest entries of gradient plus residual, and keeps the others as the residual."""

    ratio: float = thinpipe.option(0.01, above=0, at_most=1, effect="kept share of the entries")
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
            gradient[places] += values
        gradient /= net.world_size

    def traffic(self, bucket, workers):
        return 8 * max(1, int(self.ratio * bucket.size))
