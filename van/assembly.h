// SPDX-License-Identifier: Apache-2.0
// Assembly: frames that come in slices, until they are whole. A link's slices come in order, but
// those of an urgent frame may come between those of others.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "common/buffer.h"
#include "stretto/status.h"
#include "van/wire.h"

namespace stretto {

/// Thread: loop. Pure, but for memory.
class Assembly {
 public:
  struct Whole {
    wire::Header header;  ///< As if it had come at once.
    Buffer payload;       ///< Empty if the place was taken back before all had come.
  };
  /// Where the payload of a whole frame should land, or empty. Asked again at every slice: if it
  /// is empty then, nobody wants the payload any more.
  using Landing = std::function<std::span<std::byte>(const wire::Header&)>;
  using Allocate = std::function<Buffer(std::size_t)>;

  /// A slice: the first of a frame, or more of one. The frame, if it is whole now; kMalformed if
  /// the slice does not fit what came before.
  Result<std::optional<Whole>> take(const wire::Header& header, const Buffer& slice,
                                    const Landing& landing, const Allocate& allocate);

  std::size_t begun() const { return begun_.size(); }

 private:
  struct Begun {
    wire::Header header;
    Buffer own;  // Ours; empty if it lands elsewhere.
    bool lands = false;
    bool unwanted = false;
    std::uint32_t received = 0;
  };

  Status begin(const wire::Header& header, const Landing& landing, const Allocate& allocate);

  std::map<std::uint64_t, Begun> begun_;  // By the sequence of the first slice.
};

}  // namespace stretto
