# SPDX-License-Identifier: Apache-2.0
"""Codes that are summed on their way: sends as many bytes as the method terngrad with "exchange": "all_reduce"."""
import torch

import thinpipe


class SummedCodes(thinpipe.Synchroniser):
    """Rounds each entry to -1, 0 or 1 times the largest magnitude in its parameter."""

    properties = thinpipe.Properties(estimate="biased", all_reduce_compatible=True, traffic_depends_on_data=False)

    def synchronise(self, bucket, net):
        parts = bucket.gradient.split([part.size for part in bucket.slices])
        scales = torch.stack([part.abs().max() if part.numel() > 0 else torch.zeros(()) for part in parts])
        scales[scales.isnan()] = float("inf")  # a maximum may ignore NaN
        net.all_reduce(scales, "max")
        codes = torch.cat([(part / scale).nan_to_num(0, 0, 0).round().char() for part, scale in zip(parts, scales)])
        net.all_reduce_quantised(codes, 1)
        for part, summed, scale in zip(parts, codes.split([part.numel() for part in parts]), scales):
            part.copy_(summed * (scale / net.world_size))
