# SPDX-License-Identifier: Apache-2.0
"""Equal initial state of all workers: parameters, the state of an optimizer, any small object."""

import collections.abc
from typing import Any, Iterable, List, Mapping, Optional, Tuple, Union

import torch

from stretto import errors, session, unfinished
from stretto.torch.core import agreement, exchange, keeping, objects, wire

Parameters = Union[Mapping[str, Any], Iterable[Union[torch.Tensor, Tuple[str, torch.Tensor]]]]

_LEAST_ROOM = 1024
_SMALL_BYTES = 64 * 1024
_TOGETHER_BYTES = 1024 * 1024


def named_tensors(params):
    """(name, tensor) in the order of names, from BytePS's argument: a dict, or a list of (name,
    tensor) or of tensors. ValueError for any other value, which it names, and for duplicate
    names."""
    if isinstance(params, dict):
        pairs = list(params.items())
    elif isinstance(params, (list, tuple)) or isinstance(params, collections.abc.Iterator):
        params = list(params)
        pairs = [item if isinstance(item, tuple) else (str(index), item)
                 for index, item in enumerate(params)]
    else:
        raise ValueError(f"invalid params of type: {type(params)}; wanted a state_dict(), or a "
                         "list of tensors or of (name, tensor)")
    pairs = [(f"{name}", tensor) for name, tensor in pairs]
    for name, value in pairs:
        if not isinstance(value, torch.Tensor):
            raise ValueError(f"'{name}' is a {type(value).__name__}, wanted a torch.Tensor: give "
                             "tensors by name, as model.state_dict() has them, and other values "
                             "to broadcast_object()")
    counts = collections.Counter(name for name, _ in pairs)
    if len(counts) < len(pairs):
        twice = next(name for name, count in counts.items() if count > 1)
        raise ValueError(f"two of the tensors to broadcast have the name '{twice}'")
    return agreement.in_order(pairs)


def _together(pairs):
    # Lists of (name, tensor): small tensors of one type, up to some size, and each large one.
    lists = []
    bytes_ = {}  # By type: of the list being filled.
    filling = {}
    for name, tensor in pairs:
        size = tensor.numel() * tensor.element_size()
        if size > _SMALL_BYTES:
            lists.append([(name, tensor)])
            continue
        kind = tensor.dtype
        if kind not in filling or bytes_[kind] >= _TOGETHER_BYTES:
            filling[kind], bytes_[kind] = [], 0
            lists.append(filling[kind])
        filling[kind].append((name, tensor))
        bytes_[kind] += size
    return lists


def begin_together(pairs, root, prefix):
    """Starts to copy some (name, tensor), in place, from the worker `root`: the same list at all
    workers, in the same order. Returns the function that ends it."""
    lists = _together(pairs)
    now = session.current()
    if now.elastic:
        found = exchange.from_root(root, prefix, lambda is_root: _waited(_begin_all(
            lists, root, is_root, prefix)))
        return lambda: _store_all(lists, found)
    begun = _begin_all(lists, root, now.rank == root, prefix)
    return lambda: _store_all(lists, _waited(begun))


def _begin_all(lists, root, is_root, prefix):
    begun = []
    for members in lists:
        name, data = f"{prefix}{members[0][0]}", wire.plain_copy(members[0][1])
        if len(members) > 1:
            name += f"+{len(members) - 1}"
            data = torch.cat([wire.plain_copy(tensor).reshape(-1) for _, tensor in members])
        begun.append(exchange.begin_copy(data, root, is_root, name))
    return begun


def _waited(begun):
    return [handle.wait() for handle in begun]


def _store_all(lists, found):
    with torch.no_grad():
        for members, values in zip(lists, found):
            if len(members) == 1 and members[0][1].data_ptr() == values.data_ptr():
                continue  # It was received into the tensor itself.
            sizes = [tensor.numel() for _, tensor in members]
            for (_, tensor), part in zip(members, values.reshape(-1).split(sizes)):
                tensor.copy_(part.view(tensor.shape))


def tensors_in(state: Mapping[str, Any]) -> Mapping[str, torch.Tensor]:
    """The tensors of a module's state_dict(), which may have other values (get_extra_state())."""
    return {name: value for name, value in state.items() if isinstance(value, torch.Tensor)}


def broadcast_parameters(params: Parameters, root_rank: int, prefix: str = "Parameter.") -> None:
    """Copies these tensors, in place, from the worker `root_rank`. `params` is a state_dict(), or a
    list (or an iterator, such as named_parameters()) of tensors or of (name, tensor), in any order
    of names. All workers must call it with tensors of the same names, types and shapes; else all
    get a Mismatch that says which differ. ValueError for a value that is no tensor, such as a
    nested dict."""
    broadcast_alike(params, root_rank, prefix, {})


