# SPDX-License-Identifier: Apache-2.0
"""Run by every worker of a job of tools/standstills: trains until step N, where worker 1 stalls as
the first argument says, or until it is killed if that is "none". Needs no PyTorch.

    standing_worker.py KIND STEP [SECONDS]
"""

import array
import ctypes
import os
import signal
import sys
import threading
import time

from stretto import session

ELEMENTS = 1024
LARGE = 1024 * 1024  # Of the tensor x1: most of it is unsent when it is paused.
_NUMBERS = array.array("f", [1.0]) * LARGE


def push_pull(job, name):
    """Starts to add up some numbers over all workers; returns the ticket."""
    elements = LARGE if name == "x1" else ELEMENTS
    tensor = job.declare(name, "f32", elements, rule="mean")
    address, _ = _NUMBERS.buffer_info()
    return job.push_pull([(tensor, address, address, 4 * elements)], 0, _NUMBERS)


def computing(_):
    while True:
        pass


def in_a_call(job):
    ticket = push_pull(job, "x1")
    ticket.pause()
    ticket.wait()


def stopped(_):
    os.kill(os.getpid(), signal.SIGSTOP)


def data(_):
    ours, _others = os.pipe()
    os.read(ours, 1)


def teardown(_):
    threading.Thread(target=threading.Event().wait).start()
    sys.exit(0)


def other_call(job):
    job.barrier()


def memory(_):
    """Touches a page that is never delivered, like a swapped page whose device is gone: by
    userfaultfd(2), registered for missing pages."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    at = libc.mmap(None, ctypes.c_size_t(4096), 3, 0x22, -1, ctypes.c_long(0))
    fault = libc.syscall(323, 0)  # x86-64.
    api = (ctypes.c_uint64 * 3)(0xAA, 0, 0)
    register = (ctypes.c_uint64 * 4)(at, 4096, 1, 0)
    if fault < 0 or libc.ioctl(fault, ctypes.c_ulong(0xC018AA3F), api) < 0 or \
            libc.ioctl(fault, ctypes.c_ulong(0xC020AA00), register) < 0:
        raise OSError(ctypes.get_errno(), "userfaultfd")
    ctypes.string_at(at, 1)


def deadlock(_):
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


KINDS = {"computing": computing, "in a call": in_a_call, "stopped": stopped, "data": data,
         "teardown": teardown, "other call": other_call, "memory": memory, "deadlock": deadlock}


def soak(job, seconds):
    """Steps of different lengths, with pauses: all evaluate, and worker 0 saves."""
    end = time.monotonic() + seconds
    step = 0
    while True:
        step += 1
        go_on = array.array("f", [1.0 if time.monotonic() < end else 0.0] * ELEMENTS)
        tensor = job.declare("go on", "f32", ELEMENTS)
        address, _ = go_on.buffer_info()
        job.broadcast(tensor, address, 4 * ELEMENTS, 0, go_on).wait()
        if go_on[0] == 0.0:
            return
        time.sleep(0.02 + 0.3 * (step % 10 == job.rank))
        push_pull(job, "x0").wait()
        if step % 20 == 10:
            with session.current().pause("evaluation"):
                time.sleep(2.0 + 4.0 * job.rank)
        if step % 20 == 0 and job.rank == 0:
            with session.current().pause("saving"):
                time.sleep(8.0)


def main():
    kind, last = sys.argv[1], int(sys.argv[2])
    session.begin(lazy=False)
    job = session.current()
    if kind == "soak":
        soak(job, float(sys.argv[3]))
        return
    for step in range(10**9):
        if step == last:
            job.barrier()
            print("stands still", flush=True)
            if job.rank == 1 and kind in KINDS:
                KINDS[kind](job)
        for part in range(4):
            push_pull(job, f"x{part}").wait()
        time.sleep(0.002)


if __name__ == "__main__":
    main()
