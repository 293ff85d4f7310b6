// SPDX-License-Identifier: Apache-2.0
// ExternalServerTracker: what has become of servers that are to have places of a job, what follows,
// and what whoever has typed the command reads of it. News and ends go in, what is to be done comes
// out. Pure.
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
    std::string settings;  ///< As they were told.
  };
  struct Reaction {
    std::vector<Start> starts = {};
    std::vector<Rank> kills = {};  ///< They have no place, and are not wanted any more.
    std::vector<std::string> notes = {};
  };

  /// So many places; `places`: these, each of which is asked for alone.
  explicit ExternalServerTracker(std::uint32_t count, const std::vector<Rank>& places = {});

  Reaction take(const observe::ServerJoinStatus& news);
  /// It does not get the place. `runs`: it has been started.
  Reaction refuse(Rank server, Status why, bool runs = true);
  /// `said`: its last words, if it has failed with some.
  Reaction end(Rank server, const Exit& exit, const std::optional<ErrorLine>& said = {});
  /// The scheduler cannot be asked any more, and has said nothing of some wishes.
  void give_up(Status why);
  /// They have no place alone, but stand by for others.
  void stand_by(bool they_do) { stand_by_ = they_do; }
  /// All are to end.
  void interrupt() { interrupted_ = true; }

  /// Some place is still to be decided.
  bool waits() const;
  /// One that is not wanted has yet to end, and the scheduler to hear that.
  bool ends() const;
  /// What the scheduler is to be asked, whichever it is: for those which run and do not have their
  /// places yet, and whatever none has answered.
  std::vector<observe::ServerJoinRequest> wishes() const;
  std::vector<Rank> running() const;
  bool over() const { return !waits() && running().empty(); }
  /// The first thing that went wrong.
  const Status& status() const { return status_; }

 private:
  struct Guest {
    Rank from = 0;
    bool runs = true;
    bool is_in = false;
    bool unwanted = false;
  };

  void fail(Status why, Rank server);

  std::deque<observe::ServerJoinRequest> unanswered_;  // In the order in which they are answered.
  bool interrupted_ = false;
  bool stand_by_ = false;
  std::map<Rank, Guest> guests_;  // By number.
  Status status_;
};

}  // namespace stretto::launch
