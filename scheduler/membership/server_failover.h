// SPDX-License-Identifier: Apache-2.0
// ServerFailover: who has which place among the servers when one is lost, or comes: one that stands
// by has it at once, or another that comes in time, where all that was there can be made again.
// Pure.
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

/// The next view, and what of it is news.
struct ViewDraft {
  View& next;
  SlotTable& slots;
  Admission& admission;
  std::set<NodeId>& changed;
  std::map<NodeId, std::string>& lost;
  std::set<NodeId>& linked;  ///< Whose links' ends are waited for.
};

/// Thread: loop.
class ServerFailover {
 public:
  explicit ServerFailover(const Config& config) : returns_(config), standbys_(config) {}

  /// Standbys::placed.
  Member placed(const Member& member) const { return standbys_.placed(member); }
  /// There is a tensor of which servers keep more than the sum of its last round.
  void note_kept(const std::string& tensor) { returns_.note_kept(tensor); }
  /// A server says that this one, which stands by for it, has all. True: its process has the place
  /// now, as it came for that, and all of its shards have all.
  bool hear(const StandbyCaughtUp& caught, const ViewDraft& draft, View& published);

  /// Somebody who comes.
  struct Entry {
    Result<Member> member;
    NodeId instead_of = 0;  ///< Who had the place, and has not been in since.
  };
  /// Who asks to join has the place of who was lost: with its slots, and nothing else of it; or it
  /// stands by for who has had that place since. Nothing if there is no such place.
  std::optional<Entry> admit(const Join& join, const ViewDraft& draft);

  enum class Loss {
    kEnds,      ///< The job cannot go on without it: refusal() says why.
    kAwaited,   ///< Another is awaited in its place.
    kReplaced,  ///< Another has it, or it stood by.
  };
  /// A server that is in is lost.
  Loss lose(const Member& server, const std::string& cause, Time now, const ViewDraft& draft);
  /// The process that was started in the place of this awaited server has ended before it joined.
  /// Another is awaited, unless no more may be. Does nothing for a member that is not awaited.
  /// Errors: ServerLost, and then the job ends.
  Status lose_replacement(const Member& away, const std::string& cause, Time now);
  /// As an addition to why the job ends.
  std::string refusal(const Member& lost, const View& view) const;
  /// The job goes on at once without this server: it is a standby, or its standby takes its place.
  bool may_lose(const Member& server, const View& view) const {
    return server.standby || standbys_.heir(server, view) != nullptr;
  }
  /// Another could come in the place of this member.
  bool may_return(const Member& member) const {
    return member.role == Role::kServer && !member.standby && !returns_.refusal();
  }
  /// For whom nobody has come in time.
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
