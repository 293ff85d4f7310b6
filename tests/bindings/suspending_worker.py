# SPDX-License-Identifier: Apache-2.0
"""Run by the workers of suspend_test.py: leaves a job, and joins another of another size when it
is sent SIGUSR1.
"""

import signal
import sys

import torch

import byteps.torch as bps


def main():
    """Two jobs, one after the other; the arguments are the second's workers and servers."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    bps.init()
    print("sum", bps.push_pull(torch.ones(1000), average=False, name="x")[999].item(), flush=True)
    rank = bps.rank()
    bps.suspend()
    print("suspended", flush=True)
    if rank >= int(sys.argv[1]):
        return
    signal.sigwait([signal.SIGUSR1])
    bps.resume(int(sys.argv[1]), int(sys.argv[2]), rank)
    print("again", bps.push_pull(torch.ones(1000), average=False, name="x")[999].item(),
          f"as {bps.rank()} of {bps.size()}", flush=True)
    bps.shutdown()
    print("done", flush=True)


if __name__ == "__main__":
    main()
