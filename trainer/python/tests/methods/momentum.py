# SPDX-License-Identifier: Apache-2.0
"""A method that applies momentum itself: the same results, bit for bit, as the method dense and an optimiser with momentum."""
import thinpipe


class Momentum(thinpipe.Synchroniser):
    """The mean with momentum. Biases are left dense."""

    properties = thinpipe.Properties(applies_momentum=True, traffic_depends_on_data=False)

    def start(self, context):
        self.momentum = thinpipe.State(context)

    def leaves_dense(self, parameter):
        return len(parameter.shape) <= 1

    def synchronise(self, bucket, net):
        net.all_reduce(bucket.gradient)
        bucket.gradient /= net.world_size
        self.finish_dense(bucket, net.world_size)

    def finish_dense(self, bucket, workers):
        momentum = self.momentum.in_bucket(bucket).mul_(0.9).add_(bucket.gradient)
        self.momentum.stage(bucket, momentum)
        bucket.gradient = momentum


class ForgetsDense(Momentum):
    """Gives biases no momentum."""

    def synchronise(self, bucket, net):
        net.all_reduce(bucket.gradient)

    finish_dense = thinpipe.Synchroniser.finish_dense
