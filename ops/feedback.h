// SPDX-License-Identifier: Apache-2.0
// The state of one part between its encodings: the residual error (error feedback: Seide et al.,
// INTERSPEECH 2014; Karimireddy et al., ICML 2019) and the momentum (Nesterov's, as in BytePS:
// before the error feedback, at the worker only).
#pragma once

#include <span>
#include <vector>

#include "ops/codec.h"

namespace stretto::ops {

/// Thread: one at a time. The first encoding allocates only the memory that the spec requires.
class PartEncoder {
 public:
  /// `with_momentum`: true on a worker.
  PartEncoder(const CodecSpec& spec, bool with_momentum)
      : spec_(spec), momentum_(with_momentum && spec.momentum) {}

  /// Encodes `numbers` (in each call as many) plus the residual; keeps the new residual.
  void encode(std::span<const float> numbers, Encoding how, std::span<std::byte> out);

  /// The residual; empty without error feedback, or before the first encoding.
  std::span<const float> error() const { return error_; }
  /// The residual of `count` numbers, for the caller to set from another encoder of the part.
  std::span<float> owe(std::size_t count);
  /// Clears the state, after a broadcast has replaced the tensor.
  void reset();

 private:
  CodecSpec spec_;
  bool momentum_;
  std::vector<float> memory_;  // Nesterov's.
  std::vector<float> error_;
  std::vector<float> numbers_;  // The input of the codec, with momentum only.
};

}  // namespace stretto::ops
