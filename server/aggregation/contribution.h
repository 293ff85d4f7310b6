// SPDX-License-Identifier: Apache-2.0
// What flows through a part: shares come in, updates are made of them, values go out.
#pragma once

#include <cstdint>
#include <functional>

#include "common/memory/buffer.h"
#include "server/aggregation/contributors.h"
#include "stretto/tensor.h"
#include "van/wire/header.h"

namespace stretto {

/// One worker's contribution to a part's round. `bytes` is empty for one that takes part without
/// any: the receivers of a broadcast, who sits out, and who listens. In a mean it counts all the
/// same, but for those who listen.
struct Share {
  NodeId worker = 0;
  std::uint64_t round = 0;
  bool assign = false;
  bool absent = false;
  bool listens = false;         ///< It is absent, and counted for nothing.
  std::uint32_t root = 0;       ///< Of a broadcast: the rank whose bytes it takes,
  std::uint32_t root_view = 0;  ///< and the epoch by whose ranks; 0 if they never change.
  Codec codec = Codec::kNone;   ///< What the bytes are encoded as.
  Buffer bytes;
};

/// What becomes of a part at a version: all that whoever keeps the part's values has to know of the
/// shares behind it. The same updates in the same order make the same values, bit for bit.
struct Update {
  wire::Key key;
  std::uint64_t version = 0;    ///< The one that it makes; versions of a part grow by one.
  Sources from;                 ///< Whose shares are in it,
  std::uint32_t listeners = 0;  ///< but for so many that only listened.
  bool assign = false;          ///< The bytes are the value; otherwise a sum of shares, or a share.
  Buffer bytes;
};

/// Finished bytes at a version; the Buffer is a lease.
struct Value {
  std::uint64_t version = 0;
  Buffer bytes;
  Codec codec = Codec::kNone;
  std::uint32_t contributors = 0;
  Sources from = {};  ///< The contributors, as far as they are known: not of what was loaded.
};

/// Where sums and values live: memory that the transport sends as it is.
using Allocate = std::function<Buffer(std::size_t)>;

/// A copy of the bytes in memory that is ours alone.
Buffer own_copy(const Buffer& bytes, const Allocate& allocate);
Buffer zeros(std::size_t bytes, const Allocate& allocate);

}  // namespace stretto
