// SPDX-License-Identifier: Apache-2.0
// What one part remembers between its encodings: the error that it owes (error feedback: Seide et
// al., INTERSPEECH 2014; Karimireddy et al., ICML 2019) and its momentum (Nesterov's, as BytePS
// has it: before the error feedback, at the worker only).
#pragma once

#include <span>
#include <vector>

#include "ops/codec.h"

namespace stretto::ops {

/// Thread: one at a time. Memory is taken at the first encoding, and only for what the spec wants.
class PartEncoder {
 public:
  /// `with_momentum`: the worker's side.
  PartEncoder(const CodecSpec& spec, bool with_momentum)
      : spec_(spec), momentum_(with_momentum && spec.momentum) {}

  /// Encodes `numbers`, always as many, with all that is owed; keeps what is lost of them.
  void encode(std::span<const float> numbers, Encoding how, std::span<std::byte> out);

  /// What is owed; empty without error feedback, or before the first encoding.
  std::span<const float> error() const { return error_; }
  /// The same for `count` numbers, to be set: what another encoder of the part owed.
  std::span<float> owe(std::size_t count);
  /// Forgets: a broadcast has set the tensor to something else.
  void reset();

 private:
  CodecSpec spec_;
  bool momentum_;
  std::vector<float> memory_;  // Nesterov's.
  std::vector<float> error_;
  std::vector<float> numbers_;  // With momentum alone: what is encoded.
};

}  // namespace stretto::ops
