// SPDX-License-Identifier: Apache-2.0
// Control messages as the roles use them: plain types, one for each body of
// van/control/control.proto, which names sender and occasion. A decoded message is valid in itself
// (van/control/control_codec.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/config/config.h"
#include "common/input_account.h"
#include "core/roster.h"
#include "core/tensor_spec.h"
#include "core/view.h"
#include "observe/trace/trace.h"
#include "observe/user_metrics.h"
#include "stretto/status.h"
#include "stretto/types.h"
#include "van/control/control_move.h"

namespace stretto::control {

// ---- members

/// The first frame on every link, from the side that connected.
struct Hello {
  static constexpr std::size_t kMaxHostBytes = 256;  ///< A longer name is truncated.

  std::uint32_t protocol = 0;
  std::string token = {};
  Role role = Role::kWorker;
  std::int64_t rank = 0;      ///< -1: the scheduler chooses.
  std::uint32_t workers = 0;  ///< The sender's configuration of the job; 0: unknown.
  std::uint32_t servers = 0;
  NodeId node = 0;            ///< Assigned by the scheduler; 0 on the link to the scheduler.
  std::string address = {};   ///< Listening address; empty: a worker that accepts no connections.
  std::uint32_t shard = 0;    ///< Servers: this shard's index in its server,
  std::uint32_t shards = 0;   ///< of this many. Between workers: the link's index within the pair.
  std::string host = {};      ///< For messages: host name and process id.
  std::string version = {};   ///< Release, for messages.
  std::uint64_t machine = 0;  ///< The sender's machine (common/network/machine.h); 0: unknown.
  std::uint64_t session =
      0;  ///< Name of a session that can be resumed; 0: the session ends with its link.
  /// To a restarted scheduler, from a member: its job, and the last incarnation of the scheduler
  /// that it knows. 0: the sender joins.
  std::uint64_t job = 0;
  std::uint32_t life = 0;
  std::size_t padding = 0;  ///< Proves the path between members: kPathProofBytes.
};

/// Replaces a hello: this link will carry an existing session.
struct Resume {
  std::uint32_t protocol = 0;
  std::string token = {};
  std::uint64_t session = 0;   ///< Its name.
  std::uint32_t link = 0;      ///< Number of links of the session so far, including this one.
  std::uint64_t received = 0;  ///< Frames of the session that the sender has received.
  std::size_t padding = 0;     ///< As in a Hello.
};

/// The answer to a Resume.
struct Resumed {
  std::uint64_t received = 0;
  std::size_t padding = 0;  ///< As in the Resume.
};

/// The answer to an accepted hello.
struct Welcome {
  NodeId node = 0;  ///< The receiver's identity.
  Rank rank = 0;
  std::uint64_t job = 0;    ///< Unique to the job.
  std::uint32_t life = 0;   ///< The scheduler's incarnation; each restart increases it.
  bool stands_by = false;   ///< Sent by a standby: a second Welcome follows on promotion.
  std::size_t padding = 0;  ///< As in a Hello.
};

/// An error on one link or one tensor. After a fault with tensor 0 and no name the link ends.
struct Fault {
  Status why = {};  ///< Never ok.
  std::uint32_t tensor = 0;
  std::uint32_t part = 0;
  std::uint64_t round = 0;
  std::string name = {};  ///< Identifies the answered Declare.
};

/// A request to leave, its acceptance, or the end of the job.
struct Leave {};

/// Scheduler to all members: the job has failed. Node to scheduler: the sender fails the job.
struct Failure {
  Status why = {};  ///< Never ok.
};

/// To the scheduler: state of the sender's link to that node.
struct LinkReport {
  enum class State : std::uint8_t {
    kBroken,  ///< Broken, and not reconnected in time.
    kApart,   ///< Disconnected; the sender waits for a reconnect.
    kMended   ///< Reconnected: the peer that reconnected is alive.
  };
  static constexpr std::size_t kMaxCauseBytes = 1024;  ///< A longer text is truncated.

