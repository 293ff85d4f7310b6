# SPDX-License-Identifier: Apache-2.0
"""PyTorch's communication hooks in C++, which DistributedDataParallel registers by
_register_builtin_comm_hook(). They read the value of a call's future in a form that only C++
backends can produce. Groups of backend "stretto" get PyTorch's hooks in Python, which do the same.
"""

import functools
import warnings

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

_NAMES = {"ALLREDUCE": "allreduce_hook", "FP16_COMPRESS": "fp16_compress_hook"}


def replace_for(kind):
    """Replaces the hooks of modules whose group is of that class, from now on."""
    own = DistributedDataParallel._register_builtin_comm_hook

    @functools.wraps(own)
    def register(module, comm_hook_type):
        name = _NAMES.get(getattr(comm_hook_type, "name", ""))
        if name is None or not isinstance(module.process_group, kind):
            own(module, comm_hook_type)
            return
        with warnings.catch_warnings():  # PyTorch 2.6 gives ten warnings under Python 3.13.
            warnings.simplefilter("ignore", FutureWarning)
            from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
        module.register_comm_hook(module.process_group, getattr(default_hooks, name))

    if hasattr(dist, "BuiltinCommHookType"):
        DistributedDataParallel._register_builtin_comm_hook = register
