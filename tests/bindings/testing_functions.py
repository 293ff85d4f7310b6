# SPDX-License-Identifier: Apache-2.0
"""Functions that testing_test.py runs as workers."""

import os
import sys

import torch

import stretto.torch as st


def adds(offset, names):
    """A sum over all workers, and results of all types."""
    st.init()
    total = st.push_pull(torch.tensor([st.rank() + offset]), "x", average=False)
    return total, {"rank": st.rank(), 7: (None, True)}, [names["text"], os.environ["GIVEN"]]


def trains():
    """Two steps of a model; the parameters afterwards."""
    st.init()
    torch.manual_seed(1)
    model = torch.nn.Linear(2, 1)
    optimizer = st.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1),
                                        model.named_parameters())
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.full((1, 2), 1.0 + st.rank())).sum().backward()
        optimizer.step()
    return dict(model.state_dict())


def one_fails():
    """Worker 1 raises, and worker 0 waits for it."""
    st.init()
    if st.rank() == 1:
        raise ValueError("no data here")
    st.push_pull(torch.ones(1), "x")


def one_is_killed():
    """Worker 1 ends without a traceback."""
    if os.environ["RANK"] == "1":
        os.kill(os.getpid(), 9)
    st.init()


def returns_a_set():
    """An unsupported result."""
    return {1}


def one_exits():
    """Worker 1 ends with status 0 before it returns."""
    if os.environ["RANK"] == "1":
        os._exit(0)


def one_calls_exit():
    """Worker 1 calls sys.exit()."""
    if os.environ["RANK"] == "1":
        sys.exit(0)


def one_raises_base_exception():
    """Worker 1 raises a BaseException, like fail() of pytest."""
    if os.environ["RANK"] == "1":
        raise type("Failed", (BaseException,), {})("wanted 2")
