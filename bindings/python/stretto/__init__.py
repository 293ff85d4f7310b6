# SPDX-License-Identifier: Apache-2.0
"""Stretto: a parameter server for distributed training.

`stretto.torch` is for PyTorch; `byteps.torch` and `stretto.horovod.torch` are the same under
other names. This package has what they stand on: the exceptions, and for other array libraries the
worker itself.
"""

from stretto import errors, extension

extension.check()

# pylint: disable=wrong-import-position
from stretto._core import Options, Ticket, ValueInfo, __version__  # noqa: E402
from stretto.errors import Error  # noqa: E402

__all__ = ["Error", "Options", "Ticket", "ValueInfo", "errors", "__version__"]
