// SPDX-License-Identifier: Apache-2.0
// HostPart: one part of a tensor whose members are all on one host, at one member. Each
// contribution goes to all other members, which read it where it lies; each makes the value itself,
// so nothing comes back. All add in the same order, and get the same bits. It sends nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collective/tree.h"
#include "common/memory/buffer.h"
#include "ops/sum.h"
#include "van/wire/frame_views.h"

namespace stretto {

/// Whether a tensor of so many bytes, or a call's, goes to all members, which are on these
/// machines. All members answer alike.
bool goes_to_all(const std::vector<std::uint32_t>& machines, std::uint64_t bytes);

/// The value of these contributions, in their order; of none, zeros. The target overlaps none of
/// them. An average is over `contributors`. Thread: any.
void make_value_of_all(ops::ReduceOp op, Dtype dtype, std::span<std::byte> target,
                       const std::vector<std::span<const std::byte>>& contributions,
                       std::uint32_t contributors);

/// Thread: loop.
struct HostPart {
  using Place = collective::Place;
  /// What another member gave to a round.
  struct Given {
    Place from = collective::kNobody;
    wire::ReduceFrame frame;
    Buffer payload;
  };
  enum class Verdict : std::uint8_t { kNow, kNext, kWrong };

  /// Of a frame for this round: it is the open one; the next one, which a faster member has begun;
  /// or none that can be.
  Verdict admit(std::uint64_t round) const;
  /// The open round has come to its end: all of so many members have given.
  bool is_whole(std::size_t members) const {
    return begun == finished + 1 && here.size() + 1 == members;
  }
  /// All that has been given to the open round, this member's contribution too, in the order of
  /// sums: the first member's, then the others' by their places.
  std::vector<std::span<const std::byte>> contributions(Place self) const;
  /// The open round is over.
  void next_round();
  /// Nothing is kept.
  void clear();

  Place first = 0;             ///< To whose contribution those of others are added.
  std::uint64_t begun = 0;     ///< Rounds that this member has contributed to,
  std::uint64_t finished = 0;  ///< and those whose value it has made.
  Buffer own = {};             ///< Its contribution to the open round, as the others read it.
  std::vector<Given> here = {};
  std::vector<Given> ahead = {};   ///< What came for the round after it.
  std::vector<Place> unsent = {};  ///< They do not know the tensor yet.
  bool queued = false;             ///< All have given, and the value is made next.
};

}  // namespace stretto
