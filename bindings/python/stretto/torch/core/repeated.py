# SPDX-License-Identifier: Apache-2.0
"""Errors for a gradient that was computed again before its exchange had ended."""

AFTER_EXCEPTION = ("After a backward that raised an exception, call step() too, as the other "
                   "workers do: gradients that are missing count as zeros")


def of_optimizer(name):
    """The error for the gradient called `name` of a DistributedOptimizer."""
    return AssertionError(
        "Gradients were computed more than backward_passes_per_step times before call to step() "
        f"(the parameter is '{name}'). To accumulate gradients locally, increase "
        f"backward_passes_per_step. {AFTER_EXCEPTION}. With model=, call synchronize() first if a "
        "reference outside of its module uses the weight")


def of_module(name):
    """The error for a DistributedDataParallel, which exchanges gradients as backward ends."""
    return AssertionError(
        f"Gradients were computed again before backward had ended (the parameter is '{name}'). "
        "After a backward that raised an exception, call synchronize() of the "
        "DistributedDataParallel, and step() as the other workers do: gradients that are missing "
        "count as zeros. If torch.utils.checkpoint runs a layer twice, pass use_reentrant=False")
