# SPDX-License-Identifier: Apache-2.0
"""Which gradients travel together: those of small parameters whose names follow one another."""

from stretto.torch.core import agreement

_SMALL_BYTES = 16 * 1024
_BUCKET_BYTES = 128 * 1024


class Slot:
    """One parameter, and how far its gradient is."""

    def __init__(self, name, parameter, index):
        self.name = name
        self.parameter = parameter
        self.index = index  # In the order in which parameters were given.
        self.dtype = parameter.dtype  # As it was wrapped.
        self.bytes = parameter.numel() * parameter.element_size()
        self.bucket = None
        self.passes = 0  # Gradients that have been added up here since the last exchange.
        self.layout = 0  # Of what backward has made for this exchange: sparse, dense or 0.
        self.is_sparse = None  # As agreed when some worker first had a gradient; None until then.
        self.is_unused = False  # No worker has had one yet.
        self.left_alone = False  # Frozen since, and without a gradient: it is to stay without.
        self.arrived = None  # When, among all, in the first backward.


class Bucket:
    """Slots whose gradients travel as one tensor."""

    def __init__(self, is_small):
        self.slots = []
        self.is_small = is_small
        self.bytes = 0
        self.rank = None  # In the order of layers that the program gives; None: it gives none.
        self.mark = ""  # Of its name, where others of another size begin with the same slot.
        self.declared = {}
        self.other_buffers = {}  # Of the step before, if that is pending.
        self.buffers = {}  # By type: memory to travel in, for what cannot itself.
        self.ready = 0
        self.is_sent = False  # Or is held until all are known to do alike.
        self.ticket = None
        self.source = None  # What travels; a single gradient that can, travels by itself.
        self.in_place = False
        self.context = None

    def add(self, slot):
        """Makes it one of these."""
        self.slots.append(slot)
        self.bytes += slot.bytes
        slot.bucket = self

    def takes(self, slot):
        """Whether a small one goes with these."""
        first = self.slots[0].parameter
        return (self.is_small and self.bytes < _BUCKET_BYTES
                and first.dtype == slot.parameter.dtype and first.device == slot.parameter.device)


def slots_of(named_parameters, prefix):
    """A slot for each (name, parameter), by name."""
    slots = [(f"{name}", Slot(f"{prefix}{name}", parameter, index))
             for index, (name, parameter) in enumerate(named_parameters)]
    return [slot for _, slot in agreement.in_order(slots)]


def bucketed(slots, coded_from):
    """The buckets of these slots: the same at every worker, for they depend on the slots' order
    and sizes, and on what all workers say of codecs. From `coded_from` bytes on, if not None, a
    gradient has one, and travels alone."""
    most = _SMALL_BYTES if coded_from is None else min(_SMALL_BYTES, coded_from - 1)
    buckets = []
    for slot in slots:
        is_small = slot.bytes <= most
        if not (is_small and buckets and buckets[-1].takes(slot)):
            buckets.append(Bucket(is_small))
        buckets[-1].add(slot)
    return buckets
