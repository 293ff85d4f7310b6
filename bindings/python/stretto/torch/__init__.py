# SPDX-License-Identifier: Apache-2.0
"""Stretto for PyTorch.

    import stretto.torch as st
    st.init()
    st.broadcast_parameters(model.state_dict(), root_rank=0)
    optimizer = st.DistributedOptimizer(optimizer, model.named_parameters())
    # the loop stays as it is

Start the script with `stretto-launch --workers 2 --servers 2 -- python3 script.py`. Started
directly it is a job of one worker, which exchanges nothing.
"""

from typing import ContextManager, Mapping, Optional, SupportsFloat

import torch

from stretto import _core, environment, errors, session, unfinished
from stretto.closing import Backups, Exchange, Quorum
from stretto.errors import Error
from stretto.session import is_initialized
from stretto.torch import elastic
from stretto.torch.core import exchange as _exchange
from stretto.torch.core import wire as _wire
from stretto.torch.core.broadcasting import (broadcast_object, broadcast_optimizer_state,
                                        broadcast_parameters)
from stretto.torch.checkpointing.checkpoints import (RandomStates, Restored, attach, checkpoint,
                                       checkpoint_if_due, restore, restored)
from stretto.torch.core.compression import Compression
from stretto.torch.core.exchange import Handle
from stretto.torch.core.functional import allgather, broadcast, broadcast_, push_pull
from stretto.torch.collectives.groups import Group
from stretto.torch.local_sgd.local import LocalSteps
from stretto.torch.optim.optimizer import MODES, DistributedOptimizer
from stretto.torch.optim.orders import record_order
from stretto.torch.optim.parallel import DistributedDataParallel
from stretto.torch.collectives.scattering import (allgather_object, alltoall, grouped_push_pull,
                                                  join, reduce_scatter)

__version__ = _core.__version__
__all__ = [
    "Backups", "Compression", "DistributedDataParallel", "DistributedOptimizer", "Error", "Group",
    "Handle", "LocalSteps", "MODES", "Quorum", "RandomStates", "Restored", "allgather",
    "allgather_object", "alltoall", "attach", "barrier", "broadcast", "broadcast_",
    "broadcast_object", "broadcast_optimizer_state", "broadcast_parameters", "checkpoint",
    "checkpoint_if_due", "elastic", "errors", "grouped_push_pull", "init", "is_initialized", "join",
    "local_rank", "local_size", "pause", "push_pull", "push_pull_", "push_pull_async", "rank",
    "record_order", "reduce_scatter", "report", "restore", "restored", "resume", "shutdown", "size",
    "suspend",
]

@unfinished.whole("init")
def init(lazy: bool = False) -> None:
    """Joins the job, and returns when all workers are present. A worker of a running elastic job
    joins with its first step. If `lazy`, any worker joins at the first exchange, as a program needs
    whose forked children will join instead. Repeated calls do nothing. Raises RendezvousTimeout if
    a time limit is set and workers are missing, and Refused after shutdown() or suspend(): a job is
    joined once, see resume(). The ranks of torchrun, without a Stretto launcher, become the workers
    of a job without servers."""
    if not session.is_initialized() and environment.is_rank_of_torch():
        from stretto.torch.distributed import rendezvous  # pylint: disable=import-outside-toplevel
        rendezvous.join_ranks()
    session.begin(lazy)


def shutdown() -> None:
    """Leaves the job after all operations in flight have ended. Runs automatically at exit."""
    session.end()


def suspend() -> None:
    """Leaves the job; resume() rejoins it."""
    session.end()


def resume(num_workers: int, num_servers: int, global_rank: int) -> None:
    """Rejoins, after suspend(), a job that now has this number of workers and servers; returns when
    all workers are present."""
    environment.give("STRETTO_WORLD_SIZE", num_workers)
    environment.give("STRETTO_SERVERS", num_servers)
    environment.give("STRETTO_RANK", global_rank)
    session.end()
    session.begin(resumed=True)


def rank() -> int:
    """This worker's index among the members, from 0; after shutdown() and suspend() the last value.
    ValueError before init()."""
    return session.rank_now_or_before()


def size() -> int:
    """Workers in the job; after shutdown() and suspend() the last value. ValueError before
    init()."""
    return session.size_now_or_before()


def local_rank() -> int:
    """This worker's index on its host; after shutdown() and suspend() the last value. ValueError
    before init()."""
    return session.place_now_or_before().local_rank


def local_size() -> int:
    """Workers of this host; after shutdown() and suspend() the last value. ValueError before
    init()."""
    return session.place_now_or_before().local_size


def _dense(tensor):
    # The tensor without its history; TypeError for a sparse tensor or another type.
    if _wire.name_as_it_is(tensor) is None:
        _wire.check(tensor)
    return _wire.without_gradient(tensor)


def push_pull_async(tensor: torch.Tensor, name: str, average: bool = True,
                    priority: int = 0, exchange: Exchange = None) -> Handle:
    """Starts to add up `tensor` over all workers, into a new tensor; returns the Handle, whose
    wait() returns it. All workers must use the name for tensors of the same size and type."""
    source = _dense(tensor)
    return _exchange.begin(source, torch.empty_like(source), name, average, priority,
                           way=exchange)


@unfinished.whole("push_pull")
def push_pull_(tensor: torch.Tensor, name: str, average: bool = True,
               priority: int = 0, exchange: Exchange = None) -> torch.Tensor:
    """Adds up over all workers in place; returns the tensor."""
    data = _dense(tensor)
    _exchange.begin(data, data, name, average, priority, way=exchange).wait()
    return tensor


def report(values: Optional[Mapping[str, SupportsFloat]] = None, /,
           **named: SupportsFloat) -> None:
    """Reports values of the program to stretto-top, the live page and metrics: report(loss=0.31),
    or report({"train/loss": 0.31}). The next heartbeat carries the latest value of each name, so
    this may be called every step; it waits for tensors on a GPU. At most 32 names of at most 64
    bytes; values that are not finite are dropped, with one log line."""
    session.current().report({**(values or {}), **named})


def pause(what: str) -> ContextManager[None]:
    """`with st.pause("evaluation"):` announces that this worker does other work than training, such
    as evaluating or saving. Calls of other workers wait meanwhile; they raise Timeout only if they
    last their full timeout after it. The wait is not reported as a stall. Observers see the
    activity."""
    return session.current().pause(what)


@unfinished.whole("barrier")
def barrier() -> None:
    """Returns when every worker has called it as often as this worker."""
    session.current().barrier()
