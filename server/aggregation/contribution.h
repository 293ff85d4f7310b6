// SPDX-License-Identifier: Apache-2.0
// The data flow of a part: contributions come in, make updates, and values go out.
#pragma once

#include <cstdint>
#include <functional>

#include "common/memory/buffer.h"
#include "server/aggregation/contributors.h"
#include "stretto/tensor.h"
#include "van/wire/header.h"

namespace stretto {

/// One worker's contribution to a part's round. `bytes` is empty for receivers of a broadcast,
/// paused workers, and listeners. In a mean empty contributions count, except those of listeners.
struct Share {
  NodeId worker = 0;
  std::uint64_t round = 0;
  bool assign = false;
  bool absent = false;
  bool listens = false;         ///< It is absent, and does not count.
  std::uint32_t root = 0;       ///< Of a broadcast: the rank whose bytes it takes,
  std::uint32_t root_view = 0;  ///< and the epoch by whose ranks; 0 if they never change.
  Codec codec = Codec::kNone;   ///< Encoding of the bytes.
  Buffer bytes;
};

/// A change of a part to a version, with all information on its contributions that a keeper of the
/// part's values needs. The same updates in the same order make the same values, bit for bit.
struct Update {
  wire::Key key;
  std::uint64_t version = 0;    ///< The resulting version; each update adds one.
  Sources from;                 ///< The contributors,
  std::uint32_t listeners = 0;  ///< of which this many only listened.
  bool assign = false;          ///< The bytes are the value; else a sum, or a contribution.
  Buffer bytes;
};

/// Final bytes at a version; the Buffer is a lease.
struct Value {
  std::uint64_t version = 0;
  Buffer bytes;
  Codec codec = Codec::kNone;
  std::uint32_t contributors = 0;
  Sources from = {};  ///< The contributors; unknown for loaded values.
};

/// Allocates sums and values: memory that the transport sends without a copy.
using Allocate = std::function<Buffer(std::size_t)>;

/// A copy of the bytes in exclusive memory.
Buffer own_copy(const Buffer& bytes, const Allocate& allocate);
Buffer zeros(std::size_t bytes, const Allocate& allocate);

}  // namespace stretto