  NodeId node = 0;
  std::string cause = {};
  State state = State::kBroken;
};

// ---- tensors and rounds

/// To the scheduler: register this tensor.
struct Declare {
  TensorSpec spec = {};  ///< Canonical; if `flaw` is set, only the name is valid.
  Status flaw = {};      ///< Why the specification is invalid; the sender gets this error, by name.
};

struct Declared {
  std::uint32_t tensor = 0;
  std::uint32_t first_slot = 0;
  std::string name = {};
  std::vector<SlotRun> owners = {};  ///< Owners of the slots of the tensor's parts.
  bool restored = false;             ///< The job's restored checkpoint contains the tensor.
};

/// Worker to worker: the tensor uses this plan from this round on (collective/strategy_chooser).
struct TermPlan {
  static constexpr std::size_t kMostWeights = 1024;

  std::uint32_t tensor = 0;
  std::uint64_t round = 0;
  std::uint8_t primitive = 0;
  std::vector<std::uint32_t> weights = {};
};

/// Worker to the strategy chooser: combined rate of the sender's links to other machines.
struct Rate {
  std::uint64_t bytes_per_second = 0;
};

/// Worker to the first surviving worker of an elastic job: proposed members and finished rounds;
/// the sender starts no rounds until the answer. The answer: the decided members.
struct Regroup {
  static constexpr std::uint64_t kMostGenerations = std::uint64_t{1} << 31;
  static constexpr std::uint64_t kMostRounds = std::uint64_t{1} << 60;
  /// Approximate size limit in bytes: one byte for a part, and kTensorBytes for a tensor.
  static constexpr std::size_t kMostBytes = std::size_t{200} << 10;
  static constexpr std::size_t kTensorBytes = 16;

  struct Finished {
    std::uint32_t tensor = 0;
    std::uint64_t least = 0;                ///< Fewest finished rounds of any part.
    std::vector<std::uint32_t> ahead = {};  ///< Further rounds of each part; empty: none.
    friend bool operator==(const Finished&, const Finished&) = default;
  };

  bool decided = false;
  std::uint64_t generation = 0;  ///< The sender's; if decided, the new one.
  std::vector<NodeId> members = {};
  std::vector<Finished> finished = {};  ///< If decided: rounds that all members have finished.
};

/// Worker to shard, before its first contribution: the tensor's specification.
struct Open {
  std::uint32_t tensor = 0;
  TensorSpec spec = {};          ///< Canonical.
  std::uint32_t first_slot = 0;  ///< Of part 0, as the scheduler declared it.
};

/// Request: the sender has reached its n-th barrier. Response: the barrier has opened.
struct Barrier {
  std::uint64_t number = 0;
  bool sits_out = false;   ///< Request: the sender contributes nothing until then.
  Rank last = 0;           ///< Response: the last rank to arrive.
  std::uint64_t step = 0;  ///< Request: the sender's step. Response: the most advanced step.
  /// Request: the checkpoint step of the program, plus 1; 0: no checkpoint. Response: ordinal of
  /// this attempt in the job.
  std::uint64_t checkpoint = 0;
  bool withdraws = false;  ///< Request: the sender stops waiting at this barrier.
  /// checkpoint::digest_of_alike of the sender's attachments.
  std::uint64_t alike = 0;
  bool opened = false;  ///< To a restarted scheduler: the last barrier that opened.
};

/// Scheduler to shard: the current state belongs to this checkpoint; the shard confirms. To
/// workers, before their barrier opens: each worker writes its own attachments.
struct CheckpointCut {
  std::uint64_t job = 0;
  std::uint64_t number = 0;
  std::uint64_t step = 0;
  std::vector<NodeId> workers = {};  ///< By rank.
  bool alike = false;                ///< All workers reported the same digest.
};

/// Shard or worker to scheduler: the sender's file of a checkpoint is durable.
struct CheckpointSaved {
  std::uint64_t number = 0;
  std::string file = {};    ///< File name in the checkpoint's folder; empty: none was needed.
  std::uint64_t bytes = 0;  ///< `bytes` and `seal` form its checkpoint::FileDigest.
  std::uint32_t seal = 0;
  std::uint64_t entries = 0;
  Status why = {};  ///< The error, or ok.
};

/// Scheduler to workers: this attempt at a checkpoint has ended.
struct CheckpointEnded {
  std::uint64_t number = 0;  ///< Attempt, as in the Barrier.
  Status why = {};           ///< The error, or ok.
};

/// Scheduler to workers: asks for the last step that may have started. Answer: the sender starts no
/// later step until a roster names the step of admission (Roster::step).
struct AtStep {
  std::uint64_t number = 0;  ///< Of the question; 0, joining worker: connected to all shards.
  std::uint64_t step = 0;    ///< 0 in a question. From a joining worker: step of its admission.
  /// Asks for the last checkpoint offer that passed instead of the last step. The sender lets no
  /// later offer pass until the scheduler names the step of the first checkpoint.
  bool checkpoint = false;
  /// With number 0: how long the last checkpoint blocked the sender's program.
  std::uint64_t held_us = 0;
};

/// Worker to shard, before its first contribution to that step and after all its earlier rounds:
/// these workers become contributors. The shard forwards it to each of them.
struct TakeIn {
  static constexpr std::size_t kMostNodes = kMaxNodes;

