# SPDX-License-Identifier: Apache-2.0
"""Arguments of Horovod's calls beside tensors: reductions and factors. Errors name unsupported
values with the reason.
"""

import enum
import numbers
import warnings

import torch

from stretto import errors


class ReduceOp(enum.IntEnum):
    """The reduction of all workers' tensors."""

    Average = 0
    Sum = 1
    Adasum = 2
    Min = 3
    Max = 4
    Product = 5


Average, Sum, Adasum = ReduceOp.Average, ReduceOp.Sum, ReduceOp.Adasum
Min, Max, Product = ReduceOp.Min, ReduceOp.Max, ReduceOp.Product

RULES = {Average: "mean", Sum: "sum", Min: "min", Max: "max", Product: "product"}
"""What servers call them."""

_ADASUM = ("Adasum combines gradients of two workers at a time, by the angle between them, while "
           "Stretto's servers add up what all workers give as it comes; use op=hvd.Average, with "
           "the learning rate that goes with it")


def chosen(op, average):
    """The reduction that `op` or Horovod's older `average` selects. Raises ValueError for both,
    Unsupported for Adasum."""
    if op is not None and average is not None:
        raise ValueError("The op parameter supersedes average. Please provide only one of them.")
    if average is not None:
        warnings.warn("Parameter `average` has been replaced with `op`", DeprecationWarning,
                      stacklevel=4)
        op = Average if average else Sum
    op = Average if op is None else op
    if op not in list(ReduceOp):
        raise ValueError(f"op is {op!r}, wanted Average, Sum, Min, Max or Product")
    if op == Adasum:
        raise errors.Unsupported(_ADASUM, operation="Adasum")
    return ReduceOp(op)


GRADIENTS = "gradients flow through means and sums only; detach() the tensor first"


def check_linear(op, operation, limit=GRADIENTS):
    """Raises Unsupported, with `limit` as the reason, unless `op` is a mean or a sum."""
    if op not in (Average, Sum):
        raise errors.Unsupported(f"this is a {op.name}, and {limit}", operation=operation)


def check_factors(prescale, postscale):
    """Raises TypeError unless both factors are numbers."""
    for name, factor in (("prescale_factor", prescale), ("postscale_factor", postscale)):
        if not isinstance(factor, (numbers.Real, torch.Tensor)):
            raise TypeError(f"{name} is {factor!r}, wanted a number")


def scaled(tensor, factor):
    """The tensor times the factor in the tensor's type; for factor 1 the tensor itself. Integers
    are multiplied in 64 bits and rounded towards zero, 16-bit floats in 32 bits."""
    if factor == 1:
        return tensor
    if not tensor.is_floating_point():
        return (tensor.to(torch.float64) * factor).to(tensor.dtype)
    if tensor.element_size() == 2:
        return (tensor.to(torch.float32) * factor).to(tensor.dtype)
    return tensor * factor
