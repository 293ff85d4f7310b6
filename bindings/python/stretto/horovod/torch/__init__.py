# SPDX-License-Identifier: Apache-2.0
"""Horovod's names for Stretto.

    import stretto.horovod.torch as hvd

and a script written for horovod.torch runs unchanged. Start it with `stretto-launch --workers 2
--servers 2 -- python3 script.py`. Unsupported calls raise an error with the reason: Adasum,
timelines, a job of some of the workers.
"""

import stretto.torch as _st
from stretto import errors as _errors
from stretto import session as _session
from stretto import unfinished as _unfinished
from stretto.errors import Error as HorovodInternalError
from stretto.horovod.torch import elastic
from stretto.horovod.torch import handles as _handles
from stretto.horovod.torch import ops as _ops
from stretto.horovod.torch import process_sets as _process_sets
from stretto.horovod.torch.functional import (
    allgather, allgather_async, allgather_object, allreduce, allreduce_, allreduce_async,
    allreduce_async_, broadcast, broadcast_, broadcast_async, broadcast_async_, grouped_allgather,
    grouped_allgather_async, grouped_allreduce, grouped_allreduce_, grouped_allreduce_async,
    grouped_allreduce_async_, sparse_allreduce_async)
from stretto.horovod.torch.handles import poll, synchronize
from stretto.horovod.torch.optimizer import DistributedOptimizer
from stretto.horovod.torch.process_sets import (ProcessSet, add_process_set, global_process_set,
                                                remove_process_set)
from stretto.horovod.torch.reductions import Adasum, Average, Max, Min, Product, Sum
from stretto.horovod.torch.scattering import (alltoall, alltoall_async, grouped_reducescatter,
                                              grouped_reducescatter_async, reducescatter,
                                              reducescatter_async)
from stretto.horovod.torch.sync_batch_norm import SyncBatchNorm
from stretto.torch import is_initialized, local_rank, local_size, rank, size
from stretto.torch.core.compression import Compression

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
    """Joins the job, and returns when all workers are there. `process_sets` are those to add at
    once, or "dynamic": they can be added later in any case."""
    if comm is not None:
        raise _errors.Unsupported("a job is of all its workers; use hvd.add_process_set(ranks), "
                                  "and process_set= of the calls", operation="init")
    _st.init()
    for each in () if process_sets in (None, "dynamic") else process_sets:
        add_process_set(each)


def shutdown():
    """Leaves the job after all operations in flight have ended. Runs automatically at exit."""
    _handles.forget()
    _process_sets.forget()
    _st.shutdown()


def cross_rank():
    """The index of this host, if all hosts have the same number of workers."""
    return rank() // local_size()


def cross_size():
    """The number of hosts, if all hosts have the same number of workers."""
    return -(-size() // local_size())


def is_homogeneous():
    """True if all hosts can have the same number of workers."""
    return size() % local_size() == 0


def barrier(process_set=global_process_set):
    """Returns when every worker, or every worker of the set, has called it as often as this
    worker."""
    _process_sets.check(process_set, "barrier")
    if process_set is global_process_set:
        _st.barrier()
    else:
        _ops.barrier(process_set)


@_unfinished.whole("join", always=True)
def join(device=-1):
    """For data of different length per worker: waits until every worker has called it, and returns
    the rank of the last. Until then this worker takes part in the others' allreduces, and so in
    their optimizers' steps, with an empty contribution; allgather, broadcast, alltoall and
    reducescatter raise Mismatch at them, and calls of a process set that contains it wait for it.
    `device` is not used."""
    del device
    _handles.settle()
    return _session.current().sit_out()


def broadcast_parameters(params, root_rank, process_set=global_process_set):
    """Copies a state_dict(), or a list of tensors or (name, tensor), from the worker `root_rank` to
    all workers or those of the set. ValueError for other values."""
    if not isinstance(params, (dict, list)):
        raise ValueError(f"invalid params of type: {type(params)}")
    _process_sets.check(process_set, "broadcast_parameters")
    if process_set is global_process_set:
        _st.broadcast_parameters(params, root_rank)
    else:
        _ops.broadcast_parameters_in_set(params, root_rank, process_set)


def broadcast_optimizer_state(optimizer, root_rank, model=None):
    """Copies an optimizer's state and options from the worker `root_rank`. `model` is not used."""
    del model
    _st.broadcast_optimizer_state(optimizer, root_rank)


def broadcast_object(obj, root_rank=0, name=None, process_set=global_process_set):
    """The object of the worker `root_rank`. See stretto.torch.core.objects for the supported types:
    nothing is unpickled."""
    _process_sets.check(process_set, "broadcast_object")
    if process_set is global_process_set:
        return _st.broadcast_object(obj, root_rank, name)
    return _ops.broadcast_object_in_set(obj, root_rank, name or "object", process_set)


def _none_of(name, what):
    # Build features of Horovod that Stretto does not have.
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


def __getattr__(name):
    # Other names in Horovod's package: still an AttributeError, so that hasattr() works.
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
