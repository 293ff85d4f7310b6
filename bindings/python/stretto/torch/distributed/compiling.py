# SPDX-License-Identifier: Apache-2.0
"""Keeps torch.compile out of this package: its methods are not part of a graph."""

import functools
import sys

import torch


def _untraced(function):
    # Importing torch._dynamo takes about a second, and only a program that compiles has imported
    # it. So the method checks at each call, and uses torch._disable_dynamo() only in such programs.
    disabled = torch._disable_dynamo(function)

    @functools.wraps(function)
    def call(*positional, **named):
        if "torch._dynamo" in sys.modules:
            return disabled(*positional, **named)
        return function(*positional, **named)

    return call


def is_between(module):
    """True for a module whose frames may be between such a method and its caller."""
    return module in ("torch._compile", "torch._dynamo.eval_frame")


def untraced(kind):
    """A class decorator: torch.compile breaks its graph at the methods that PyTorch calls, and
    calls them uncompiled. PyTorch 1 has no such compiler, and the class stays unchanged."""
    if hasattr(torch, "_disable_dynamo"):
        for name, value in list(vars(kind).items()):
            if callable(value) and (not name.startswith("_") or name.endswith("_base")):
                setattr(kind, name, _untraced(value))
    return kind
