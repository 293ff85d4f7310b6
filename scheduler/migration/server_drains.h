// SPDX-License-Identifier: Apache-2.0
// ServerDrains: servers that are to go, in a job whose servers have others that stand by for them:
// each once the other one of its place has all, or at once, if it stands by itself. Of two that are
// to go one stays until another has come. Pure: views go in.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "common/config/config.h"
#include "core/view.h"
#include "scheduler/migration/server_migrations.h"

namespace stretto {

/// Thread: loop.
class ServerDrains {
 public:
  explicit ServerDrains(const Config& config) : config_(config) {}

  /// This member is to go; answered by follow().
  void ask(const Member& member, std::uint32_t asker);
  /// Who may go now. Who is awaited has yet to come to this scheduler: the one before it may have
  /// let it go, so that the other one of its place has to stay.
  using Awaited = std::function<bool(NodeId)>;
  std::vector<MigrationResult> follow(const View& view, const Awaited& awaited = {});

 private:
  struct Farewell {
    Member member;
    std::uint32_t asker = 0;
  };

  bool may_go(const Member& member, const View& view, const Awaited& awaited) const;

  const Config& config_;
  std::vector<Farewell> asked_;
  std::set<NodeId> let_go_;  // They have their answer.
};

}  // namespace stretto
