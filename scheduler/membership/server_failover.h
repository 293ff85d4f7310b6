// SPDX-License-Identifier: Apache-2.0
// ServerFailover: which server serves which rank when servers fail or join. A standby is promoted
// at once. Without standbys a replacement takes the rank if all lost state can be recovered. Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/membership/admission.h"
#include "scheduler/membership/server_restarts.h"
#include "scheduler/membership/slot_table.h"
#include "scheduler/membership/standbys.h"

namespace stretto {

/// The next view, and its changes.
struct ViewDraft {
  View& next;
  SlotTable& slots;
  Admission& admission;
  std::set<NodeId>& changed;
  std::map<NodeId, std::string>& lost;
  std::set<NodeId>& linked;  ///< Nodes whose links have not ended yet.
};

/// Thread: loop.
class ServerFailover {
 public:
  explicit ServerFailover(const Config& config) : returns_(config), standbys_(config) {}

  /// Standbys::placed.
  Member placed(const Member& member) const { return standbys_.placed(member); }
  /// Servers keep more of this tensor than the sum of its last round.
  void note_kept(const std::string& tensor) { returns_.note_kept(tensor); }
  /// A server reports that its standby is in sync. True: the standby's process was promoted, as it
  /// joined for that and all of its shards are in sync.
  bool hear(const StandbyCaughtUp& caught, const ViewDraft& draft, View& published);

  /// A server that joins.
  struct Entry {
    Result<Member> member;
    NodeId instead_of = 0;  ///< The failed server it replaces; 0: none.
  };
  /// The server takes the rank of a failed server, with its slots and no other state, or becomes
  /// the standby of the rank's primary. Nothing if there is no such rank.
  std::optional<Entry> admit(const Join& join, const ViewDraft& draft);

  enum class Loss {
    kEnds,      ///< The job cannot go on without it: refusal() has the reason.
    kAwaited,   ///< A replacement is awaited.
    kReplaced,  ///< Its standby was promoted, or it was a standby.
  };
  /// A member server has failed.
  Loss lose(const Member& server, const std::string& cause, Time now, const ViewDraft& draft);
  /// The process started to replace this awaited server has exited before it joined. Waits for
  /// another one unless the restarts are used up; no effect if the member is not awaited. Errors:
  /// ServerLost; the job ends.
  Status lose_replacement(const Member& away, const std::string& cause, Time now);
  /// Why the server cannot be replaced, to append to the reason of the job's end.
  std::string refusal(const Member& lost, const View& view) const;
  /// The job goes on at once without this server: it is a standby, or its standby is promoted.
  bool may_lose(const Member& server, const View& view) const {
    return server.standby || standbys_.heir(server, view) != nullptr;
  }
  /// A replacement for this member could join.
  bool may_return(const Member& member) const {
    return member.role == Role::kServer && !member.standby && !returns_.refusal();
  }
  /// An error if a replacement has not joined in time.
  Status overdue(Time now) const;
  Time next_due() const { return returns_.next_due(); }

 private:
  static void hand_over(const Member& from, const Member& to, const ViewDraft& draft);
  void hand_over_all(const std::vector<Member>& shards, const ViewDraft& draft) const;
  static void remove(const Member& server, const ViewDraft& draft);
  bool go_on_without(const Member& server, const std::string& cause, const ViewDraft& draft) const;

  ServerRestarts returns_;
  Standbys standbys_;
};

}  // namespace stretto
