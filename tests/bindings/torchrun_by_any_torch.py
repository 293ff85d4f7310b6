# SPDX-License-Identifier: Apache-2.0
"""torchrun, which also starts with a PyTorch without libuv, such as Debian's version 2. It also
starts under Python 3.11, where version 1.13 needs a choice of redirects.
"""

import functools
import runpy
import sys

import torch
import torch.distributed as dist


def _has_libuv():
    try:
        dist.TCPStore("127.0.0.1", 0, 1, True)
    except RuntimeError as error:
        return "libuv" not in str(error)
    return True


if not _has_libuv():
    dist.TCPStore = functools.partial(dist.TCPStore, use_libuv=False)
if torch.__version__.startswith("1."):
    sys.argv[1:1] = ["--redirects=2", "--tee=2"]
runpy.run_module("torch.distributed.run", run_name="__main__")
