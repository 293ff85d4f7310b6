# SPDX-License-Identifier: Apache-2.0
"""What a program reports, as the C++ worker takes it."""


def numbers_of(values):
    """The same numbers as floats, by names that can be shown."""
    return {_shown(name): _number(value) for name, value in values.items()}


def _shown(name):
    # The C++ worker says what cannot be shown.
    return str(name).encode("utf-8", "replace").decode("utf-8")


def _number(value):
    try:
        return float(value)
    except OverflowError:
        return float("inf")  # A whole number without an end, for a float: left out like one.
