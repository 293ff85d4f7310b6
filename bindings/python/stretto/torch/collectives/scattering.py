# SPDX-License-Identifier: Apache-2.0
"""Differentiable reduce_scatter and alltoall, and functions built on push_pull and allgather.
backward() consists of such functions, so that gradients of any order flow; it exchanges again, so
either every worker calls it or none.
"""

from typing import Any, List, Optional, Sequence, Tuple, Union

import torch

from stretto import session, unfinished
from stretto.closing import Exchange
from stretto.torch.collectives import collectives, groups
from stretto.torch.core import wire
from stretto.torch.core import exchange as exchanges

_ASKED_BY = "stretto"


def _ask(kind, name):
    return groups.Ask(f"{_ASKED_BY}.{kind}.{name or 'unnamed'}", kind, {})


def _group_or_all(group):
    if group is None:
        return groups.of_all()
    if not isinstance(group, groups.Group):
        raise TypeError(f"group is {group!r}, wanted a stretto.torch.Group, or None for all")
    return group


class _ReduceScatter(torch.autograd.Function):
    """The gradient of each contribution is the gradient of all rows, gathered from the workers, and
    divided for a mean."""

    @staticmethod
    def forward(ctx, tensor, name, average, group):
        """A new tensor."""
        ctx.how = name, average, group
        rule = "mean" if average else "sum"
        [found] = collectives.begin_reduce_scatter(group, _ask("reduce_scatter", name), [tensor],
                                                   rule).wait()
        return found

    @staticmethod
    @unfinished.whole("backward through reduce_scatter", always=True)
    def backward(ctx, *gradients):
        """The gradient, under a name of its own."""
        name, average, group = ctx.how
        name = exchanges.gradient_name(name or "unnamed")
        found = _GatherRows.apply(gradients[0], name, group)
        return found / group.size if average else found, None, None, None


class _GatherRows(torch.autograd.Function):
    """The rows of all members, as reduce_scatter divides them. The gradient of a member's rows is
    the sum of all members' gradients of them."""

    @staticmethod
    def forward(ctx, tensor, name, group):
        """A new tensor."""
        ctx.how = name, group
        ask = _ask("reduce_scatter", name)
        [(found, _)] = collectives.begin_gather(group, ask, [tensor]).wait()
        return found

    @staticmethod
    def backward(ctx, *gradients):
        """The gradient, under a name of its own."""
        name, group = ctx.how
        found = _ReduceScatter.apply(gradients[0], exchanges.gradient_name(name), False, group)
        return found, None, None


@unfinished.whole("reduce_scatter", always=True)
def reduce_scatter(tensor: torch.Tensor, name: Optional[str] = None, average: bool = True,
                   group: Optional[groups.Group] = None) -> torch.Tensor:
    """This worker's rows of the mean of `tensor` over all workers or the group, or of the sum
    without `average`. Each worker gets rows // size rows, and the first workers one more each from
    the remainder. Means of integers are rounded towards zero. Raises Mismatch at all of them if
    types or shapes differ, InvalidArgument for a tensor without dimensions, Unsupported in elastic
    jobs. Workers call it in the same order for one name, or without a name."""
    wire.check(tensor)
    collectives.check_rows(tensor, "reduce_scatter")
    return _ReduceScatter.apply(tensor, name, average, _group_or_all(group))


class _AllToAll(torch.autograd.Function):
    """Each gradient returns to the worker that sent its rows."""

    @staticmethod
    def forward(ctx, tensor, splits, name, group):
        """The received rows, and their number from each worker."""
        ask = _ask("alltoall", name)
        found, rows = collectives.begin_all_to_all(group, ask, tensor, splits).wait()
        ctx.how = name, group, rows, tensor.shape[0]
        received = torch.tensor(rows)
        ctx.mark_non_differentiable(received)
        return found, received

    @staticmethod
    @unfinished.whole("backward through alltoall", always=True)
    def backward(ctx, *gradients):
        """The gradient, under a name of its own."""
        name, group, received, rows = ctx.how
        name = exchanges.gradient_name(name or "unnamed")
        found, _ = _AllToAll.apply(gradients[0], received, name, group)
        return collectives.with_rows(found, rows), None, None, None


@unfinished.whole("alltoall", always=True)
def alltoall(tensor: torch.Tensor, splits: Optional[Sequence[int]] = None,
             name: Optional[str] = None, group: Optional[groups.Group] = None
             ) -> Union[torch.Tensor, Tuple[torch.Tensor, List[int]]]:
    """Sends each worker, or each of the group, some rows of the tensor, by rank. `splits` gives the
    number for each, which may be 0; without it the numbers are equal. Returns the received rows,
    concatenated by rank; with `splits` also their number from each worker. Errors are the same as
    in reduce_scatter, but tensors may differ in rows."""
    wire.check(tensor)
    counts = None if splits is None else collectives.whole_numbers(splits)
    found, received = _AllToAll.apply(tensor, counts, name, _group_or_all(group))
    return found if splits is None else (found, received.tolist())


@unfinished.whole("allgather_object", always=True)
def allgather_object(obj: Any, name: Optional[str] = None,
                     group: Optional[groups.Group] = None) -> List[Any]:
    """The list of all workers' objects, or of the group's, by rank. See stretto.torch.core.objects
    for the types that can travel: nothing is unpickled. In an elastic job the objects of failed
    workers are missing."""
    if group is not None:
        return collectives.gather_objects(_group_or_all(group), _ask("allgather_object", name), obj)
    return collectives.objects_by(
        lambda mine: exchanges.gather(mine, f"Objects.{name or 'unnamed'}"), obj,
        "allgather_object")


class _GroupedPushPull(torch.autograd.Function):
    """Sums or means. Their gradients are sums or means of all workers' gradients."""

    @staticmethod
    def forward(ctx, how, *tensors):
        """New tensors."""
        ctx.how = how
        return tuple(_begun_together(tensors, *how))

    @staticmethod
    @unfinished.whole("backward through grouped_push_pull")
    def backward(ctx, *gradients):
        """The gradients, under a name of their own."""
        name, *how = ctx.how
        gradients = [gradient.contiguous() for gradient in gradients]
        how = exchanges.gradient_name(name), *how
        return (None, *_GroupedPushPull.apply(how, *gradients))


def _begun_together(tensors, name, average, priority, way):
    begun = [exchanges.begin(wire.without_gradient(tensor),
                            torch.empty_like(tensor, requires_grad=False), f"{name}.{at}", average,
                            priority, way=way)
             for at, tensor in enumerate(tensors)]
    return [handle.wait() for handle in begun]


@unfinished.whole("grouped_push_pull")
def grouped_push_pull(tensors: Sequence[torch.Tensor], name: str, average: bool = True,
                      priority: int = 0, exchange: Exchange = None) -> List[torch.Tensor]:
    """push_pull of several tensors of any types and shapes, all in flight at a time; returns a list
    of new tensors. Gradients flow through it."""
    tensors = list(tensors)
    for tensor in tensors:
        wire.check(tensor)
    return list(_GroupedPushPull.apply((name, average, priority, exchange), *tensors))


@unfinished.whole("join")
def join() -> int:
    """For data of different length at the workers: waits until every worker has called it, and
    returns the rank of the last. Until then this worker contributes empty to its peers' sums and
    means, and so to the steps of their optimizers; their other calls raise Mismatch. Only for jobs
    with servers."""
    return session.current().sit_out()
