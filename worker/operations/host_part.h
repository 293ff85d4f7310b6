// SPDX-License-Identifier: Apache-2.0
// HostPart: one part of a tensor whose members are all on one host, at one member. Each
// contribution goes to all peers, which read it in place; each member makes the value itself, so no
// value is returned. All add in the same order, and get the same bits. It sends nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collective/tree.h"
#include "common/memory/buffer.h"
#include "ops/sum.h"
#include "van/wire/frame_views.h"

namespace stretto {

/// Whether a tensor, or a call, of this size goes to all members, which are on these machines. All
/// members get the same answer.
bool goes_to_all(const std::vector<std::uint32_t>& machines, std::uint64_t bytes);

/// The value of these contributions, in their order; without any, zeros. The target overlaps none
/// of them. An average is over `contributors`. Thread: any.
void make_value_of_all(ops::ReduceOp op, Dtype dtype, std::span<std::byte> target,
                       const std::vector<std::span<const std::byte>>& contributions,
                       std::uint32_t contributors);

/// Thread: loop.
struct HostPart {
  using Place = collective::Place;
  /// A peer's contribution to a round.
  struct Given {
    Place from = collective::kNobody;
    wire::ReduceFrame frame;
    Buffer payload;
  };
  enum class Verdict : std::uint8_t { kNow, kNext, kWrong };

  /// Judges a frame of this round: kNow for the open round; kNext for the one after it, which a
  /// faster member has begun; kWrong for any other.
  Verdict admit(std::uint64_t round) const;
  /// True if the open round is complete: all `members` have contributed.
  bool is_whole(std::size_t members) const {
    return begun == finished + 1 && here.size() + 1 == members;
  }
  /// All contributions to the open round, this member's included, in the order of sums: the first
  /// member's, then the others' by their places.
  std::vector<std::span<const std::byte>> contributions(Place self) const;
  /// Ends the open round.
  void next_round();
  /// Drops everything.
  void clear();

  Place first = 0;             ///< The member whose contribution is first in sums.
  std::uint64_t begun = 0;     ///< Rounds that this member has contributed to.
  std::uint64_t finished = 0;  ///< Rounds whose value it has made.
  Buffer own = {};             ///< Its contribution to the open round, for peers.
  std::vector<Given> here = {};
  std::vector<Given> ahead = {};   ///< Contributions to the next round.
  std::vector<Place> unsent = {};  ///< Members that do not know the tensor yet.
  bool queued = false;             ///< All have contributed, and the value is made next.
};

}  // namespace stretto
