// SPDX-License-Identifier: Apache-2.0
// Messages of one frame or of a batch, made of a fuzzer's bytes, and what must hold of their
// frames.
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

/// What the first byte of an input says.
enum Valid : unsigned { kConnection = 1, kLengths = 2, kSmallLimit = 4, kOurs = 8, kRouted = 16 };

/// The parts of a message; if `valid` says so, with lengths that add up.
std::vector<Buffer> take_parts(Input& input, unsigned valid);

/// Takes all frames of a message that is_frame_or_batch() let through, and reads every payload to
/// its end.
std::vector<Buffer> take_payloads(UnpackedFrames frames, std::span<const std::byte> headers,
                                  std::size_t part_bytes, std::size_t most_bytes);

/// Small payloads, at least one, and a batch of them as a sender makes it.
std::vector<Buffer> fill_batch(Input& input, FrameBatch& batch);

/// Fails unless the payloads are the same.
void check_equal(std::span<const Buffer> sent, std::span<const Buffer> came);

}  // namespace stretto::fuzz
