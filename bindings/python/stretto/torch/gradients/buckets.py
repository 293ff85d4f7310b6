# SPDX-License-Identifier: Apache-2.0
"""Buckets of gradients that travel together: small parameters with adjacent names."""

from stretto.torch.core import agreement

_SMALL_BYTES = 16 * 1024
_BUCKET_BYTES = 128 * 1024


class Slot:
    """One parameter, and the progress of its gradient."""

    def __init__(self, name, parameter, index):
        self.name = name
        self.parameter = parameter
        self.index = index  # In the order of the given parameters.
        self.dtype = parameter.dtype  # At the time of wrapping.
        self.bytes = parameter.numel() * parameter.element_size()
        self.bucket = None
        self.passes = 0  # Gradients accumulated since the last exchange.
        self.layout = 0  # Backward's gradient for this exchange: sparse, dense or 0.
        self.is_sparse = None  # Agreed when a worker first had a gradient; None before.
        self.is_unused = False  # No worker has had a gradient yet.
        self.left_alone = False  # Frozen since, without a gradient: it must stay without.
        self.arrived = None  # Position among all in the first backward.


class Bucket:
    """Slots whose gradients travel as one tensor."""

    def __init__(self, is_small):
        self.slots = []
        self.is_small = is_small
        self.bytes = 0
        self.rank = None  # In the program's order of layers; None: no order.
        self.mark = ""  # Suffix of its name if buckets of other sizes begin with the same slot.
        self.declared = {}
        self.other_buffers = {}  # Buffers of the previous step, if its means are pending.
        self.buffers = {}  # By type: memory for gradients that cannot travel in place.
        self.ready = 0
        self.is_sent = False  # Or held until the workers have agreed.
        self.ticket = None
        self.source = None  # The tensor that travels; it may be a single gradient itself.
        self.in_place = False
        self.context = None

    def add(self, slot):
        """Adds the slot to this bucket."""
        self.slots.append(slot)
        self.bytes += slot.bytes
        slot.bucket = self

    def takes(self, slot):
        """Whether a small slot fits into this bucket."""
        first = self.slots[0].parameter
        return (self.is_small and self.bytes < _BUCKET_BYTES
                and first.dtype == slot.parameter.dtype and first.device == slot.parameter.device)


def slots_of(named_parameters, prefix):
    """A slot for each (name, parameter), by name."""
    slots = [(f"{name}", Slot(f"{prefix}{name}", parameter, index))
             for index, (name, parameter) in enumerate(named_parameters)]
    return [slot for _, slot in agreement.in_order(slots)]


def bucketed(slots, coded_from):
    """The buckets of these slots. They are equal at every worker: they depend on the slots' order
    and sizes, and on agreed codecs. From `coded_from` bytes on, if not None, a gradient has a
    codec, and travels alone."""
    most = _SMALL_BYTES if coded_from is None else min(_SMALL_BYTES, coded_from - 1)
    buckets = []
    for slot in slots:
        is_small = slot.bytes <= most
        if not (is_small and buckets and buckets[-1].takes(slot)):
            buckets.append(Bucket(is_small))
        buckets[-1].add(slot)
    return buckets
