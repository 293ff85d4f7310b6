// SPDX-License-Identifier: Apache-2.0
// ServerDrains: draining servers of a job with replication. A standby leaves at once, a primary
// once its standby is in sync. If both servers of a rank drain, the second stays until it has
// another standby. Pure: views go in.
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

  /// This member drains; follow() returns the answer.
  void ask(const Member& member, std::uint32_t asker);
  /// The servers that may leave now. `awaited`: the member has yet to re-register. The previous
  /// scheduler may have let it leave, so the other server of its rank has to stay.
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
  std::set<NodeId> let_go_;  // Members that have been answered.
};

}  // namespace stretto
