# SPDX-License-Identifier: Apache-2.0
"""Horovod's names for Stretto.

    import stretto.horovod.torch as hvd

and a script that was written for horovod.torch stays as it is. Start it with `stretto-launch
--workers 2 --servers 2 -- python3 script.py`. What is not there yet says so when it is called:
reduce-scatter, all-to-all, process sets; Adasum will not be.
"""

import stretto.torch as _st
from stretto import errors as _errors
from stretto import session as _session
from stretto.errors import Error as HorovodInternalError
from stretto.horovod.torch import elastic
from stretto.horovod.torch import handles as _handles
from stretto.horovod.torch import reductions as _reductions
from stretto.horovod.torch.functional import (
    allgather, allgather_async, allgather_object, allreduce, allreduce_, allreduce_async,
    allreduce_async_, broadcast, broadcast_, broadcast_async, broadcast_async_, grouped_allgather,
    grouped_allgather_async, grouped_allreduce, grouped_allreduce_, grouped_allreduce_async,
    grouped_allreduce_async_, sparse_allreduce_async)
from stretto.horovod.torch.handles import poll, synchronize
from stretto.horovod.torch.optimizer import DistributedOptimizer
from stretto.horovod.torch.reductions import (Adasum, Average, Max, Min, ProcessSet, Product, Sum,
                                              global_process_set)
from stretto.horovod.torch.sync_batch_norm import SyncBatchNorm
from stretto.torch import is_initialized, local_rank, local_size, rank, size
from stretto.torch.compression import Compression

__all__ = [
    "Adasum", "Average", "Compression", "DistributedOptimizer", "HorovodInternalError", "Max",
    "Min", "ProcessSet", "Product", "Sum", "SyncBatchNorm", "add_process_set", "allgather",
    "allgather_async", "allgather_object", "allreduce", "allreduce_", "allreduce_async",
    "allreduce_async_", "alltoall", "alltoall_async", "barrier", "broadcast", "broadcast_",
    "broadcast_async", "broadcast_async_", "broadcast_object", "broadcast_optimizer_state",
    "broadcast_parameters", "ccl_built", "cross_rank", "cross_size", "cuda_built", "ddl_built",
    "elastic", "global_process_set", "gloo_built", "gloo_enabled", "grouped_allgather",
    "grouped_allgather_async", "grouped_allreduce", "grouped_allreduce_",
    "grouped_allreduce_async", "grouped_allreduce_async_", "grouped_reducescatter",
    "grouped_reducescatter_async", "init", "is_homogeneous", "is_initialized",
    "join", "local_rank", "local_size", "mpi_built", "mpi_enabled", "mpi_threads_supported",
    "nccl_built", "poll", "rank", "reducescatter", "reducescatter_async", "remove_process_set",
    "rocm_built", "shutdown", "size", "sparse_allreduce_async", "start_timeline", "stop_timeline",
    "synchronize",
]


def init(comm=None, process_sets=None):
    """Makes this process a worker of its job."""
    if comm is not None or process_sets is not None:
        raise _reductions.not_there("a job of some of the workers")
    _st.init()


def shutdown():
    """Leaves the job, after all that is in flight has ended. Happens at exit by itself."""
    _handles.forget()
    _st.shutdown()


def cross_rank():
    """Which host this is, if each has as many workers."""
    return rank() // local_size()


def cross_size():
    """Hosts, if each has as many workers."""
    return -(-size() // local_size())


def is_homogeneous():
    """True if the workers can be the same number at each host."""
    return size() % local_size() == 0


def barrier(process_set=global_process_set):
    """Returns when every worker has called it as often as this one."""
    _reductions.check_process_set(process_set)
    _st.barrier()


def join(device=-1):
    """For data that is not of the same length everywhere: waits until every worker has called it,
    and returns the rank of the last. Until then this one takes part in the others' allreduces, and
    so in the steps of their optimizers, with nothing; allgather and broadcast are a Mismatch for
    them. `device` is not used."""
    del device
    _handles.settle()
    return _session.current().sit_out()


def broadcast_parameters(params, root_rank):
    """Makes a state_dict(), or a list of tensors or (name, tensor), what it is at the worker
    `root_rank`. ValueError for anything else."""
    if not isinstance(params, (dict, list)):
        raise ValueError(f"invalid params of type: {type(params)}")
    _st.broadcast_parameters(params, root_rank)


def broadcast_optimizer_state(optimizer, root_rank, model=None):
    """Makes an optimizer's state and options what they are at the worker `root_rank`. `model` is
    not used."""
    del model
    _st.broadcast_optimizer_state(optimizer, root_rank)


def broadcast_object(obj, root_rank=0, name=None, process_set=global_process_set):
    """The object that the worker `root_rank` gives. See stretto.torch.objects for what can travel:
    nothing is unpickled."""
    _reductions.check_process_set(process_set)
    return _st.broadcast_object(obj, root_rank, name)


def _none_of(name, what):
    # What Horovod may be built with, and this is not.
    def answer():
        return False

    answer.__name__ = answer.__qualname__ = name
    answer.__doc__ = f"False: there is no {what} in this."
    return answer


mpi_threads_supported = _none_of("mpi_threads_supported", "MPI")
mpi_enabled = _none_of("mpi_enabled", "MPI")
mpi_built = _none_of("mpi_built", "MPI")
gloo_enabled = _none_of("gloo_enabled", "Gloo")
gloo_built = _none_of("gloo_built", "Gloo")
nccl_built = _none_of("nccl_built", "NCCL")
ddl_built = _none_of("ddl_built", "DDL")
ccl_built = _none_of("ccl_built", "oneCCL")
cuda_built = _none_of("cuda_built", "CUDA")
rocm_built = _none_of("rocm_built", "ROCm")


def _later(name, what):
    def refuse(*arguments, **options):
        del arguments, options
        raise _reductions.not_there(what)

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"Unsupported: {what} is not there yet."
    return refuse


alltoall = _later("alltoall", "all-to-all")
alltoall_async = _later("alltoall_async", "all-to-all")
reducescatter = _later("reducescatter", "reduce-scatter")
reducescatter_async = _later("reducescatter_async", "reduce-scatter")
grouped_reducescatter = _later("grouped_reducescatter", "reduce-scatter")
grouped_reducescatter_async = _later("grouped_reducescatter_async", "reduce-scatter")
add_process_set = _later("add_process_set", "a process set of some workers")
remove_process_set = _later("remove_process_set", "a process set of some workers")


def __getattr__(name):
    # What Horovod's package has beside its calls: still an AttributeError, so that hasattr() tells.
    reason = "stretto-launch starts the workers" if name == "run" else "it is not there"
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}: {reason}")


def start_timeline(file_path, mark_cycles=False):
    """Unsupported: stretto-trace records a running job."""
    del file_path, mark_cycles
    raise _errors.Unsupported("a timeline is recorded from outside, by stretto-trace (see "
                              "docs/OBSERVABILITY.md)", operation="start_timeline")


def stop_timeline():
    """Unsupported, as start_timeline()."""
    start_timeline("")
