# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own DistributedDataParallel over backend "stretto", for checkpoints. PyTorch has no
list of wrapped modules, so they are searched among all objects at a checkpoint or restore. From
then on they are among a session's modules, like those of stretto.torch.
"""

import gc
import sys
import weakref

import torch

from stretto import errors

_BACKEND = "stretto.torch.distributed"
_SHARDED = "torch.distributed.optim.zero_redundancy_optimizer"
_known: "weakref.WeakKeyDictionary" = weakref.WeakKeyDictionary()


class Exchanged:
    """Such a module, with the interface of an exchange: the names of its parameters at all workers.
    The workers have agreed only on those.

    parameters  (name, parameter) of the trained parameters
    number      of the module, from 1: the same at all workers
    """

    layouts = None

    def __init__(self, parameters, number):
        self.names = {parameter: f"module{number}/{name}" for name, parameter in parameters}

    def __contains__(self, parameter):
        return parameter in self.names

    def follow_others(self, known):
        """Has no other state to follow."""


def find(now, operation):
    """Adds new modules to the session. Unsupported if workers train different parameters in them,
    or they cannot be told apart."""
    backend = sys.modules.get(_BACKEND)
    if backend is None or now.alone:
        return
    objects = gc.get_objects()
    sharded = getattr(sys.modules.get(_SHARDED), "ZeroRedundancyOptimizer", None)
    if sharded is not None and any(issubclass(type(each), sharded) for each in objects):
        raise errors.Unsupported(
            "each worker has another part of what a ZeroRedundancyOptimizer remembers; use an "
            "optimizer that all have alike, or save it by consolidate_state_dict() and torch.save",
            operation=operation)
    wrapped = [each for each in objects
               if issubclass(type(each), torch.nn.parallel.DistributedDataParallel)
               and isinstance(getattr(each, "process_group", None), backend.ProcessGroup)
               and each not in _known]
    del objects
    for signature, each in _in_order(wrapped, operation):
        if each.process_group.size() != now.size:
            raise errors.Unsupported(
                f"a DistributedDataParallel trains '{signature[0][0]}' and so on in a group of "
                f"{each.process_group.size()} of {now.size} workers, so that its parameters are "
                "not alike at all; attach() its module with each=True instead, and let the "
                "DistributedDataParallel go before", operation=operation)
        exchanged = Exchanged(_trained(each.module), now.new_scope("module").number)
        _known[each] = exchanged
        now.modules.append(weakref.ref(exchanged))


def _trained(module):
    return [(name, parameter) for name, parameter in module.named_parameters()
            if parameter.requires_grad]


def _in_order(wrapped, operation):
    # (trained parameters, module): objects have no order that is the same everywhere.
    pairs = sorted(((_signature(each), each) for each in wrapped), key=lambda pair: pair[0])
    for (first, _), (second, _) in zip(pairs, pairs[1:]):
        if first == second:
            raise errors.Unsupported(
                f"two DistributedDataParallel train parameters of the same names and shapes, "
                f"'{first[0][0]}' and so on, and cannot be told apart; give their layers other "
                "names, or wrap one module that has both", operation=operation)
    return pairs


def _signature(wrapped):
    return [(name, str(parameter.dtype), list(parameter.shape))
            for name, parameter in _trained(wrapped.module)]
