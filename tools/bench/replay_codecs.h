// SPDX-License-Identifier: Apache-2.0
// The codecs that replay's tensors travel with: how they are named, what they make of a model's
// bytes, and which sums the servers must answer with. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/codec.h"
#include "stretto/status.h"

namespace stretto::bench {

/// A codec, and how the user wrote it. Lossless by default.
struct NamedCodec {
  std::string name = "lossless";
  CodecSpec spec;
};

/// "lossless,fp16,topk,k=0.01,ef=vanilla": codecs with commas between, each followed by its keys
/// and values. topk and randomk without k keep one element in a hundred; dithering without k has 7
/// levels.
Status read_codecs(std::string_view text, std::vector<NamedCodec>& codecs);

/// What a tensor of so many bytes travels as, before they are scaled: as the default policy has it,
/// small ones are left alone.
CodecSpec codec_for(const CodecSpec& asked, std::uint64_t original_bytes);

/// Bytes of `elements` in parts of `part_bytes`, encoded.
std::uint64_t travelling_bytes(const CodecSpec& codec, std::uint64_t elements,
                               std::uint64_t part_bytes);

/// One round of one tensor, in which every worker's share is `share` in every element, and nothing
/// is owed from rounds before.
struct EvenRound {
  std::string_view tensor;
  std::uint64_t elements = 0;
  std::uint64_t part_bytes = 0;
  std::uint64_t round = 0;  ///< Of the tensor, from 1.
  std::uint32_t workers = 1;
  float share = 0;
};
/// The value that the servers answer with: every share decoded, the sum encoded and decoded again.
std::vector<float> expected_value(const CodecSpec& codec, const EvenRound& round);

}  // namespace stretto::bench