@unfinished.whole("broadcast_parameters")
def broadcast_alike(params, root_rank, prefix, facts, label=None):
    """broadcast_parameters(), if some other facts are equal at all workers, too: texts by text that
    is not in quotes. On the wire tensors have `label`, if any, in place of the prefix."""
    pairs = named_tensors(params)
    for name, tensor in pairs:
        wire.check_dense(tensor, f"tensor '{name}'")
    exchange.check_root(root_rank)
    now = session.current()
    if keeping.may_go_on() or now.is_new or now.elastic:
        now.alike.update((f"{prefix}{name}", tensor.detach()) for name, tensor in pairs)
    if now.alone:
        return
    facts = facts | {"root_rank": str(root_rank)} | {
        f"'{name}'": agreement.fact_of(tensor) for name, tensor in pairs}
    alike = agreement.Agreement(prefix, "tensors to broadcast", facts, "broadcast_parameters")
    alike.wait()
    begin_together(pairs, root_rank, f"{label or prefix}{alike.digest:012x}.")()


@unfinished.whole("broadcast_object")
def broadcast_object(obj: Any, root_rank: int = 0, name: Optional[str] = None) -> Any:
    """The object of the worker `root_rank`; the others' objects are ignored. See
    stretto.torch.core.objects for the supported types: nothing is unpickled. All must call it."""
    exchange.check_root(root_rank)
    now = session.current()
    if now.alone:
        return obj
    label = f"Object.{name or 'object'}"
    is_root, data = exchange.from_root(root_rank, label, lambda is_root: (
        is_root, bytes_from(obj, is_root, root_rank, label)))
    return obj if is_root else objects.decode(data)


def bytes_from(obj, is_root, root, label):
    """The encoding of the root's object. Incomplete if an elastic job loses the root meanwhile."""
    data, wrong = b"", None
    if is_root:
        try:
            data = objects.encode(obj)
        except TypeError as error:
            wrong = error  # The other workers wait: send the error first.
    head = torch.tensor([len(data) if wrong is None else -1], dtype=torch.int64)
    size = exchange.begin_copy(head, root, is_root, f"{label}.size").wait().item()
    if wrong is not None:
        raise wrong
    if size < 0:
        raise errors.InvalidArgument(f"the object of worker {root} cannot be broadcast; its "
                                     "own error says why", operation="broadcast_object")
    room = _LEAST_ROOM
    while room < size:
        room *= 2  # So that few tensors serve objects of all sizes.
    buffer = torch.zeros(room, dtype=torch.uint8)
    if data:
        buffer[:len(data)] = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    found = exchange.begin_copy(buffer, root, is_root, f"{label}.{room}").wait()
    return found[:size].numpy().tobytes()


