# SPDX-License-Identifier: Apache-2.0
"""Sizes as `stretto-bench` takes them."""

UNITS = {"K": 10, "M": 20, "G": 30}


def bytes_of(text):
    """Of `64K` and the like. Raises ValueError."""
    return int(text[:-1]) << UNITS[text[-1]] if text[-1:] in UNITS else int(text)
