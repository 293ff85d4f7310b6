# SPDX-License-Identifier: Apache-2.0
"""Compression of gradients before they travel."""

import torch

from stretto import _core, environment, errors


class Compressor:
    """The interface of a compression: two static methods."""

    @staticmethod
    def compress(tensor):
        """(tensor that travels, context for decompress())."""
        raise NotImplementedError

    @staticmethod
    def decompress(tensor, ctx):
        """The decompressed tensor, after the exchange."""
        raise NotImplementedError


class NoneCompressor(Compressor):
    """Leaves tensors unchanged."""

    @staticmethod
    def compress(tensor):
        """The tensor itself."""
        return tensor, None

    @staticmethod
    def decompress(tensor, ctx):
        """The tensor itself."""
        del ctx
        return tensor


class FP16Compressor(Compressor):
    """Floating-point tensors travel, and are summed, as float16."""

    @staticmethod
    def compress(tensor):
        """A float16 copy, if the tensor is of a floating type."""
        small = tensor.to(torch.float16) if tensor.is_floating_point() else tensor
        return small, tensor.dtype

    @staticmethod
    def decompress(tensor, ctx):
        """A copy of the original type."""
        return tensor.to(ctx) if ctx.is_floating_point else tensor


class Compression:
    """The available compressions."""

    none = NoneCompressor
    fp16 = FP16Compressor


class CodecCompressor(NoneCompressor):
    """Gradients travel through the codec of Stretto that the text names, as in
    "topk,k=0.01,ef=vanilla". Tensors below BYTEPS_MIN_COMPRESS_BYTES (64 KiB) and tensors that are
    not float32 travel unencoded. Worker and servers encode during the exchange; this class changes
    no tensor."""

    def __init__(self, text):
        self.codec = _core.codec(text)
        self.min_bytes = _min_bytes()

    def codec_for(self, bytes_):
        """The codec for the declaration of a tensor of this size."""
        return self.codec if bytes_ >= self.min_bytes else "none"


def _min_bytes():
    return environment.number(
        "STRETTO_CODEC_MIN_BYTES", "BYTEPS_MIN_COMPRESS_BYTES", default=65536)


def coded_from(compression):
    """The least size in bytes of a tensor that travels through a codec; None: no tensor does."""
    if isinstance(compression, CodecCompressor):
        return compression.min_bytes
    return _min_bytes() if environment.text("STRETTO_CODEC") else None


def facts_of(compression):
    """The facts about compression on which all workers must agree, as texts by text."""
    if isinstance(compression, CodecCompressor):
        return {"compression": f"{compression.codec} from {compression.min_bytes} bytes"}
    name = getattr(compression, "__name__", type(compression).__name__)
    facts = {"compression": name.removesuffix("Compressor")}
    text = environment.text("STRETTO_CODEC")
    return facts | ({"STRETTO_CODEC": f"'{text}'",
                     "STRETTO_CODEC_MIN_BYTES": f"{_min_bytes()}"} if text else {})


def codec_of(compression, tensor):
    """The codec for the declaration of a tensor; None: the codec of STRETTO_CODEC for its name."""
    if not isinstance(compression, CodecCompressor):
        return None
    return compression.codec_for(tensor.numel() * tensor.element_size())


def text_of(params):
    """BytePS's keys and values as one text. Raises ValueError for values that have no such form."""
    pieces = []
    for key, value in params.items():
        text = str(value)
        if not isinstance(key, str) or not text or any(c in f"{key}{text}" for c in ",;="):
            raise ValueError(f"compression_params has {key!r}: {value!r}, wanted a word and its "
                             "value")
        pieces.append(f"{key.removeprefix('byteps_')}={text}")
    return ",".join(pieces)


def from_params(params, otherwise=Compression.none):
    """The compression that BytePS's dictionary `compression_params` asks for."""
    if not params:
        return otherwise
    if not isinstance(params, dict):
        raise TypeError(f"compression_params is a {type(params).__name__}, wanted a dict")
    if set(params) == {"fp16"} and isinstance(params["fp16"], bool):
        return Compression.fp16 if params["fp16"] else otherwise
    try:
        return CodecCompressor(text_of(params))
    except errors.InvalidArgument as error:
        raise errors.InvalidArgument(f"compression_params: {error.cause}") from error
