# SPDX-License-Identifier: Apache-2.0
"""PyTorch from 2.4 on makes its TCPStore with libuv unless USE_LIBUV=0 is set, and Debian builds
PyTorch without libuv: there init_process_group() fails with every backend.

stretto-launch cannot set the variable: whether a PyTorch has libuv is known only to a process that
has imported that PyTorch, which takes seconds, and a PyTorch that has libuv is better with it. So
each process of backend "stretto" looks when it imports the backend.
"""

import torch.distributed as dist

from stretto import environment

_NAME = "USE_LIBUV"


def is_missing():
    """True if a TCPStore cannot be made with libuv, by trying: on any port of this host, for a
    moment. Raises RuntimeError if there is another cause."""
    try:
        dist.TCPStore("127.0.0.1", 0, 1, True, wait_for_workers=False, use_libuv=True)
    except TypeError:  # PyTorch before 2.1 has no such argument, and its TCPStore no such need.
        return False
    except RuntimeError as error:
        if "libuv" in str(error):
            return True
        raise
    return False


def do_without():
    """Sets USE_LIBUV=0 for this process and those that it starts, if libuv is missing. What the
    user has set stays."""
    try:
        if not environment.text(_NAME) and is_missing():
            environment.give(_NAME, 0)
    except RuntimeError:
        pass  # init_process_group() says what is wrong, if it needs a TCPStore at all.
