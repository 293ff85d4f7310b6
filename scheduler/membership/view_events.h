// SPDX-License-Identifier: Apache-2.0
// Events of a job's membership, and the orders that the state machine returns. Plain values, so
// that they can be written to a journal and replayed.
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

/// A process asks to join, and has presented the job's token.
struct Join {
  Role role = Role::kWorker;
  std::int64_t rank = -1;  ///< -1: any.
  std::uint32_t shard = 0;
  std::uint32_t shards = 0;   ///< Of a server, from its settings;
  std::uint32_t workers = 0;  ///< and of the job, 0 if unknown,
  std::uint32_t servers = 0;
  std::string host = {};
  std::string address = {};
  std::uint64_t round = 1;    ///< The first round that no worker has begun.
  std::uint64_t machine = 0;  ///< Its machine; 0: unknown.
  NodeId former = 0;  ///< Its node id before it was expelled; 0: it joins for the first time.
};
/// A member is done, and leaves.
struct Left {
  NodeId node = 0;
  std::uint64_t round = 1;  ///< The first round that no worker has begun.
};
/// The link to a member has ended.
struct Disconnected {
  NodeId node = 0;
  std::string cause = {};
  std::uint64_t round = 1;
};
/// A member has failed, by its own report or by its silence; its link may still be open.
struct Lost {
  NodeId node = 0;
  std::string cause = {};
  std::uint64_t round = 1;
  bool replacement = false;  ///< The process started to replace this awaited server has failed.
};
/// A worker answers a question, or a joining worker reports its progress: control::AtStep.
struct StepReport {
  NodeId node = 0;
  std::uint64_t question = 0;
  std::uint64_t step = 0;
};
/// Slots with all their contents have moved to another shard.
struct Moved {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  NodeId to = 0;
};
/// A preemption notice: the member will be gone by the deadline.
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
/// A server reports that its standby is in sync.
struct StandbyCaughtUp {
  NodeId server = 0;
  NodeId standby = 0;
};
/// An operator, or the program itself, ends the job.
struct Stop {
  Status why = {};
};
/// All members get a view, though no member changed: the data sent with it did.
struct Republish {};
/// All simultaneous events have been passed in: the changes may be published.
struct EndOfTurn {};
/// Time has passed.
struct Tick {
  /// A launcher has started all missing members, and acts when their processes exit: a forming job
  /// waits as long as they run.
  bool attended = false;
};

using ViewEvent =
    std::variant<Join, Left, Disconnected, Lost, StepReport, Moved, DrainNotice, Suspicion, Alive,
                 NewTensor, StandbyCaughtUp, Stop, Republish, EndOfTurn, Tick>;

// ---- orders

/// To the joining process: it is this member.
struct Admit {
  Member member;
};
/// To the joining process: it is rejected.
struct Refuse {
  Status why;
};
/// To the joining process: the job is full; retry, as a member may have failed undetected.
struct Defer {
  Status why;
};
/// To all members that have not left: a new view, which changes these members; all, if it is the
/// first.
struct Publish {
  struct Loss {
    NodeId node = 0;
    std::string cause = {};
  };
  std::uint32_t since = 0;
  std::vector<Member> changed = {};
  std::vector<Loss> lost = {};     ///< Which of these have failed,
  std::vector<NodeId> fresh = {};  ///< and for which this view is the first.
};
/// To all contributors: asks for the last step that they may have begun.
struct QuerySteps {
  std::uint64_t question = 0;
};
/// The first slot of the new tensor's parts.
struct SlotsAssigned {
  std::uint32_t first_slot = 0;
};
/// To all: the workers are done; leave.
struct DismissMembers {};
/// To all: the job has failed, with the reason.
struct EndJob {
  Status why;
};
/// No member is left to be told.
struct CloseJob {};

using ViewOrder = std::variant<Admit, Refuse, Defer, Publish, QuerySteps, SlotsAssigned,
                               DismissMembers, EndJob, CloseJob>;

}  // namespace stretto
