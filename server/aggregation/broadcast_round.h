// SPDX-License-Identifier: Apache-2.0
// BroadcastRound: checks that workers in a part's broadcast agree on the root, and whether it
// results in a value. Knows no bytes.
#pragma once

#include <fmt/core.h>

#include <optional>
#include <utility>

#include "server/aggregation/contribution.h"
#include "server/aggregation/contributors.h"
#include "stretto/status.h"

namespace stretto {

/// All workers name the same root, and only the root brings bytes: so a complete round has its
/// bytes once. In elastic jobs workers may name a failed root, or different roots by the ranks of
/// different epochs. Such a round completes without a value. Thread: loop.
class BroadcastRound {
 public:
  /// Whether the contribution of worker `rank` may count. `elastic`: workers may fail.
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

  /// Every worker has come; `any_bytes`: a root brought bytes. True if these are the value.
  bool end(bool any_bytes) {
    const Root root = *std::exchange(root_, {});
    const bool is_made = any_bytes && !root.in_doubt;
    made_nothing_ = !is_made;
    return is_made;
  }
  /// All workers that had come have been removed.
  void drop() { root_.reset(); }
  /// A broadcast ended without a value, and no worker has been notified yet.
  bool has_made_nothing() const { return made_nothing_; }
  /// True once after that.
  bool take_made_nothing() { return std::exchange(made_nothing_, false); }

 private:
  struct Root {
    Rank caller = 0;         // The first worker to come
    std::uint32_t rank = 0;  // named it,
    std::uint32_t view = 0;  // by the ranks of that epoch.
    bool in_doubt = false;   // Others named another root, by other ranks.
  };
  std::optional<Root> root_;
  bool made_nothing_ = false;
};

}  // namespace stretto
