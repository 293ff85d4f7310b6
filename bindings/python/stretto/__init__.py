# SPDX-License-Identifier: Apache-2.0
"""Stretto: a parameter server for distributed training.

`stretto.torch` is for PyTorch; `byteps.torch` and `stretto.horovod.torch` offer the same by the
APIs of BytePS and Horovod. This package has their common base: the exceptions, and for other array
libraries the worker.
"""

import atexit

try:
    import stretto._core
except ImportError as error:
    from stretto import built
    raise built.why_it_fails(error) from None
from stretto import _core, errors
from stretto._core import Options, Ticket, ValueInfo, __version__
from stretto.errors import Error

# Registered before the function that leaves the job, and so called after it.
atexit.register(_core.keep_other_threads_out)

__all__ = ["Error", "Options", "Ticket", "ValueInfo", "errors", "__version__"]
