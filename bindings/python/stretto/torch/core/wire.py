# SPDX-License-Identifier: Apache-2.0
"""Tensors as memory for exchanges: the supported element types, and copies of tensors that cannot
be sent directly (on a GPU, not contiguous, or of a type that servers do not add up).
"""

import functools
import hashlib

import torch

NAMES = {
    torch.float32: "f32",
    torch.float64: "f64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int8: "i8",
    torch.uint8: "u8",
    torch.int32: "i32",
    torch.int64: "i64",
}
"""The element types that servers add up, and their names."""

NARROW = frozenset(("f16", "bf16", "i8", "u8", "i32"))
"""Those whose sums may be beyond their range: servers make their means in a wider type."""

_WIDE = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.int8: torch.int64,
         torch.uint8: torch.int64, torch.int32: torch.int64}

_WIDER = {torch.int16: torch.int32, torch.bool: torch.int32}  # As u8, 256 times true is false.


def type_on_wire(tensor):
    """The element type on the wire for the tensor's; ValueError if there is none."""
    if tensor.dtype in NAMES:
        return tensor.dtype
    if tensor.dtype in _WIDER:
        return _WIDER[tensor.dtype]
    supported = ", ".join(str(kind) for kind in (*NAMES, *_WIDER))
    raise ValueError(f"Tensor type {tensor.dtype} is not supported. There are {supported}.")


def type_name(tensor):
    """The name of the tensor's element type in texts."""
    return str(tensor.dtype).removeprefix("torch.")


def storage_of(tensor):
    """The memory under the tensor, whatever its element type is."""
    untyped = getattr(tensor, "untyped_storage", None)
    return tensor.storage() if untyped is None else untyped()  # PyTorch 1 has only the former.


def check(tensor, what="tensor"):
    """TypeError unless it is a dense tensor, ValueError unless servers can add up its type."""
    check_dense(tensor, what)
    type_on_wire(tensor)


def check_dense(tensor, what="tensor"):
    """TypeError unless it is a dense tensor, which can be copied whatever its type is."""
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"the {what} is a {type(tensor).__name__}, wanted a torch.Tensor")
    if tensor.layout != torch.strided:
        raise TypeError(f"the {what} is sparse ({tensor.layout}); exchange tensor.to_dense()")


def name_as_it_is(tensor):
    """The name of the tensor's element type, if its own memory can be sent; else None, also for
    other objects. Uses only the fastest queries of PyTorch, since every call asks this."""
    if not isinstance(tensor, torch.Tensor) or tensor.layout is not torch.strided:
        return None
    is_plain = tensor.is_cpu and tensor.is_contiguous() and not tensor.is_neg()
    return NAMES.get(tensor.dtype) if is_plain else None


def goes_as_it_is(tensor):
    """True if the tensor's own memory can be sent."""
    return name_as_it_is(tensor) is not None


_LONGEST_SHAPE = 200


def shape_of(tensor):
    """The facts of a tensor that workers compare, apart from its size and element type on the wire,
    in the form of Session.declare."""
    if tensor.dim() <= 1 and tensor.dtype in NAMES:
        return ""
    return _described(tensor.shape, tensor.dtype)


@functools.lru_cache(1024)
def _described(sizes, dtype):
    text = "x".join(map(str, sizes)) or "1"
    if len(text) > _LONGEST_SHAPE:
        text = f"{len(sizes)} dimensions {hashlib.sha256(text.encode('ascii')).hexdigest()[:12]}"
    return text if dtype in NAMES else f"{str(dtype).removeprefix('torch.')} {text}"


def without_gradient(tensor):
    """The tensor, or if autograd follows it a view that it does not follow."""
    return tensor.detach() if tensor.requires_grad else tensor


def flat_buffer(tensor, wide=False):
    """Uninitialised memory to send the tensor from: flat, contiguous, on the CPU; pinned if the
    tensor is on a GPU. `wide`: of a type for sums of a narrow one."""
    kind = type_on_wire(tensor)
    return torch.empty(tensor.numel(), dtype=_WIDE.get(kind, kind) if wide else kind,
                       pin_memory=tensor.is_cuda)


def load(buffer, tensor):
    """Copies the tensor into its buffer."""
    buffer.view(tensor.shape).copy_(tensor)


def store(buffer, tensor):
    """Copies the buffer into its tensor. A bool becomes true if it is not 0."""
    tensor.copy_(buffer.view(tensor.shape))


def place_of(flat):
    """(address, bytes) of a contiguous tensor."""
    return flat.data_ptr(), flat.numel() * flat.element_size()


def as_bytes(tensor):
    """The memory of a contiguous CPU tensor as bytes: a flat uint8 tensor that shares it."""
    flat = tensor.reshape(-1)
    return flat.view(torch.uint8) if flat.numel() else flat.to(torch.uint8)


def plain_copy(tensor):
    """The tensor's numbers in contiguous CPU memory: its own memory, if possible."""
    return tensor.detach().to("cpu").resolve_conj().resolve_neg().contiguous()


def average_in_place(tensor, size):
    """Divides a sum by the number of workers; whole numbers are rounded down."""
    if tensor.is_floating_point():
        tensor.div_(size)
    else:
        tensor.div_(size, rounding_mode="floor")
