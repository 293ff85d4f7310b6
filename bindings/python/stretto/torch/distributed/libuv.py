# SPDX-License-Identifier: Apache-2.0
"""PyTorch from 2.4 on makes its TCPStore with libuv unless USE_LIBUV=0 is set, and Debian builds
PyTorch without libuv: there init_process_group() fails with every backend.

stretto-launch cannot set the variable. Only a process that has imported PyTorch, which takes
seconds, knows whether that PyTorch has libuv, and PyTorch is better with libuv. So each process of
backend "stretto" checks when it imports the backend.
"""

import torch.distributed as dist

from stretto import environment

_NAME = "USE_LIBUV"


def is_missing():
    """True if a TCPStore cannot be made with libuv: tries it briefly on any port of this host.
    Raises RuntimeError if there is another cause."""
    try:
        dist.TCPStore("127.0.0.1", 0, 1, True, wait_for_workers=False, use_libuv=True)
    except TypeError:  # PyTorch before 2.1 has no such argument, and its TCPStore needs no libuv.
        return False
    except RuntimeError as error:
        if "libuv" in str(error):
            return True
        raise
    return False


def do_without():
    """Sets USE_LIBUV=0 for this process and its children, if libuv is missing. A value that the
    user has set stays."""
    try:
        if not environment.text(_NAME) and is_missing():
            environment.give(_NAME, 0)
    except RuntimeError:
        pass  # init_process_group() reports the cause, if it needs a TCPStore at all.
