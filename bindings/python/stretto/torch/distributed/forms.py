# SPDX-License-Identifier: Apache-2.0
"""The short forms of a group's methods, which PyTorch's own groups also take: one tensor instead of
a list, and a root or a reduction instead of options.
"""

import functools
import types

import torch
import torch.distributed as dist

_SUM = dist.ReduceOp.SUM
_REDUCTIONS = (dist.ReduceOp, type(_SUM))


def _root(rank):
    return types.SimpleNamespace(rootRank=rank)


def _op(reduction):
    return types.SimpleNamespace(reduceOp=reduction)


def _broadcast(tensor, root):
    return [tensor], _root(root)


def _allreduce(tensor=None, op=_SUM, *, tensors=None):
    return tensors or ([tensor] if isinstance(tensor, torch.Tensor) else tensor), _op(op)


def _reduce(tensor, root, op=_SUM):
    return [tensor], types.SimpleNamespace(rootRank=root, reduceOp=op)


def _allgather(output_tensors, input_tensor):
    return [output_tensors], [input_tensor]


def _gather(output_tensors, input_tensor, root):
    return [output_tensors] if output_tensors else [], [input_tensor], _root(root)


def _scatter(output_tensor, input_tensors, root):
    return [output_tensor], [input_tensors] if input_tensors else [], _root(root)


def _reduce_scatter(output_tensor, input_tensor, op=_SUM):
    return [output_tensor], [input_tensor], _op(op)


_SHORT = {"broadcast": _broadcast, "allreduce": _allreduce, "reduce": _reduce,
          "allgather": _allgather, "gather": _gather, "scatter": _scatter,
          "reduce_scatter": _reduce_scatter}
_WORDS = {"tensor", "input_tensor", "output_tensor", "root", "op"}


def _with_short_form(method, short):
    @functools.wraps(method)
    def call(self, *given, **named):
        is_short = any(isinstance(value, torch.Tensor) for value in given[:2]) or (
            len(given) > 1 and isinstance(given[1], _REDUCTIONS)) or not _WORDS.isdisjoint(named)
        return method(self, *(short(*given, **named) if is_short else given),
                      **({} if is_short else named))

    return call


def short(kind):
    """A class decorator: such methods of the class take their short form, too."""
    for name, form in _SHORT.items():
        setattr(kind, name, _with_short_form(vars(kind)[name], form))
    return kind