  std::uint64_t step = 0;
  std::uint64_t barriers = 0;  ///< Barriers that the workers have reached.
  std::vector<NodeId> nodes = {};
};

/// Worker to shards: the sender contributes nothing until that barrier opens.
struct SitOut {
  std::uint64_t number = 0;  ///< Of the barrier; 0: the sender contributes again.
  bool over = false;         ///< The barrier has opened: all workers contribute.
};

/// Shard to a paused worker: an open round lacks its contribution.
struct Wanted {
  TensorSpec spec = {};  ///< Canonical.
  std::uint32_t part = 0;
  std::uint64_t round = 0;
};

/// Recovering shard to worker: asks for its progress, or for a round's value. Answer: the progress.
struct Recall {
  std::uint32_t tensor = 0;
  std::uint32_t part = 0;
  std::uint64_t round = 0;     ///< The worker's; its value is requested or kept; 0: none.
  std::uint64_t version = 0;   ///< Of that value.
  std::uint64_t finished = 0;  ///< Finished rounds of the worker.
  bool owed = false;           ///< The next push was acknowledged, and will not be retransmitted.
};

/// The standby is in sync: primary to scheduler and standby, or standby to a restarted scheduler.
struct StandbyReady {
  NodeId node = 0;
};

/// Primary to standby, followed by pushes with `total` bytes: the complete state of a part.
struct PartImage {
  struct Standing {
    NodeId node = 0;
    std::uint64_t rounds = 0;  ///< Counted rounds, without open ones.
    std::uint64_t before = 0;  ///< Those of them before the worker joined.
    Rank number = 0;           ///< Member::number, the order of contributions.
    friend bool operator==(const Standing&, const Standing&) = default;
  };
  static constexpr std::uint64_t kMostRounds = 1ULL << 62, kMostBytes = 1ULL << 30;
  std::uint32_t tensor = 0;
  std::uint32_t part = 0;
  std::uint64_t version = 0;
  std::uint64_t finished = 0;  ///< Collected rounds, including `empty`.
  std::uint64_t empty = 0;     ///< Collected rounds without an update.
  std::vector<Standing> workers = {};
  std::uint64_t total = 0;    ///< Size of the part's saved state.
  bool made_nothing = false;  ///< The last collected round had no update.
};

/// Primary to standby, followed by pushes with `total` bytes: an update to apply.
struct LogEntry {
  std::uint32_t tensor = 0;
  std::uint32_t part = 0;
  std::uint64_t version = 0;    ///< The version after the update.
  NodeId worker = 0;            ///< The contributor; 0: a round of all workers.
  std::uint32_t listeners = 0;  ///< Contributors that only receive.
  bool assign = false;          ///< The bytes replace the value.
  std::uint64_t total = 0;
  /// Progress of all workers after the update, if the contributors changed since the last LogEntry.
  struct Regrouped {
    std::vector<NodeId> makers = {};  ///< Workers that contributed to this update.
    std::vector<PartImage::Standing> workers = {};
    std::uint64_t finished = 0;  ///< As in PartImage.
    std::uint64_t empty = 0;     ///< As in PartImage.
  };
  std::optional<Regrouped> regrouped = {};
};

/// Worker to shard: read or write optimizer state of a part, from an offset on.
struct StateRequest {
  std::uint64_t number = 0;  ///< Increasing number of the sender's requests.
  std::uint32_t tensor = 0;
  std::uint32_t part = 0;
  std::uint64_t offset = 0;
  std::string set = {};     ///< Bytes to write; empty: read.
  std::uint64_t total = 0;  ///< Write: size of the complete state, as the sender assumes it.
};

/// The answer to each StateRequest.
struct StatePiece {
  static constexpr std::size_t kMaxBytes = std::size_t{64} << 10;

