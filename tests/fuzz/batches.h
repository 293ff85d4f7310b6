// SPDX-License-Identifier: Apache-2.0
// Messages of one frame or of a batch, made from a fuzzer's bytes, and checks of their frames.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "common/check.h"
#include "common/memory/buffer.h"
#include "tests/fuzz/input.h"
#include "van/transport/frame_batch.h"

namespace stretto::fuzz {

/// Flags in the first byte of an input.
enum Valid : unsigned { kConnection = 1, kLengths = 2, kSmallLimit = 4, kOurs = 8, kRouted = 16 };

/// The parts of a message; their lengths add up if `valid` has kLengths.
std::vector<Buffer> take_parts(Input& input, unsigned valid);

/// Takes all frames of a message that is_frame_or_batch() accepted, and reads every payload
/// completely.
std::vector<Buffer> take_payloads(UnpackedFrames frames, std::span<const std::byte> headers,
                                  std::size_t part_bytes, std::size_t most_bytes);

/// One or more small payloads, and a batch of them as a sender makes it.
std::vector<Buffer> fill_batch(Input& input, FrameBatch& batch);

/// Fails unless the payloads are the same.
void check_equal(std::span<const Buffer> sent, std::span<const Buffer> came);

}  // namespace stretto::fuzz
