// SPDX-License-Identifier: Apache-2.0
// ExternalServerTracker: states of the servers that join a job, resulting actions, and messages for
// the user of `stretto-launch join`. Input: scheduler replies and exits; output: actions. Pure.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stretto/status.h"
#include "stretto/types.h"
#include "tools/launch/supervision/evidence.h"
#include "tools/trace/observer_client.h"

namespace stretto::launch {

/// Thread: loop.
class ExternalServerTracker {
 public:
  struct Start {
    Rank server = 0;
    std::string settings;  ///< Settings that the scheduler has sent.
  };
  struct Reaction {
    std::vector<Start> starts = {};
    std::vector<Rank> kills = {};  ///< Servers that were rejected.
    std::vector<std::string> notes = {};
  };

  /// `count` servers; `places`: server ranks, each requested separately.
  explicit ExternalServerTracker(std::uint32_t count, const std::vector<Rank>& places = {});

  Reaction take(const observe::ServerJoinStatus& news);
  /// The scheduler rejects the server. `runs`: its process has started.
  Reaction refuse(Rank server, Status why, bool runs = true);
  /// `said`: the last error line of a failed server.
  Reaction end(Rank server, const Exit& exit, const std::optional<ErrorLine>& said = {});
  /// The scheduler cannot be reached any more and has left requests unanswered.
  void give_up(Status why);
  /// The servers join as standbys.
  void stand_by(bool they_do) { stand_by_ = they_do; }
  /// All servers must end.
  void interrupt() { interrupted_ = true; }

  /// Some server has no decision yet.
  bool waits() const;
  /// Some rejected server still runs, or its exit is not reported to the scheduler yet.
  bool ends() const;
  /// Requests for the scheduler, whichever incarnation: those without an answer, and those of
  /// running servers without a rank.
  std::vector<observe::ServerJoinRequest> wishes() const;
  std::vector<Rank> running() const;
  bool over() const { return !waits() && running().empty(); }
  /// The first error.
  const Status& status() const { return status_; }

 private:
  struct Guest {
    Rank from = 0;
    bool runs = true;
    bool is_in = false;
    bool unwanted = false;
  };

  void fail(Status why, Rank server);

  std::deque<observe::ServerJoinRequest> unanswered_;  // In the order of the answers.
  bool interrupted_ = false;
  bool stand_by_ = false;
  std::map<Rank, Guest> guests_;  // By member id.
  Status status_;
};

}  // namespace stretto::launch
