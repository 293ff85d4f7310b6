# SPDX-License-Identifier: Apache-2.0
"""Python objects as bytes, and back. Data from the network is never unpickled: only the kinds of
objects listed here are encoded, and decoding creates no others.
"""

import argparse
import base64
import collections
import json
import types

import numpy
import torch

_PLAIN = (type(None), bool, int, float, str)
_DTYPES = {str(kind): kind for kind in (
    torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.uint8, torch.int8,
    torch.int16, torch.int32, torch.int64, torch.bool, torch.complex64, torch.complex128)}
_LISTS = {"tuple": tuple, "set": set, "frozenset": frozenset, "deque": collections.deque}
_MAPS = {"dict": dict, "OrderedDict": collections.OrderedDict}
_SPACES = {"Namespace": argparse.Namespace, "SimpleNamespace": types.SimpleNamespace}
_NUMPY_KINDS = "biufc"


def _text(data):
    return base64.b85encode(data).decode("ascii")


def _tensor_bytes(tensor):
    flat = tensor.detach().to("cpu").resolve_conj().resolve_neg().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""


def _pack(value):
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is list:
        return [_pack(item) for item in value]
    for table, items in ((_LISTS, lambda: list(value)), (_MAPS, lambda: list(value.items())),
                         (_SPACES, lambda: list(vars(value).items()))):
        if table.get(kind.__name__) is kind:
            return {"is": kind.__name__, "of": _pack(items()) if table is _LISTS else
                    [[_pack(key), _pack(item)] for key, item in items()]}
    return _pack_data(value)


def _pack_data(value):
    if isinstance(value, (bytes, bytearray)):
        return {"is": type(value).__name__, "of": _text(value)}
    if isinstance(value, complex):
        return {"is": "complex", "of": [value.real, value.imag]}
    if type(value) is collections.Counter:
        return {"is": "Counter", "of": [[_pack(key), count] for key, count in value.items()]}
    if (isinstance(value, torch.Tensor) and value.layout == torch.strided
            and value.dtype in _DTYPES.values()):
        return {"is": "tensor", "dtype": str(value.dtype), "shape": list(value.shape),
                "of": _text(_tensor_bytes(value))}
    if isinstance(value, (numpy.ndarray, numpy.generic)) and value.dtype.kind in _NUMPY_KINDS:
        return {"is": "array" if isinstance(value, numpy.ndarray) else "scalar",
                "dtype": value.dtype.str, "shape": list(value.shape), "of": _text(value.tobytes())}
    if isinstance(value, torch.dtype):
        return {"is": "dtype", "of": str(value)}
    if isinstance(value, torch.device):
        return {"is": "device", "of": str(value)}
    if isinstance(value, torch.Size):
        return {"is": "tuple", "of": list(value)}
    raise TypeError(
        f"an object of type {type(value).__module__}.{type(value).__qualname__} cannot be "
        "broadcast: numbers, text, bytes, lists, tuples, sets, dicts, namespaces, tensors and "
        "arrays of them can. Broadcast what it is made of; nothing that comes over the network "
        "is unpickled here.")


def _unpack(value):
    if isinstance(value, list):
        return [_unpack(item) for item in value]
    if not isinstance(value, dict):
        return value
    kind, content = value["is"], value["of"]
    if kind in _LISTS:
        return _LISTS[kind](_unpack(content))
    if kind == "Counter":
        return collections.Counter({_unpack(key): count for key, count in content})
    if kind in _MAPS:
        return _MAPS[kind]((_unpack(key), _unpack(item)) for key, item in content)
    if kind in _SPACES:
        return _SPACES[kind](**{key: _unpack(item) for key, item in content})
    return _unpack_data(value, kind, content)


def _unpack_data(value, kind, content):
    if kind == "complex":
        return complex(*content)
    if kind == "dtype":
        return _DTYPES[content]
    if kind == "device":
        return torch.device(content)
    data = base64.b85decode(content)
    if kind == "bytes":
        return data
    if kind == "bytearray":
        return bytearray(data)
    if kind == "tensor":
        dtype = _DTYPES[value["dtype"]]
        flat = torch.frombuffer(bytearray(data), dtype=dtype) if data else torch.empty(
            0, dtype=dtype)
        return flat.view(value["shape"])  # Only a shape of this many elements fits.
    if kind in ("array", "scalar"):
        dtype = numpy.dtype(value["dtype"])
        if dtype.kind not in _NUMPY_KINDS:
            raise ValueError(f"an array of {value['dtype']}")
        array = numpy.frombuffer(data, dtype=dtype).reshape(value["shape"]).copy()
        return array if kind == "array" else array[()]
    raise ValueError(f"an object of kind {kind!r}")


def encode(value):
    """The object as bytes. TypeError, the only error, names a type that cannot be encoded, or
    another obstacle: callers that encode for others must report it to them."""
    try:
        return json.dumps(_pack(value), separators=(",", ":")).encode("utf-8")
    except RecursionError as error:
        raise TypeError("an object that holds itself, or is nested too deeply, cannot be "
                        "broadcast") from error
    except ValueError as error:  # A whole number of thousands of digits.
        raise TypeError(f"an object cannot be broadcast: {error}") from error


def decode(data):
    """The object that encode() turned into these bytes. ValueError for other bytes."""
    try:
        return _unpack(json.loads(bytes(data).decode("utf-8")))
    except (KeyError, IndexError, TypeError, ValueError, OverflowError, RuntimeError,
            RecursionError) as error:
        raise ValueError(f"these bytes are no object that was encoded here: {error}") from error
