# SPDX-License-Identifier: Apache-2.0
"""byteps.torch.ops: exchanges by handle number, as in BytePS's scripts. Stretto computes the sums.
"""

import itertools
from typing import Dict, Tuple

import torch

import stretto.torch as st
from byteps.torch.compression import Compression
from stretto import environment, errors, session, unfinished
from stretto.torch.core import exchange, functional, wire
from stretto.torch.core.compression import codec_of, from_params

_handles: Dict[int, Tuple[exchange.Handle, torch.Tensor]] = {}  # Also the caller's tensor.
_numbers = itertools.count(1)
_declared: Dict[str, object] = {}


def init(lazy=False):
    """Joins the job, and returns 0 when all workers are there. If `lazy`, it joins when something
    is first exchanged."""
    st.init(lazy)
    return 0


def shutdown():
    """Leaves the job; returns 0. Runs automatically at exit."""
    _handles.clear()
    st.shutdown()
    return 0


def suspend():
    """Leaves the job; resume() rejoins it. Declared names are kept."""
    _handles.clear()
    st.suspend()
    return 0


def resume(num_workers, num_servers, global_rank, context=None):
    """Rejoins, after suspend(), a job of this number of workers and servers. `context` is not
    used."""
    del context
    environment.give("DMLC_NUM_WORKER", num_workers)
    environment.give("DMLC_NUM_SERVER", num_servers)
    environment.give("BYTEPS_GLOBAL_RANK", global_rank)
    st.resume(num_workers, num_servers, global_rank)
    return 0


def declare(name, staleness=0, **kwargs):
    """Keeps the name, and returns 0. Declaration is optional, in any order. Keywords configure
    push_pull of that name: compressor="onebit", scaling=True, ef="vanilla" and so on, also as
    byteps_compressor_type= and the like. InvalidArgument for invalid ones."""
    del staleness
    session.current()
    compression = from_params(kwargs)
    _declared[name] = compression
    return 0


def _begin(tensor, output, average, name, priority):
    codec = codec_of(_declared.get(name), tensor)
    label = exchange.unnamed(tensor, average) if name is None else f"push_pull.{name}"

    def start():
        return exchange.begin(tensor.detach(), output.detach(), label, average, priority, codec,
                              compared=name is not None)

    handle = start() if name is not None else exchange.begin_unnamed(tensor, label, start)
    number = next(_numbers)
    _handles[number] = handle, output
    return number


def push_pull_async(tensor, average=True, name=None, version=0, priority=0):
    """Starts to add up `tensor` over all workers into a new tensor; returns a handle for poll() and
    synchronize()."""
    del version
    wire.check(tensor)
    return _begin(tensor, tensor.detach().clone(), average, name, priority)


def push_pull_async_inplace(tensor, average=True, name=None, version=0, priority=0):
    """Starts to add up `tensor` over all workers in place; returns a handle for poll() and
    synchronize()."""
    del version
    wire.check(tensor)
    return _begin(tensor, tensor, average, name, priority)


@unfinished.whole("push_pull")
def push_pull_inplace(tensor, average=True, name=None, version=0, priority=0):
    """Adds up `tensor` over all workers in place; returns it."""
    return synchronize(push_pull_async_inplace(tensor, average, name, version, priority))


def push_pull_group_sync_inplace(tensor, average=True, name=None, version=0, priority=0):
    """As push_pull_async_inplace, and the number of tensors of its group: (handle, 1)."""
    return push_pull_async_inplace(tensor, average, name, version, priority), 1


def byteps_torch_set_num_grads(num_grads):
    """Returns 0: Stretto forms groups itself."""
    del num_grads
    return 0


def push_pull(tensor, average=True, name=None, version=0, priority=0,
              compression=Compression.none):
    """The sum, or with `average` the mean, of `tensor` over all workers, as a new tensor through
    which gradients flow. AssertionError without a name."""
    del version
    if name is None:
        raise AssertionError("To manually call push_pull, you must specify a name by name=...")
    wire.check(tensor)
    if compression is Compression.none:
        compression = _declared.get(name, compression)
    return functional.push_pull(tensor, f"push_pull.{name}", average, priority, compression)


def poll(handle):
    """True once the exchange has ended."""
    found, _ = _handles.get(handle, (None, None))
    return found is None or found.done()


def synchronize(handle):
    """Waits for the exchange and returns its tensor (in place: the one passed in); None for a
    handle that was synchronized before. Raises a stretto.Error if the exchange failed. After
    another exception, such as one of a signal handler, it can be called again."""
    found, output = _handles.get(handle, (None, None))
    if found is not None:
        try:
            found.wait()
        except errors.Error:
            del _handles[handle]
            raise
        del _handles[handle]
    return output
