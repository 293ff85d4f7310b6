# SPDX-License-Identifier: Apache-2.0
"""Making all workers begin alike: parameters, the state of an optimizer, any small object."""

import collections.abc
from typing import Any, Iterable, List, Mapping, Optional, Tuple, Union

import torch

from stretto import errors, session
from stretto.torch import exchange, objects

Parameters = Union[Mapping[str, Any], Iterable[Union[torch.Tensor, Tuple[str, torch.Tensor]]]]

_LEAST_ROOM = 1024


def _named(params):
    # What BytePS takes: a dict, or a list of (name, tensor) or of tensors.
    if isinstance(params, dict):
        pairs = sorted(params.items())
    elif isinstance(params, (list, tuple)) or isinstance(params, collections.abc.Iterator):
        params = list(params)
        pairs = [item if isinstance(item, tuple) else (str(index), item)
                 for index, item in enumerate(params)]
    else:
        raise ValueError(f"invalid params of type: {type(params)}; wanted a state_dict(), or a "
                         "list of tensors or of (name, tensor)")
    return [(name, tensor) for name, tensor in pairs if isinstance(tensor, torch.Tensor)]


def _agree(pairs, prefix):
    # A name for this set of tensors, after making sure that all workers have the same.
    text = "".join(f"{name}:{tensor.dtype}:{tensor.numel()};" for name, tensor in pairs)
    mine = exchange.digest_of(prefix + text)
    everybody = exchange.gather_numbers(mine, f"{prefix}digest")
    if len(set(everybody)) > 1:
        other = next(rank for rank, number in enumerate(everybody) if number != mine)
        raise errors.Mismatch(
            f"the workers have different tensors to broadcast: those of worker {other} differ in "
            f"name, type or size from ours, which are {len(pairs)} tensors beginning with "
            f"{pairs[0][0] if pairs else 'none'}", operation="broadcast_parameters")
    return f"{mine:012x}"


def broadcast_parameters(params: Parameters, root_rank: int, prefix: str = "Parameter.") -> None:
    """Makes these tensors, in place, what they are at the worker `root_rank`. `params` is a
    state_dict(), or a list (or an iterator, such as named_parameters()) of tensors or of (name,
    tensor). All workers must call it with tensors of the same names, types and sizes; else all
    get a Mismatch."""
    pairs = _named(params)
    if session.current().alone:
        return
    label = _agree(pairs, prefix)
    handles = [exchange.begin_broadcast(tensor.data, root_rank, f"{prefix}{label}.{name}")
               for name, tensor in pairs]
    for handle in handles:
        handle.wait()


def broadcast_object(obj: Any, root_rank: int = 0, name: Optional[str] = None) -> Any:
    """The object that the worker `root_rank` gives; what the others give does not matter. See
    stretto.torch.objects for what can travel: nothing is unpickled. All must call it."""
    now = session.current()
    if now.alone:
        return obj
    label = f"Object.{name or 'object'}"
    data = objects.encode(obj) if now.rank == root_rank else b""
    size = torch.tensor([len(data)], dtype=torch.int64)
    exchange.begin_broadcast(size, root_rank, f"{label}.size").wait()
    room = _LEAST_ROOM
    while room < int(size):
        room *= 2  # So that few tensors serve objects of all sizes.
    buffer = torch.zeros(room, dtype=torch.uint8)
    if data:
        buffer[:len(data)] = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    exchange.begin_broadcast(buffer, root_rank, f"{label}.{room}").wait()
    return obj if now.rank == root_rank else objects.decode(buffer[:int(size)].numpy().tobytes())


def _without_tensors(value, tensors):
    # A copy of the structure with a description in the place of each tensor.
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return {"stretto.tensor": [str(value.dtype), list(value.shape)]}
    if isinstance(value, dict):
        return {key: _without_tensors(item, tensors) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([_without_tensors(item, tensors) for item in value])
    return value


def _with_tensors(value, tensors):
    # The structure, with a new tensor for each description.
    if isinstance(value, dict):
        if "stretto.tensor" in value:
            dtype, shape = value["stretto.tensor"]
            tensors.append(torch.zeros(shape, dtype=getattr(torch, dtype.split(".")[1])))
            return tensors[-1]
        return {key: _with_tensors(item, tensors) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([_with_tensors(item, tensors) for item in value])
    return value


def broadcast_optimizer_state(optimizer: torch.optim.Optimizer, root_rank: int,
                              prefix: str = "Parameter.") -> None:
    """Makes the optimizer's state and options what they are at the worker `root_rank`, also where
    the others have no state yet. ValueError for LBFGS, whose state is no tensors by parameter."""
    if isinstance(optimizer, torch.optim.LBFGS):
        raise ValueError("cannot broadcast torch.optim.LBFGS state")
    now = session.current()
    if now.alone:
        return
    is_root = now.rank == root_rank
    tensors: List[torch.Tensor] = []
    state = optimizer.state_dict()
    described = broadcast_object(_without_tensors(state, tensors), root_rank,
                                 name=f"{prefix}optimizer")
    if not is_root:
        tensors = []
        state = _with_tensors(described, tensors)
    broadcast_parameters([(f"state.{index}", tensor) for index, tensor in enumerate(tensors)],
                         root_rank, prefix=f"{prefix}optimizer.")
    if not is_root:
        optimizer.load_state_dict(state)
