# SPDX-License-Identifier: Apache-2.0
"""Stretto as a backend of torch.distributed.

    import stretto.torch.distributed  # registers it
    torch.distributed.init_process_group("stretto")

The rest of a script stays unchanged: DistributedDataParallel, ZeroRedundancyOptimizer and the calls
of torch.distributed, with tensors of the CPU. Data travels directly between workers. Start it with
`stretto-launch`, or as for gloo.
"""

import dataclasses
import inspect

import torch
import torch.distributed as dist

from stretto.torch.core import ways
from stretto.torch.collectives.alone import Alone
from stretto.torch.distributed import builtin_hooks, libuv, rendezvous
from stretto.torch.distributed.group import ProcessGroup, group_of

__all__ = ["Options", "ProcessGroup"]


@dataclasses.dataclass(frozen=True)
class Options:
    """The pg_options of init_process_group and new_group, equal at all ranks: the trees of
    all_reduce and broadcast, and whether sums have the same bits in every run (None: as
    torch.use_deterministic_algorithms() says)."""

    exchange: str = "direct"
    deterministic: bool = False


def _make(given, options):
    # The factory that torch.distributed calls for a backend with the extended interface.
    options = options or Options(deterministic=torch.are_deterministic_algorithms_enabled())
    ways.check_name(options.exchange)
    worker = rendezvous.worker(given.store, given.group_rank, given.group_size, given.timeout)
    if given.group_size == 1:
        return ProcessGroup(Alone(), given.timeout)
    group = group_of(worker, given.global_ranks_in_group, options)
    return ProcessGroup(group, given.timeout)


def _register():
    register = dist.Backend.register_backend
    if "devices" in inspect.signature(register).parameters:
        register("stretto", _make, extended_api=True, devices=["cpu"])
    else:  # PyTorch 1.
        register("stretto", _make, extended_api=True)


if "STRETTO" not in dist.Backend._plugins:  # pylint: disable=protected-access
    _register()
    builtin_hooks.replace_for(ProcessGroup)
    libuv.do_without()
