# SPDX-License-Identifier: Apache-2.0
"""Converts numbers that a program reports for the C++ worker."""


def numbers_of(values):
    """The numbers as floats, by names in valid UTF-8."""
    return {_shown(name): _number(value) for name, value in values.items()}


def _shown(name):
    # The C++ worker reports names that cannot be shown.
    return str(name).encode("utf-8", "replace").decode("utf-8")


def _number(value):
    try:
        return float(value)
    except OverflowError:
        return float("inf")  # Too large for a float: left out, like infinity.
