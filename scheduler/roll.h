// SPDX-License-Identifier: Apache-2.0
// Roll: who has come, who is missing, and whether somebody at the door may come in. Pure.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "common/config.h"
#include "van/messages.h"

namespace stretto {

/// Thread: loop.
class Roll {
 public:
  explicit Roll(const Config& config) : config_(config) {}

  /// Admits or refuses; every refusal names what was wanted and what was found. Node ids are never
  /// given twice, so an id is an incarnation.
  Result<Member> admit(const wire::Hello& hello);
  /// Forgets a node that went away before the job began; its place is free again.
  void remove(NodeId node);

  bool complete() const { return missing_count() == 0; }
  /// "worker 2, server 0 shard 1", at most a few by name.
  std::string missing() const;
  std::vector<Member> members() const;

 private:
  using Place = std::tuple<Role, Rank, std::uint32_t>;  // Role, rank, shard.
  struct Entry {
    Member member;
    std::string host;
  };

  Status check(const wire::Hello& hello) const;
  Result<Rank> place(const wire::Hello& hello, Role role) const;
  std::size_t missing_count() const;

  const Config& config_;
  std::map<Place, Entry> entries_;
  NodeId next_node_ = 2;  // 1 is the scheduler.
};

}  // namespace stretto
