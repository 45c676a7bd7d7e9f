# SPDX-License-Identifier: Apache-2.0
"""Top-k that puts another tensor in the place of a bucket's to add its residual, and asks for what does not exist."""
from topk_residual import MyTopK


class Awkward(MyTopK):
    def start(self, context):
        super().start(context)
        for wrong, error in ((lambda: self.residual.of(len(context.parameters)), IndexError),
                             (lambda: self.residual.drop_pruned([]), ValueError)):
            try:
                wrong()
            except error:
                continue
            raise AssertionError(f"no {error.__name__}")

    def add_residual(self, bucket):
        bucket.gradient = bucket.gradient + self.residual.in_bucket(bucket)
