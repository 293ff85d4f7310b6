// SPDX-License-Identifier: Apache-2.0
// What can happen to a job's membership, and what the machine that decides orders in return. Plain
// values, so that they can be written to a journal and replayed.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/cut.h"
#include "core/roster.h"
#include "stretto/status.h"

namespace stretto {

// ---- events

/// Somebody asks to be a member, and has shown the job's token.
struct Join {
  Role role = Role::kWorker;
  std::int64_t rank = -1;  ///< -1: any.
  std::uint32_t shard = 0;
  std::uint32_t shards = 0;   ///< Of a server, as it was told;
  std::uint32_t workers = 0;  ///< and of the job, 0 if it does not know,
  std::uint32_t servers = 0;
  std::string host = {};
  std::string address = {};
  std::uint64_t round = 1;    ///< That nobody has begun.
  std::uint64_t machine = 0;  ///< Where it runs; 0: it does not say.
  NodeId former = 0;  ///< Who it was before the job lost it; 0: it comes for the first time.
};
/// A member is done, and says so.
struct Left {
  NodeId node = 0;
  std::uint64_t round = 1;  ///< That nobody has begun.
};
/// The link to a member has ended.
struct Disconnected {
  NodeId node = 0;
  std::string cause = {};
  std::uint64_t round = 1;
};
/// A member has failed, as it says itself or as its silence tells; its link may still be there.
struct Lost {
  NodeId node = 0;
  std::string cause = {};
  std::uint64_t round = 1;
  bool replacement = false;  ///< The process that was to join in place of this awaited server.
};
/// A worker that is in answers a question, or a newcomer says how far it is: control::AtStep.
struct StepReport {
  NodeId node = 0;
  std::uint64_t question = 0;
  std::uint64_t step = 0;
};
/// Slots with all that lies in them are at another shard now.
struct Moved {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  NodeId to = 0;
};
/// A member has to go, and will be gone by then.
struct DrainNotice {
  NodeId node = 0;
  Time deadline = {};
  std::uint64_t round = 1;
};
/// A member reports that its link to another one broke.
struct Suspicion {
  NodeId reporter = 0;
  NodeId subject = 0;
  std::string cause = {};
};
/// A member has shown a sign of life.
struct Alive {
  NodeId node = 0;
};
/// A tensor needs slots.
struct NewTensor {
  Cut cut;
  std::string kept = {};  ///< Its name, if servers keep more of it than the sum of its last round.
};
/// A server says that this one, which stands by for it, has all that it has.
struct StandbyCaughtUp {
  NodeId server = 0;
  NodeId standby = 0;
};
/// Somebody from outside, or the program itself, ends the job.
struct Stop {
  Status why = {};
};
/// All members are to get a view, though nothing has changed: what is told with it has.
struct Republish {};
/// All that came together has been told: what has changed may be published.
struct EndOfTurn {};
/// Time has passed.
struct Tick {
  /// A launcher has started all members that have yet to join, and acts when their processes end:
  /// a job that comes together waits as long as they run.
  bool attended = false;
};

using ViewEvent =
    std::variant<Join, Left, Disconnected, Lost, StepReport, Moved, DrainNotice, Suspicion, Alive,
                 NewTensor, StandbyCaughtUp, Stop, Republish, EndOfTurn, Tick>;

// ---- orders

/// To who asked: you are this one.
struct Admit {
  Member member;
};
/// To who asked: no.
struct Refuse {
  Status why;
};
/// To who asked: not now, as there are as many as there may be; one of them may be lost already.
struct Defer {
  Status why;
};
/// To all members that have not left: there is a new view. It changes these members; all, if it is
/// the first.
struct Publish {
  struct Loss {
    NodeId node = 0;
    std::string cause = {};
  };
  std::uint32_t since = 0;
  std::vector<Member> changed = {};
  std::vector<Loss> lost = {};     ///< Of these, who was lost,
  std::vector<NodeId> fresh = {};  ///< and to whom this view is the first.
};
/// To all who contribute: which step is the last that you may have begun?
struct QuerySteps {
  std::uint64_t question = 0;
};
/// The new tensor's parts lie from this slot on.
struct SlotsAssigned {
  std::uint32_t first_slot = 0;
};
/// To all: the workers are done; leave.
struct DismissMembers {};
/// To all: the job has failed, and why.
struct EndJob {
  Status why;
};
/// Nobody is left to be told.
struct CloseJob {};

using ViewOrder = std::variant<Admit, Refuse, Defer, Publish, QuerySteps, SlotsAssigned,
                               DismissMembers, EndJob, CloseJob>;

}  // namespace stretto