def without_tensors(value, tensors):
    """A copy of the structure with a description in the place of each tensor, which is added to the
    list."""
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return {"stretto.tensor": [str(value.dtype), list(value.shape)]}
    if isinstance(value, dict):
        return {key: without_tensors(item, tensors) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([without_tensors(item, tensors) for item in value])
    return value


def paths_of(value, path=""):
    """The paths of the tensors in a structure made by without_tensors(), in their order: keys and
    indices, with "/" between them."""
    if isinstance(value, dict):
        if "stretto.tensor" in value:
            return [path]
        items = value.items()
    elif isinstance(value, (list, tuple)):
        items = enumerate(value)
    else:
        return []
    return [each for key, item in items
            for each in paths_of(item, f"{path}/{key}" if path else f"{key}")]


def with_tensors(value, tensors, make=torch.zeros):
    """The structure, with a new tensor for each description, which is added to the list."""
    if isinstance(value, dict):
        if "stretto.tensor" in value:
            dtype, shape = value["stretto.tensor"]
            tensors.append(make(shape, dtype=getattr(torch, dtype.split(".")[1])))
            return tensors[-1]
        return {key: with_tensors(item, tensors, make) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([with_tensors(item, tensors, make) for item in value])
    return value


def _labels(optimizer, names=None):
    # For each group the names of its parameters at all workers. The optimizer's own numbers depend
    # on the order in which parameters were passed to it.
    names = names or getattr(getattr(optimizer, "_stretto_exchange", None), "names", {})
    groups = [group["params"] for group in optimizer.param_groups]
    if all(parameter in names for group in groups for parameter in group):
        return [[names[parameter] for parameter in group] for group in groups]
    return [[f"{index}.{place}" for place in range(len(group))]
            for index, group in enumerate(groups)]


def _facts(optimizer, labels):
    facts = {"the optimizer": type(optimizer).__name__}
    for group, names in zip(optimizer.param_groups, labels):
        first = min(names, default="")
        facts.update((f"'{name}'", f"{agreement.fact_of(parameter)} in the group of '{first}'")
                     for name, parameter in zip(names, group["params"]))
    return facts


def _by_label(state, labels):
    # A state_dict() with labels for its numbers.
    label_of = {number: label for group, names in zip(state["param_groups"], labels)
                for number, label in zip(group["params"], names)}
    return dict(state, state={label_of.get(key, key): value
                              for key, value in state["state"].items()},
                param_groups=[dict(group, params=names)
                              for group, names in zip(state["param_groups"], labels)])


def _by_number(state, own, labels):
    # A labelled state_dict() with this optimizer's numbers, in our order of groups.
    number_of = {label: number for group, names in zip(own["param_groups"], labels)
                 for number, label in zip(group["params"], names)}
    groups = {frozenset(group["params"]): group for group in state["param_groups"]}
    kind = type(state["state"])
    return dict(state, state=kind({number_of.get(key, key): value
                                   for key, value in state["state"].items()}),
                param_groups=[dict(groups[frozenset(names)], params=group["params"])
                              for group, names in zip(own["param_groups"], labels)])


class _Owned(dict):
    # Its tensors have no other owner: load_state_dict(), which copies its argument, need not.

    def __deepcopy__(self, memo):
        return self


def owned(state):
    """The same state, whose tensors an optimizer that loads it may keep."""
    return dict(state, state=_Owned(state["state"]))


def state_by_label(optimizer, names=None):
    """The optimizer's state_dict(), by the names of parameters at all workers: these names, or
    those of a wrapped optimizer."""
    return _by_label(optimizer.state_dict(), _labels(optimizer, names))


def load_by_label(optimizer, state, names=None):
    """Loads the result of state_by_label()."""
    optimizer.load_state_dict(_by_number(state, optimizer.state_dict(), _labels(optimizer, names)))


def filled(value, tensors):
    """A copy of the structure, with the next of these for each tensor."""
    if isinstance(value, torch.Tensor):
        return next(tensors)
    if isinstance(value, dict):
        return {key: filled(item, tensors) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([filled(item, tensors) for item in value])
    return value


@unfinished.whole("broadcast_optimizer_state")
def broadcast_optimizer_state(optimizer: torch.optim.Optimizer, root_rank: int,
                              prefix: str = "Parameter.") -> None:
    """Copies the optimizer's state and options from the worker `root_rank`, also if the others have
    no state yet. Parameters are matched by their order, or in the result of DistributedOptimizer by
    their names; Mismatch if types, shapes or groups differ. ValueError for LBFGS, whose state is
    not per parameter."""
    if isinstance(optimizer, torch.optim.LBFGS):
        raise ValueError("cannot broadcast torch.optim.LBFGS state")
    exchange.check_root(root_rank)
    now = session.current()
    if now.alone:
        return
    state, labels = optimizer.state_dict(), _labels(optimizer)
    agreement.Agreement(f"{prefix}optimizer", "parameters in the optimizer",
                        _facts(optimizer, labels) | {"root_rank": str(root_rank)},
                        "broadcast_optimizer_state").wait()
    found = exchange.from_root(root_rank, f"{prefix}optimizer", lambda is_root: _state_from(
        _by_label(state, labels), is_root, root_rank, prefix))
    if found is not None:
        optimizer.load_state_dict(_by_number(found, state, labels))


def _state_from(mine, is_root, root, prefix):
    # The root's state, with new tensors; None at the root, which has it.
    tensors: List[torch.Tensor] = []
    described = without_tensors(mine, tensors)
    label = f"Object.{prefix}optimizer"
    data = bytes_from(described, is_root, root, label)
    found = None
    if not is_root:
        try:
            tensors.clear()
            found = with_tensors(objects.decode(data), tensors)
        except ValueError:
            if session.current().elastic:
                return None  # The root was lost during the exchange: it is retried.
            raise
    pairs = [(f"state.{index}", tensor) for index, tensor in enumerate(tensors)]
    alike = exchange.digest_of(repr([agreement.fact_of(tensor) for tensor in tensors]))
    lists = _together(pairs)
    _store_all(lists, _waited(_begin_all(lists, root, is_root,
                                         f"{prefix}optimizer.{alike:012x}.")))
    return found
