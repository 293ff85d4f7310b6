# SPDX-License-Identifier: Apache-2.0
"""byteps.torch.compression: Compression.none and Compression.fp16."""

from stretto.torch.core.compression import Compression, Compressor, FP16Compressor, NoneCompressor

__all__ = ["Compression", "Compressor", "FP16Compressor", "NoneCompressor"]
