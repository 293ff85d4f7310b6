// SPDX-License-Identifier: Apache-2.0
// Standbys: for a job with standby servers, which server is a standby, which can be promoted, and
// which ranks lack a standby. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "core/view.h"
#include "scheduler/membership/view_events.h"
#include "stretto/status.h"

namespace stretto {

/// Thread: any.
class Standbys {
 public:
  explicit Standbys(const Config& config) : config_(config) {}

  /// A member that joins while the job forms. Its rank, and whether it is a standby, follow from
  /// its number.
  Member placed(Member member) const;
  /// Standbys stay standbys until the job ends. False: each is promoted as soon as it is in sync.
  bool are_kept() const { return config_.job.replicated(); }
  /// The standby of this server, in sync or not; null: none.
  static const Member* of(const Member& server, const View& view);
  /// The number under which this server becomes the standby of a primary without one, in a running
  /// job. Nothing if there is no such rank, or the server asks for another number.
  std::optional<Rank> place_for(const Join& join, const View& view) const;
  /// Why the server is rejected when place_for() found nothing; nothing: other checks decide.
  std::optional<Status> turned_away(const Join& join) const;
  /// All shards of this server's process, which fails as a unit.
  static std::vector<Member> shards_of(const Member& server, const View& view);
  /// This server has failed: the standby to promote, of a process whose shards are all in sync.
  /// Null if there is none.
  const Member* heir(const Member& lost, const View& view) const;
  /// Why no standby is promoted, to append to the job's failure; empty without replication.
  std::string refusal(const Member& lost, const View& view) const;

 private:
  const Config& config_;
};

/// A server reports that `standby` is in sync: the primary itself, or the standby, as the primary
/// may have failed. Nothing if `teller` is neither.
std::optional<StandbyCaughtUp> caught_by(const Member& teller, NodeId standby, const View& view);

/// Describes the successor of a failed server.
std::string successor_of(const Member& lost, const View& view);

}  // namespace stretto
