// SPDX-License-Identifier: Apache-2.0
// Reassembly: frames that come in slices, until they are whole. A link's slices come in order, but
// those of an urgent frame may come between those of others.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "common/memory/buffer.h"
#include "stretto/status.h"
#include "van/wire/header.h"

namespace stretto {

/// Thread: loop. Pure, but for memory.
class Reassembly {
 public:
  struct Whole {
    wire::Header header;  ///< As if it had come at once.
    Buffer payload;       ///< Empty if there was no memory, or the place was taken back meanwhile.
  };
  /// Where the payload of a whole frame should land, or empty. Asked again at every slice: if it
  /// is empty then, nobody wants the payload any more.
  using Landing = std::function<std::span<std::byte>(const wire::Header&)>;
  /// Memory for a payload that lands nowhere else; empty: it is dropped as it comes.
  using Allocate = std::function<Buffer(std::size_t)>;

  /// A slice: the first of a frame, or more of one. The frame, if it is whole now; kMalformed if
  /// the slice does not fit what came before.
  Result<std::optional<Whole>> take(const wire::Header& header, const Buffer& slice,
                                    const Landing& landing, const Allocate& allocate);

  std::size_t begun() const { return begun_.size(); }
  /// Bytes of allocated memory that begun frames hold.
  std::uint64_t held_bytes() const { return held_bytes_; }

 private:
  struct Begun {
    wire::Header header;
    Buffer own;  // Ours; empty if it lands elsewhere.
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
