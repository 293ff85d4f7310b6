// SPDX-License-Identifier: Apache-2.0
// GroupCall: the arguments of a collective call on which the members of a group must agree. Every
// frame carries them, so that an error can name both sides of a mismatch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stretto/reduce_op.h"
#include "stretto/types.h"

namespace stretto {

/// Values of the wire format; they never change.
enum class CallKind : std::uint8_t {
  kBarrier = 1,
  kAllReduce = 2,
  kReduce = 3,
  kBroadcast = 4,
  kAllGather = 5,
  kGather = 6,
  kScatter = 7,
  kReduceScatter = 8,
  kAllToAll = 9,
  kSend = 10,  ///< Point to point: the sender and the receiver each make their half.
};
/// Whether the call reduces the contributions of all members to one value.
constexpr bool reduces(CallKind kind) {
  return kind == CallKind::kAllReduce || kind == CallKind::kReduce ||
         kind == CallKind::kReduceScatter;
}
/// "all_reduce" and so on; "unknown" for any other value.
std::string_view name_of(CallKind kind);

/// Largest number of members in a group.
inline constexpr std::uint32_t kMostGroupPlaces = 1024;

struct GroupCall {
  CallKind kind = CallKind::kBarrier;
  ReduceOp op = ReduceOp::kSum;
  Dtype dtype = Dtype::kU8;
  std::uint32_t root = 0;  ///< A member's index in the group; of a send, the sender's.
  /// Elements that each member gives and gets; of all_gather, gather, scatter and reduce_scatter
  /// those of one block, of all_to_all those of one pair. Less than 2^44.
  std::uint64_t elements = 0;

  std::uint64_t bytes() const { return elements * bytes_of(dtype); }
  /// All fields but the element type, in one number.
  std::uint64_t packed() const;
  static GroupCall unpack(std::uint64_t packed, Dtype dtype);
  /// "all_reduce(sum, f32[1000])", "broadcast(f32[10], root 2)".
  std::string describe() const;

  friend bool operator==(const GroupCall&, const GroupCall&) = default;
};

}  // namespace stretto
