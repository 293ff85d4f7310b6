// SPDX-License-Identifier: Apache-2.0
// ServerMigrations: server ranks that move to newly started processes, in a job without permanent
// standbys. It decides which processes are started, tracks them, and answers the requesters. Pure:
// the caller passes views and the current time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/config/config.h"
#include "common/launch_protocol/migration_lines.h"
#include "core/view.h"
#include "scheduler/migration/external_server_ids.h"
#include "scheduler/migration/placement.h"
#include "stretto/status.h"

namespace stretto {

/// To the requester: `server` has replaced `from`, or why the migration failed.
struct MigrationResult {
  std::uint32_t asker = 0;
  Rank server = 0;
  Status why = {};
  Rank from = 0;       ///< The previous primary.
  bool guest = false;  ///< The requester started `server`.
};

/// Thread: loop.
class ServerMigrations {
 public:
  /// `told`: a launcher reports the exit of each process of the job.
  ServerMigrations(const Config& config, bool told)
      : config_(config), told_(told), guests_(config) {}

  /// An external server joins as `server`, to replace `from`.
  struct JoinTicket {
    Rank server = 0;
    Rank from = 0;
  };

  /// Requests the replacement of this server or of the primary of this rank; several requesters
  /// may. An error if it cannot be replaced; else an answer follows.
  Status begin(Rank server, const std::string& host, std::uint32_t asker, const View& view,
               Time now);
  /// Requests external servers for the ranks of places_for(); answers follow. An error if not all
  /// ranks can be had. A server known to a previous scheduler is not invited again.
  Result<std::vector<JoinTicket>> invite(const PlacementRequest& wish, std::uint32_t asker,
                                         const View& view, Time now);
  /// The process of this number could not be started.
  void refuse(const StartRefusal& refusal);
  /// The process of this number has ended.
  void note_end(Rank server);
  /// Like note_end(server), from this requester: false if it has not been told that number.
  bool note_end(Rank server, std::uint32_t asker);
  /// A server of this number has been given up, and is rejected.
  bool is_given_up(Rank server, Time now) const { return guests_.is_given_up(server, now); }
  /// A member has failed: a replacement, or any other node.
  void note_loss(NodeId node, const std::string& cause);
  /// Stops answering this requester.
  void forget(std::uint32_t asker);
  /// Returns the answers that are due.
  std::vector<MigrationResult> follow(const View& view, Time now);
  /// Processes to start, in order, since the beginning of the job.
  const std::vector<MigrationOrder>& orders() const { return orders_; }
  Time next_due() const;

 private:
  struct Move {
    NodeId from = 0;
    MigrationOrder order;
    std::vector<std::uint32_t> askers = {};
    std::uint32_t tries = 0;
    Time deadline = {};       // For the new server to join.
    NodeId comes = 0;         // The new server's node; 0: not joined.
    bool whole = false;       // All of its shards have joined.
    bool ended = false;       // Its process has exited.
    bool guest = false;       // The requester starts it,
    std::uint32_t owner = 0;  // which is this one; 0: unknown to this scheduler.
    bool anew = false;        // Start the launcher's once no standby is left.
    std::string loss = {};    // Why the new server failed, if it has.
    Status why = {};          // Why the migration failed.
  };

  Status refusal(bool guest = false) const;
  /// Resumes an invitation of a previous scheduler.
  Result<std::vector<JoinTicket>> go_on_as(Rank number, const PlacementRequest& wish,
                                           std::uint32_t asker, const View& view, Time now);
  void start(Move& move, Time now);
  /// Replaces the awaited server by the current standby, which was started before the launcher's
  /// and which a previous scheduler knew.
  void adopt(Move& move, const View& view, Time now) const;
  /// The external server has failed, but other requesters still want the migration.
  static void leave_to_launcher(Move& move, const Config& config, Time now);
  /// True once the migration is decided.
  bool look(Move& move, const View& view, Time now);

  const Config& config_;
  const bool told_;
  std::map<Rank, Move> moves_;  // By server rank.
  std::vector<MigrationOrder> orders_;
  ExternalServerIds guests_;
  std::vector<MigrationResult> known_;  // Answers to requests that came after their decision.
};

}  // namespace stretto
