# SPDX-License-Identifier: Apache-2.0
"""BytePS's names for Stretto, so that scripts written for BytePS run unchanged."""

from stretto._core import __version__

__all__ = ["__version__"]
