// SPDX-License-Identifier: Apache-2.0
// ServerMigrations: places of servers that are to be handed over to processes that are started for
// that, in a job in which nobody stands by otherwise: who is to be started, what has become of it,
// and what those who asked are to hear. Pure: views and the time go in.
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

/// To who asked, by its number: server `server` has the place now, or why nobody else has it.
struct MigrationResult {
  std::uint32_t asker = 0;
  Rank server = 0;
  Status why = {};
  Rank from = 0;       ///< Who had it.
  bool guest = false;  ///< `server` was started by who asked.
};

/// Thread: loop.
class ServerMigrations {
 public:
  /// `told`: a launcher tells of each process of the job that has ended.
  ServerMigrations(const Config& config, bool told)
      : config_(config), told_(told), guests_(config) {}

  /// A server that somebody starts elsewhere comes as `server`, to have the place of `from`.
  struct JoinTicket {
    Rank server = 0;
    Rank from = 0;
  };

  /// The place of this server, or of the one that has the place of this number, is asked for; it
  /// may be so by several. An error if it cannot be handed over; else an answer follows.
  Status begin(Rank server, const std::string& host, std::uint32_t asker, const View& view,
               Time now);
  /// Places are to be others', as places_for() says; answers follow. An error if not all can be.
  /// Who is known already is not invited again.
  Result<std::vector<JoinTicket>> invite(const PlacementRequest& wish, std::uint32_t asker,
                                         const View& view, Time now);
  /// The process of this number could not be started.
  void refuse(const StartRefusal& refusal);
  /// The process of this number has ended.
  void note_end(Rank server);
  /// The same, as this one says: false if it has not been told that number.
  bool note_end(Rank server, std::uint32_t asker);
  /// A server of this number has been given up, and is not to come.
  bool is_given_up(Rank server, Time now) const { return guests_.is_given_up(server, now); }
  /// Who was to have a place, or anybody else, is lost to the job.
  void note_loss(NodeId node, const std::string& cause);
  /// This one hears no more answers.
  void forget(std::uint32_t asker);
  /// What is to be answered now.
  std::vector<MigrationResult> follow(const View& view, Time now);
  /// Processes that are to be started, in order, since the beginning.
  const std::vector<MigrationOrder>& orders() const { return orders_; }
  Time next_due() const;

 private:
  struct Move {
    NodeId from = 0;
    MigrationOrder order;
    std::vector<std::uint32_t> askers = {};
    std::uint32_t tries = 0;
    Time deadline = {};       // Of who has not come.
    NodeId comes = 0;         // It has.
    bool whole = false;       // With all of its shards.
    bool ended = false;       // Its process has.
    bool guest = false;       // It is started by who asked,
    std::uint32_t owner = 0;  // which is this one, if it has asked this scheduler.
    bool anew = false;        // The launcher's turn, once nobody stands by.
    std::string loss = {};    // Why who had come was lost, if the job has lost it.
    Status why = {};          // It cannot be.
  };

  Status refusal(bool guest = false) const;
  /// One that a scheduler before this one has invited.
  Result<std::vector<JoinTicket>> go_on_as(Rank number, const PlacementRequest& wish,
                                           std::uint32_t asker, const View& view, Time now);
  void start(Move& move, Time now);
  /// Another stands by than who is awaited: one that was started before the launcher's, and of whom
  /// a scheduler before this one knew.
  void adopt(Move& move, const View& view, Time now) const;
  /// Who joins has failed, and somebody else wants the place to be another's.
  static void leave_to_launcher(Move& move, const Config& config, Time now);
  /// True once it is decided.
  bool look(Move& move, const View& view, Time now);

  const Config& config_;
  const bool told_;
  std::map<Rank, Move> moves_;  // By place.
  std::vector<MigrationOrder> orders_;
  ExternalServerIds guests_;
  std::vector<MigrationResult> known_;  // Of what was decided before it was asked for.
};

}  // namespace stretto
