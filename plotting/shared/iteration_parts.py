# SPDX-License-Identifier: Apache-2.0
"""The parts of an iteration as figures show them. docs/reference/metrics.md defines them."""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """name: the member of a record's iteration_time_s."""

    name: str
    label: str
    colour: str


COMPUTE = Part("compute", "compute", "#4477aa")
LOAD = Part("load", "waits for its batch", "#bbddee")
WAIT = Part("exposed_exchange", "waits for the exchange", "#ccbb44")
WHOLE = Part("mean", "iteration", "#999999")

ENCODE = Part("encode", "encode", "#aa3377")
EXCHANGE = Part("exchange", "collectives", "#66aa99")
DECODE = Part("decode", "decode", "#ee99bb")

# Together a whole iteration.
OF_TRAINING_THREAD = (COMPUTE, LOAD, WAIT)
# Backward may hide some of these.
OF_COMMUNICATION_THREAD = (ENCODE, EXCHANGE, DECODE)
