// SPDX-License-Identifier: Apache-2.0
// BroadcastRound: whom the workers mean that have come to a part's broadcast, and whether it comes
// to a value. Knows no bytes.
#pragma once

#include <fmt/core.h>

#include <optional>
#include <utility>

#include "server/aggregation/contribution.h"
#include "server/aggregation/contributors.h"
#include "stretto/status.h"

namespace stretto {

/// All name the same root, and it alone brings bytes: so a round that is whole has its bytes once.
/// Where workers may be lost they may name one that is, or two by the ranks before and after: such
/// a round is whole when all have come, and makes nothing. Thread: loop.
class BroadcastRound {
 public:
  /// Whether the share of the worker of this number may count. `elastic`: workers may be lost.
  Status check(const Share& share, Rank rank, const Contributors& group, bool elastic) const {
    if ((!elastic && !group.has_rank(share.root)) || share.absent != (rank != share.root)) {
      return {Code::kMalformed,
              fmt::format("worker {} broadcasts {} bytes, with root {} of {} workers", rank,
                          share.bytes.size(), share.root, group.size())};
    }
    if (!root_ || root_->rank == share.root || root_->view != share.root_view) return {};
    return {Code::kMismatch,
            fmt::format("worker {} broadcasts from root {}, worker {} from root {}", root_->caller,
                        root_->rank, rank, share.root)};
  }
  void note(const Share& share, Rank rank) {
    if (!root_) root_ = Root{.caller = rank, .rank = share.root, .view = share.root_view};
    if (root_->rank != share.root) root_->in_doubt = true;
  }
  bool open() const { return root_.has_value(); }
  bool names(Rank rank) const { return root_ && root_->rank == rank; }

  /// All have come, and somebody has brought bytes or nobody. True if these are the value.
  bool end(bool any_bytes) {
    const Root root = *std::exchange(root_, {});
    const bool is_made = any_bytes && !root.in_doubt;
    made_nothing_ = !is_made;
    return is_made;
  }
  /// Nobody is left of those who had come.
  void drop() { root_.reset(); }
  /// One has come to nothing, which nobody has been told of.
  bool has_made_nothing() const { return made_nothing_; }
  /// True once after that.
  bool take_made_nothing() { return std::exchange(made_nothing_, false); }

 private:
  struct Root {
    Rank caller = 0;         // Whoever came first
    std::uint32_t rank = 0;  // named it,
    std::uint32_t view = 0;  // by the ranks of that epoch.
    bool in_doubt = false;   // Others named another one, by other ranks.
  };
  std::optional<Root> root_;
  bool made_nothing_ = false;
};

}  // namespace stretto
