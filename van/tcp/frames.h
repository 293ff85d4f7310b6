// SPDX-License-Identifier: Apache-2.0
// Frames as ZeroMQ's messages: a part of 128 header bytes, then a part of payload, which may be
// empty but is always there.
//
// Where the first part is several headers, the second holds the payloads of as many frames
// (batch.h).
//
// A message of one empty part is no frame. As the first from an end that connects it is a hello
// (ZMQ_PROBE_ROUTER, for libzmq); from the end that listens it is a goodbye. Anything else is
// malformed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "van/wire.h"

namespace stretto::tcp {

/// Smaller payloads travel with others (batch.h), and are copied out of the memory that they were
/// received into.
inline constexpr std::size_t kLeastTaken = 8192;

/// Frames of one message, at most, and bytes of its payloads with their lengths.
inline constexpr std::size_t kMostBatched = 256;
inline constexpr std::size_t kMostBatchBytes = 64 << 10;
inline constexpr std::size_t kMostBatchPart =
    kMostBatchBytes + kLeastTaken + kMostBatched * sizeof(std::uint32_t);

// Of the lengths at the start of a batch's second part.
inline constexpr std::size_t kLengthBytes = sizeof(std::uint32_t);
inline std::size_t length_in(std::span<const std::byte> payloads, std::size_t index) {
  std::uint32_t length = 0;
  std::memcpy(&length, payloads.data() + index * kLengthBytes, kLengthBytes);
  return length;
}

/// True if the two parts of a message are one frame, or a batch, with no payload larger than this.
bool fits(std::span<const std::byte> headers, std::span<const std::byte> payloads,
          std::size_t max_payload_bytes);

}  // namespace stretto::tcp
