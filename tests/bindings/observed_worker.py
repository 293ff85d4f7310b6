# SPDX-License-Identifier: Apache-2.0
"""Run by every worker of a job of observe_test.py: reads input, computes, and exchanges, again and
again, with time lost where the test wants it. Waiting for an event that never comes stands for
work of known length. Arguments: rounds, where time is lost, whose rank loses it, seconds.
"""

import ctypes
import sys
import threading

from stretto import session

BYTES = 64 * 1024
COMPUTE_S = 0.004
INPUT_S = 0.001
HANG_ROUND = 20  # Who hangs does nothing from then on, for the time to be lost, and is gone.


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
