# SPDX-License-Identifier: Apache-2.0
"""Run by every worker of a job of observe_test.py: repeatedly reads input, computes, and exchanges,
with time lost where the test asks for it. Waiting for an event that never occurs simulates work of
known length. Arguments: rounds, where time is lost, the rank that loses it, seconds.
"""

import ctypes
import sys
import threading

from stretto import session

BYTES = 64 * 1024
COMPUTE_S = 0.004
INPUT_S = 0.001
HANG_ROUND = 20  # From here on a hanging worker does nothing for the lost time, then exits.


def main():
    rounds, where, who, lost = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    session.begin()
    job = session.current()
    worker = job.worker()
    mine = worker.rank == who
    work = threading.Event()
    tensors = [worker.declare(f"layer{i}", "f32", BYTES // 4) for i in range(3)]
    source = (ctypes.c_char * BYTES)()
    targets = [(ctypes.c_char * BYTES)() for _ in tensors]
    for number in range(rounds):
        if mine and where == "hang" and number == HANG_ROUND:
            work.wait(lost)
            sys.exit("hung")
        with job.span("input"):
            work.wait(INPUT_S + (lost if mine and where == "input" else 0))
        work.wait(COMPUTE_S + (lost if mine and where == "compute" else 0))
        tickets = [
            worker.push_pull([(tensor, ctypes.addressof(source), ctypes.addressof(target), BYTES)],
                             0, (source, target)) for tensor, target in zip(tensors, targets)
        ]
        for ticket in tickets:
            ticket.wait()
        job.report({"loss": 1 / (1 + number)})
    session.end()
    print("done")


if __name__ == "__main__":
    main()
