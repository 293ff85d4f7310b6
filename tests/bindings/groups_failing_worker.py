# SPDX-License-Identifier: Apache-2.0
"""A worker whose group fails, because one member is late or has left. It checks that later calls
are refused at once. Arguments: "late" or "lost", the rank of that member, and a named pipe by which
members report their failures.
"""

import os
import pathlib
import sys
import time

import torch

import stretto.torch as st
from stretto import errors

AT_ONCE_S = 1.5  # The operation timeout is 3 s.


def call(group, name):
    """The error of a call, and its duration."""
    begin = time.monotonic()
    try:
        st.alltoall(torch.ones(group.size), name=name, group=group)
    except errors.Error as error:
        return error, time.monotonic() - begin
    raise AssertionError(f"call {name} went well")


def check_refused(group, kind):
    """Calls of the same name and of other names are refused."""
    for name in ("first", "second"):
        error, seconds = call(group, name)
        assert isinstance(error, kind), error
        assert "can make no calls together any more, because one has failed" in str(error), error
        assert seconds < AT_ONCE_S, (name, seconds)


def be_late(group, is_late, pipe):
    """Peers fail by their timeout; then the late member fails at once."""
    if is_late:
        with os.fdopen(os.open(pipe, os.O_RDWR), encoding="ascii", buffering=1) as lines:
            said = [lines.readline() for _ in range(group.size - 1)]  # Open for both: no EOF.
        assert said == ["failed\n"] * (group.size - 1), said
    error, seconds = call(group, "first")
    assert isinstance(error, errors.Timeout), error
    assert not is_late or seconds < AT_ONCE_S, seconds
    check_refused(group, errors.Timeout)
    if not is_late:
        with pipe.open("a", encoding="ascii") as told:
            told.write("failed\n")


def lose(group, who, pipe):
    """The calls of both peers fail. Neither peer exits before the other peer's call has failed: an
    early exit would count as a second failed worker."""
    error, _ = call(group, "first")
    assert isinstance(error, errors.PeerLost) and f"worker {who}" in str(error), error
    check_refused(group, errors.PeerLost)
    is_first = group.rank == min({0, 1, 2} - {who})
    with pipe.open("r" if is_first else "a", encoding="ascii") as told:  # Waits for both peers.
        assert not is_first or told.readline() == "failed\n"
        assert is_first or told.write("failed\n")


def main(what, who, pipe):
    """Three workers."""
    torch.set_num_threads(1)
    st.init()
    group = st.Group(range(st.size()))
    st.alltoall(torch.ones(group.size), group=group)
    is_one = st.rank() == who
    if what == "late":
        be_late(group, is_one, pipe)
    elif not is_one:
        lose(group, who, pipe)
    st.shutdown()
    print("done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3]))