  std::uint64_t number = 0;   ///< The request's.
  std::uint64_t total = 0;    ///< Size of the part's state.
  std::uint64_t version = 0;  ///< Of the part's value.
  std::string piece = {};     ///< At most kMaxBytes; empty after a write, and at the end.
  Status why = {};            ///< The error, or ok.
};

/// Caller to callee, after the call has been sent: new terms for its answer.
struct Steer {
  std::uint64_t call = 0;
  std::int32_t priority = 0;
  std::uint64_t deadline_us = 0;  ///< Time left, as in the data header; 0: no deadline.
  bool paused = false;            ///< Do not send the answer now.
  bool cancelled = false;         ///< The caller discards the answer.
};

// ---- heartbeats

/// Total time for which finished rounds waited for this worker's contribution, the last to arrive.
struct Held {
  Rank rank = 0;
  Duration time{};
};

/// A tensor with a stalled round.
struct LongWait {
  static constexpr std::size_t kMaxNameBytes = 128;
  static constexpr std::size_t kMostRanks = 8;

  std::string tensor = {};  ///< Its name, truncated.
  std::uint64_t round = 0;
  Duration age{};
  std::vector<Rank> ranks = {};  ///< Workers whose pushes are missing, at most kMostRanks,
  std::uint32_t workers = 0;     ///< and their total number.
  std::uint32_t tensors = 0;     ///< Only in the first entry: stalled tensors of this shard.
};

/// Latency of a stalled round that has finished.
struct EndedWait {
  std::uint64_t rounds = 0;  ///< Heartbeat::rounds of the shard at that time.
  Duration time{};
};

/// State of a worker's program, as far as its process knows it.
struct Activity {
  static constexpr std::size_t kMaxTextBytes = 128;
  static constexpr std::size_t kMostAwaited = 8;

  enum class Place : std::uint8_t {
    kOutside = 0,  ///< In no blocking call of this worker, or an unknown place.
    kInCall = 1,
    kEnding = 2  ///< The program is exiting.
  };
  /// Kernel state of the thread that made the last call.
  enum class Rest : std::uint8_t {
    kUnknown = 0,
    kRuns = 1,
    kLock = 2,
    kSleep = 3,
    kRead = 4,    ///< Reads a pipe, a socket or a file, or waits until one is readable.
    kDevice = 5,  ///< Uninterruptible sleep.
    kChild = 6,   ///< Waits for a child process.
    kMemory = 7   ///< Waits for a page.
  };

  Place place = Place::kOutside;
  Duration age{};          ///< Time in this place, at least.
  std::string call = {};   ///< For example "declare"; for an operation or a barrier see waits_in.
  std::string pause = {};  ///< Declared reason for a pause; empty: no pause.
  std::string begun = {};  ///< The last started operation: "push_pull 'x'",
  std::string ended = {};  ///< and the last finished one.
  std::vector<NodeId> awaits = {};  ///< Shards that have not answered the oldest operation.
  bool held = false;                ///< The program has paused the oldest operation.
  Duration cpu{};                   ///< CPU time of the process.
  std::uint64_t page_reads = 0;     ///< Major page faults of the process.
  Rest rest = Rest::kUnknown;
  std::string rest_on = {};  ///< For example "read of pipe:[7]".
};

/// Tensors for which the job selected the same strategy.
struct Chosen {
  static constexpr std::size_t kMaxPlanBytes = 128;
  static constexpr std::size_t kMaxWhyBytes = 512;

  std::string plan;  ///< As collective::StrategyPlan describes itself.
  std::uint64_t tensors = 0;
  std::uint64_t bytes = 0;  ///< Of one round of all these tensors.
  std::string why;          ///< Reason for the choice, for the largest tensor.
  friend bool operator==(const Chosen&, const Chosen&) = default;
};

/// Scheduler to node or node to scheduler. A receiver truncates lists to their limits.
struct Heartbeat {
  static constexpr std::size_t kMostHeld = 64;
  static constexpr std::size_t kMostLongWaits = 8;
  static constexpr std::size_t kMostEndedWaits = 16;
  static constexpr std::size_t kMostStackBytes = std::size_t{64} << 10;
  static constexpr std::size_t kMostChosen = 8;

