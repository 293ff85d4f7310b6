# SPDX-License-Identifier: Apache-2.0
"""The modules whose parameters an optimizer trains. PyTorch keeps no such list: they are searched
among all objects, once, and then remembered for their lifetime."""

import gc
import re
import weakref

import torch

_PREFIX = re.compile("^module[0-9]+/")  # A DistributedDataParallel's prefix of names.
_found: "weakref.WeakKeyDictionary" = weakref.WeakKeyDictionary()


def _likeness(module, names):
    # Similarity to the module on which named_parameters() was called.
    own = dict(module.named_parameters())
    alike = sum(names.get(parameter) == name for name, parameter in own.items())
    owned = sum(parameter in names for parameter in own.values())
    return alike, owned, -len(own), type(module).__name__


def owner_of(exchange):
    """The module that owns the parameters of this exchange, preferably by their names; None if no
    module owns any."""
    names = {parameter: _PREFIX.sub("", name) for parameter, name in exchange.names.items()}
    known = _found.get(exchange)
    module = None if known is None else known()
    if module is not None and _likeness(module, names)[1] > 0:
        return module
    modules = [each for each in gc.get_objects() if issubclass(type(each), torch.nn.Module)]
    rated = [(likeness, each) for likeness, each in ((_likeness(each, names), each)
                                                     for each in modules) if likeness[1] > 0]
    if not rated:
        return None
    module = max(rated, key=lambda pair: pair[0])[1]
    _found[exchange] = weakref.ref(module)
    return module


def tensors_besides(exchange):
    """(name, tensor) of the module's other tensors: untrained parameters and buffers."""
    module = owner_of(exchange)
    if module is None:
        return []
    trained = {parameter.data_ptr() for parameter in exchange.names}
    return [(name, tensor) for name, tensor in module.state_dict(keep_vars=True).items()
            if isinstance(tensor, torch.Tensor) and tensor.data_ptr() not in trained]


def frozen_of(exchange):
    """(name, parameter) of its module's untrained parameters."""
    module = owner_of(exchange)
    return [] if module is None else [(name, parameter) for name, parameter
                                      in module.named_parameters()
                                      if parameter not in exchange.names]
