// SPDX-License-Identifier: Apache-2.0
// Reassembly: reassembles frames from slices. A link's slices arrive in order, but an urgent
// frame's slices may arrive between those of others.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "common/memory/buffer.h"
#include "stretto/status.h"
#include "van/wire/header.h"

namespace stretto {

/// Allocates memory, otherwise pure. Thread: loop.
class Reassembly {
 public:
  struct Whole {
    wire::Header header;  ///< As of an unsliced frame.
    Buffer payload;       ///< Empty without memory, or if the landing was withdrawn.
  };
  /// Memory for the payload of a whole frame, or empty. Called again for each slice: if it is empty
  /// then, the payload is unwanted.
  using Landing = std::function<std::span<std::byte>(const wire::Header&)>;
  /// Memory for a payload without a landing; empty: the payload is dropped on arrival.
  using Allocate = std::function<Buffer(std::size_t)>;

  /// Adds a slice: the first of a frame, or a further one. Returns the frame if it is complete;
  /// kMalformed if the slice does not fit the previous ones.
  Result<std::optional<Whole>> take(const wire::Header& header, const Buffer& slice,
                                    const Landing& landing, const Allocate& allocate);

  std::size_t begun() const { return begun_.size(); }
  /// Bytes of allocated memory in partial frames.
  std::uint64_t held_bytes() const { return held_bytes_; }

 private:
  struct Begun {
    wire::Header header;
    Buffer own;  // Empty if it lands elsewhere.
    bool lands = false;
    bool unwanted = false;
    std::uint32_t received = 0;
  };

  Begun end(std::map<std::uint64_t, Begun>::iterator begun);
  Status begin(const wire::Header& header, const Landing& landing, const Allocate& allocate);

  std::map<std::uint64_t, Begun> begun_;  // By the sequence of the first slice.
  std::uint64_t held_bytes_ = 0;
};

}  // namespace stretto
