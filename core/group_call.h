// SPDX-License-Identifier: Apache-2.0
// GroupCall: what the members of a group do together, in one call, as they must agree on it. Every
// frame of a call carries it, so that those who disagree are told of both.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stretto/reduce_op.h"
#include "stretto/types.h"

namespace stretto {

/// The numbers are the wire's; they never change.
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
  kSend = 10,  ///< Of a sender and a receiver, each of whom calls the half that is theirs.
};
/// Whether contributions of all are made into one.
constexpr bool reduces(CallKind kind) {
  return kind == CallKind::kAllReduce || kind == CallKind::kReduce ||
         kind == CallKind::kReduceScatter;
}
/// "all_reduce" and so on; "unknown" for another number.
std::string_view name_of(CallKind kind);

/// Of a group's members, at most.
inline constexpr std::uint32_t kMostGroupPlaces = 1024;

struct GroupCall {
  CallKind kind = CallKind::kBarrier;
  ReduceOp op = ReduceOp::kSum;
  Dtype dtype = Dtype::kU8;
  std::uint32_t root = 0;  ///< A member's number in the group; of a send, the sender's.
  /// What each member gives and gets; of all_gather, gather, scatter and reduce_scatter one block
  /// of it, of all_to_all one pair's. Less than 2^44.
  std::uint64_t elements = 0;

  std::uint64_t bytes() const { return elements * bytes_of(dtype); }
  /// All but the type of elements, in one number.
  std::uint64_t packed() const;
  static GroupCall unpack(std::uint64_t packed, Dtype dtype);
  /// "all_reduce(sum, f32[1000])", "broadcast(f32[10], root 2)".
  std::string describe() const;

  friend bool operator==(const GroupCall&, const GroupCall&) = default;
};

}  // namespace stretto
