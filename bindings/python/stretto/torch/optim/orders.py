# SPDX-License-Identifier: Apache-2.0
"""Orders of layers: which gradients the next forward needs first, by a file, a list or ranks.

A file has a line for each tensor: its name, a tab, and its rank, the lowest first; empty lines and
lines that begin with # are ignored. stretto::file_order in C++ reads the same form.
"""

import collections.abc
import os
import re
import time
import zlib
from typing import Any, Mapping, Sequence, Union

import torch

from stretto import notices

Order = Union[str, "os.PathLike[str]", Mapping[str, int], Sequence[str]]

_MOST_RANK = 2**31 - 1
# A tensor in a trace: "Gradient.0.weight+21" is parameter 0.weight and 21 more in its bucket.
# Tensors of a second optimizer have a scope before the name, and some have a type behind it.
_TENSOR = re.compile(
    r"Gradient\.(optimizer[0-9]+/)?(.*?)(\+[0-9]+( late| at once)?)?( as [a-z0-9]+)?")


def _check(rank, where):
    if isinstance(rank, bool) or not isinstance(rank, int) or not 0 <= rank <= _MOST_RANK:
        raise ValueError(f"{where}: the rank is {rank!r}, wanted a whole number from 0 to 2^31 - 1")
    return rank


def _read(path):
    ranks = {}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip("\r\n")
            if not line or line.startswith("#"):
                continue
            name, tab, rank = line.rpartition("\t")
            where = f"{os.fspath(path)}, line {number}"
            if not (tab and name):
                raise ValueError(f"{where}: found {line!r}, wanted a name, a tab and a rank")
            if name in ranks:
                raise ValueError(f"{where}: found {name!r} for the second time")
            ranks[name] = _check(int(rank) if rank.isdecimal() else rank, where)
    return ranks


def ranks_of(order: Order) -> Mapping[str, int]:
    """The rank of each parameter by name, from a file, from ranks, or from names in order. Raises
    ValueError for any other argument; OSError for an unreadable file."""
    if isinstance(order, (str, os.PathLike)):
        ranks = _read(order)
    elif isinstance(order, collections.abc.Mapping):
        ranks = {name: _check(rank, f"order: {name!r}") for name, rank in order.items()}
    elif isinstance(order, collections.abc.Sequence):
        ranks = {name: rank for rank, name in enumerate(order)}
        if len(ranks) != len(order):
            raise ValueError("order: a name is there twice")
    else:
        raise ValueError(f"order is {order!r}, wanted the path of a file, names in their order, or "
                         "ranks by name")
    if any(not isinstance(name, str) for name in ranks):
        raise ValueError("order: a name is no str; wanted those of named_parameters")
    found = [(_TENSOR.fullmatch(name), rank) for name, rank in ranks.items()]
    matched = [(match[1] or "", match[2], rank) for match, rank in found if match]
    # A parameter may have tensors of several optimizers or types. Tensors of its own optimizer
    # count first, and of these the lowest rank.
    matched.sort(key=lambda each: -each[2])
    return ({name: rank for _, name, rank in matched}
            | {scope + name: rank for scope, name, rank in matched} | ranks)


def give(exchange, order: Order, prefix: str) -> None:
    """Makes the buckets of an exchange travel in this order. Raises ValueError if it names no
    parameter of a bucket."""
    ranks = ranks_of(order)
    for bucket in exchange.buckets:
        names = [slot.name.removeprefix(prefix) for slot in bucket.slots]
        found = [ranks.get(prefix + name, ranks.get(name)) for name in names]
        known = [rank for rank in found if rank is not None]
        if not known:
            raise ValueError(f"order: parameter {names[0]!r} is not in it; wanted every parameter, "
                             "or one of those that travel together")
        bucket.rank = min(known)
    text = "\n".join(f"{name}\t{rank}" for name, rank in sorted(ranks.items()))
    exchange.about["order of layers"] = f"{zlib.crc32(text.encode()):08x}"


class _Uses:
    # The time of each layer's forward, in the order of the first use.

    def __init__(self, model):
        self.names = {parameter: name for name, parameter in model.named_parameters()}
        self.times = {}  # Nanoseconds of the layer, by the parameter's name.
        self._began = {}

    def begin(self, module, _):
        for parameter in module.parameters(recurse=False):
            self.times.setdefault(self.names[parameter], None)
        self._began[module] = time.perf_counter_ns()

    def end(self, module, *_):
        took = time.perf_counter_ns() - self._began[module]
        for parameter in module.parameters(recurse=False):
            name = self.names[parameter]
            self.times[name] = (self.times[name] or 0) + took


def _relative(name, used, registered):
    # The used parameter registered nearest to this one, in the innermost module with any.
    at, module, inside = registered.index(name), name, []
    while not inside:
        module = module.rpartition(".")[0]
        inside = [index for index, other in enumerate(registered)
                  if other in used and (not module or other.startswith(module + "."))]
    return registered[min(inside, key=lambda index: (abs(index - at), index))]


def _placed(used, registered):
    # All registered names in the order of use, and the unused names. An unused name follows its
    # relative if the relative is registered before it, and else precedes it.
    places = {name: ([], []) for name in used}
    unused = [name for name in registered if name not in places]
    if not used:
        return registered, unused
    for name in unused:
        relative = _relative(name, places, registered)
        places[relative][registered.index(relative) < registered.index(name)].append(name)
    return [each for name in used
            for each in (*places[name][0], name, *places[name][1])], unused


def record_order(path: Union[str, "os.PathLike[str]"], model: torch.nn.Module, *inputs: Any,
                 **options: Any) -> None:
    """Calls model(*inputs, **options) twice in evaluation mode, without a backward. Writes to
    `path` the order in which the second call used the layers' parameters, with each layer's time in
    a comment. The file is an order for DistributedOptimizer(..., model=model, order=path). A module
    uses its parameters when it is called. An unused parameter is placed beside the nearest used
    parameter of its module, with a warning. All workers must use the same file: let rank 0 write
    it. Thread: one that uses the model alone."""
    uses = _Uses(model)
    modes = [(module, module.training) for module in model.modules()]
    model.eval()  # Running means stay unchanged.
    hooks = []
    try:
        with torch.enable_grad():  # Without it PyTorch's fast paths call no inner module.
            model(*inputs, **options)  # The first call allocates memory, which takes time.
            for module, _ in modes:
                if next(module.parameters(recurse=False), None) is not None:
                    hooks += [module.register_forward_pre_hook(uses.begin),
                              module.register_forward_hook(uses.end)]
            model(*inputs, **options)
    finally:
        for hook in hooks:
            hook.remove()
        for module, training in modes:
            module.training = training
    lines = ["# order of use by stretto.torch.record_order, with the time of each layer"]
    names, unused = _placed(list(uses.times), list(uses.names.values()))
    if unused:
        more = f" and {len(unused) - 8} more" if len(unused) > 8 else ""
        notices.warn(f"record_order: no call of a module used {', '.join(unused[:8])}{more}; each "
                     "is placed beside a parameter of the same module")
    for rank, name in enumerate(names):
        took = uses.times.get(name)
        lines += [f"# {name}: " + ("not used" if took is None else f"{took / 1e6:.3f} ms"),
                  f"{name}\t{rank}"]
    temporary = f"{os.fspath(path)}.{os.getpid()}"
    with open(temporary, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    os.replace(temporary, path)
