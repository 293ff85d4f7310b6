# SPDX-License-Identifier: Apache-2.0
"""Horovod's DistributedOptimizer."""

import functools
import numbers
import warnings

import torch

from stretto.horovod.torch import process_sets, reductions
from stretto.horovod.torch.process_sets import global_process_set
from stretto.horovod.torch.reductions import Average
from stretto.horovod.torch.set_gradients import SetGradients
from stretto.torch.optim import optimizer as _optimizer
from stretto.torch.gradients import gradients
from stretto.torch.optim import synchronous
from stretto.torch.core.compression import Compression


def _check_groups(groups):
    if groups is None:
        return
    if not (isinstance(groups, list) or isinstance(groups, int) and groups > 0):
        raise ValueError("groups should be a non-negative integer or a list of list of "
                         "torch.Tensor.")
    members = [member for group in groups for member in group] if isinstance(groups, list) else []
    if not all(isinstance(member, torch.Tensor) for member in members):
        raise ValueError("groups must consist of torch.Tensor.")
    if len({id(member) for member in members}) < len(members):
        raise ValueError("A parameter can only appear once in groups.")


def DistributedOptimizer(  # pylint: disable=invalid-name
        optimizer, named_parameters=None, compression=Compression.none,
        backward_passes_per_step=1, op=Average, gradient_predivide_factor=1.0, num_groups=0,
        groups=None, sparse_as_dense=False, process_set=global_process_set):
    """Wraps an optimizer so that all workers train one model, by their gradients reduced by `op`,
    by default the mean.

    gradient_predivide_factor  1, or with op=Average a positive number; the mean is the same, for
                               servers add up 16-bit gradients in 32 bits
    num_groups, groups         checked; which gradients travel together is chosen here
    sparse_as_dense            sparse gradients travel dense in any case, and without it warn of it
    process_set                whose gradients are reduced; workers outside step by their own
    """
    process_sets.check_added(process_set, "DistributedOptimizer")
    op = reductions.chosen(op, None)
    if gradient_predivide_factor != 1.0 and op != Average:
        raise ValueError("gradient_predivide_factor not supported with op != Average")
    if not isinstance(gradient_predivide_factor, numbers.Real) or gradient_predivide_factor <= 0:
        raise ValueError(f"gradient_predivide_factor is {gradient_predivide_factor!r}, wanted a "
                         "positive number")
    if num_groups != 0:
        warnings.warn("Parameter `num_groups` has been replaced by `groups`", DeprecationWarning,
                      stacklevel=2)
        groups = num_groups if groups is None else groups
    _check_groups(groups)
    if backward_passes_per_step <= 0:
        raise ValueError("backward_passes_per_step must be > 0")
    synchronous.check(optimizer)
    _optimizer.check_compression(compression)
    pairs = _optimizer.named(optimizer, named_parameters)
    by = gradients.GradientExchange
    if process_set is not global_process_set:
        by = functools.partial(SetGradients, process_set, op)
    wrapped = _optimizer.stepping_by(optimizer, pairs, compression, backward_passes_per_step,
                                     reductions.RULES[op], sparse_as_dense, by=by)
    wrapped._parameter_names = {parameter: name for name, parameter in pairs}
    return wrapped