  std::uint64_t number = 0;
  std::uint64_t rounds = 0;  ///< Most rounds of any tensor: pushed (worker) or finished (shard).
  std::uint64_t staleness = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::uint64_t frames_waiting = 0;
  std::uint64_t bytes_in_flight = 0;
  std::vector<Held> held = {};              ///< From a shard: those that grew since the last.
  std::optional<InputTotals> input = {};    ///< From a worker that reads input, by its own clock.
  std::string waits_in = {};                ///< From a worker: the call that it waits in.
  std::string elsewhere = {};               ///< To a worker: workers that wait in another call.
  std::uint64_t input_limit_bytes = 0;      ///< To a worker: limit of all its readers; 0: no limit.
  UserMetricValues reports = {};            ///< From a worker: metrics that its program reported.
  std::vector<LongWait> long_waits = {};    ///< From a shard, the longest first.
  std::vector<EndedWait> ended_waits = {};  ///< From a shard: since the last heartbeat.
  std::optional<Activity> activity = {};    ///< From a worker. To a node: of a paused worker.
  bool wants_stack = false;                 ///< To a node: an observer requests its thread stacks.
  std::string stack = {};                   ///< Those stacks, as lines; at most kMostStackBytes.
  std::vector<Chosen> chosen = {};          ///< From the strategy chooser; empty: unchanged.
};

// ---- observers

/// Scheduler to node: start or stop recording, or send the recorded notes.
struct TraceCommand {
  enum class Action : std::uint8_t { kNone = 0, kStart = 1, kStop = 2, kSend = 3 };

  Action action = Action::kNone;  ///< kNone for an unknown action as well.
  std::uint64_t session = 0;
  std::uint32_t iterations = 0;  ///< kStart: report when a worker has started this many rounds.
  std::uint32_t records = 0;     ///< kStart: capacity of the ring.
};

/// The answer to kSend.
struct TraceChunk {
  static constexpr std::size_t kMostNotes = 4096;  ///< Fits into a control message.

  std::uint64_t session = 0;
  std::vector<TraceNote> notes = {};  ///< At most kMostNotes.
  std::uint64_t dropped = 0;          ///< Total number.
  bool reached = false;               ///< This node has completed the iterations.
  bool refused = false;               ///< This node writes its trace to a file, and sends nothing.
};

/// Tool to scheduler: a query.
struct Observe {
  enum class What : std::uint8_t {
    kNothing = 0,   ///< Or an unknown query.
    kSnapshot = 1,  ///< Members and their state, from index `first` of the nodes on.
    kStart = 2,     ///< Trace `iterations` (0: no limit) for at most `seconds`.
    kState = 3,     ///< State of the trace, and its nodes from index `first` on.
    kRecords = 4,   ///< Records of node `first` of the trace, from record `offset` on.
    kNames = 5,     ///< Names of tensors, from id `first` on.
    kStack = 6      ///< Thread stacks of worker `first`; after an empty answer ask again.
  };

  What what = What::kNothing;
  std::uint32_t first = 0;
  std::uint32_t iterations = 0;
  std::uint32_t seconds = 0;
  std::uint64_t offset = 0;
};

/// Scheduler to tool.
struct Observed {
  Observe::What what = Observe::What::kNothing;
  std::string text = {};     ///< JSON.
  std::string records = {};  ///< The bytes of TraceRecords.
};

/// One control message. Roster is defined in core.
using Message =
    std::variant<Hello, Welcome, Fault, Roster, Declare, Declared, Open, Barrier, Heartbeat, Leave,
                 Failure, LinkReport, Steer, TraceCommand, TraceChunk, Observe, Observed,
                 StateRequest, StatePiece, SitOut, Wanted, Resume, Resumed, AtStep, TakeIn,
                 TermPlan, Rate, Regroup, CheckpointCut, CheckpointSaved, CheckpointEnded, Recall,
                 StandbyReady, PartImage, LogEntry, Move>;

template <typename T>
bool is(const Message& message) {
  return std::holds_alternative<T>(message);
}

}  // namespace stretto::control
