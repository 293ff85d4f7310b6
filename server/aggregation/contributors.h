// SPDX-License-Identifier: Apache-2.0
// Contributors: the workers that contribute to the rounds of a part, by node id. Their ranks are
// shown to users, and are the order of addition where that is fixed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stretto/types.h"

namespace stretto {

struct Contributor {
  NodeId node = 0;
  Rank rank = 0;
  friend bool operator==(const Contributor&, const Contributor&) = default;
};

/// Never changes. Thread: any.
class Contributors {
 public:
  /// In any order; each node and each rank once.
  explicit Contributors(std::vector<Contributor> all);

  std::uint32_t size() const { return static_cast<std::uint32_t>(by_rank_.size()); }
  /// In the order of ranks.
  const Contributor& at(std::uint32_t index) const { return by_rank_[index]; }
  /// The index for at(); none for a worker that does not contribute.
  std::optional<std::uint32_t> find(NodeId node) const;
  bool contains(NodeId node) const { return find(node).has_value(); }
  bool has_rank(std::uint64_t rank) const;
  const std::vector<Contributor>& all() const { return by_rank_; }
  /// The ranks of those nodes that contribute.
  std::vector<Rank> ranks_of(const std::vector<NodeId>& nodes) const;

 private:
  std::vector<Contributor> by_rank_;
  std::vector<std::pair<NodeId, std::uint32_t>> by_node_;
};

/// A worker's name in messages: "worker 3", or its node id if it does not contribute.
std::string name_in(const Contributors& group, NodeId worker);

/// Shared by all parts, and by the updates that they make.
using ContributorGroup = std::shared_ptr<const Contributors>;
ContributorGroup make_group(std::vector<Contributor> all);
/// The same group if none of `gone` is in it.
ContributorGroup without(const ContributorGroup& group, const std::set<NodeId>& gone);

/// The sources of an update: a whole group, or one worker. Thread: any.
class Sources {
 public:
  Sources() = default;  ///< None.
  explicit Sources(ContributorGroup group) : group_(std::move(group)) {}
  explicit Sources(NodeId alone) : alone_(alone) {}

  std::uint32_t size() const { return group_ != nullptr ? group_->size() : alone_ ? 1 : 0; }
  bool contains(NodeId node) const {
    return group_ != nullptr ? group_->contains(node) : node != 0 && node == alone_;
  }
  std::vector<NodeId> nodes() const;

 private:
  ContributorGroup group_;
  NodeId alone_ = 0;
};

}  // namespace stretto
