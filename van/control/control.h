// SPDX-License-Identifier: Apache-2.0
// Control messages as the roles see them: plain types, one for each body of
// van/control/control.proto, which says who sends it and when. What has been decoded is valid in
// itself (van/control/control_codec.h).
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
  static constexpr std::size_t kMaxHostBytes =
      256;  ///< Of a longer one only the beginning is read.

  std::uint32_t protocol = 0;
  std::string token = {};
  Role role = Role::kWorker;
  std::int64_t rank = 0;      ///< -1: the scheduler chooses.
  std::uint32_t workers = 0;  ///< What the sender was told of the job; 0: nothing.
  std::uint32_t servers = 0;
  NodeId node = 0;            ///< Given by the scheduler; 0 on the link to the scheduler.
  std::string address = {};   ///< Where it listens; empty: a worker that cannot be called.
  std::uint32_t shard = 0;    ///< Servers: this shard's index in its server,
  std::uint32_t shards = 0;   ///< of so many. Between workers: which link of the pair's.
  std::string host = {};      ///< For messages: host name and process id.
  std::string version = {};   ///< Release, for messages.
  std::uint64_t machine = 0;  ///< Where it runs (common/network/machine.h); 0: it does not say.
  std::uint64_t session =
      0;  ///< Its name if a new link may take it over; 0: it ends with this one.
  /// To a scheduler, from a member that has lost it: the job that it is in, and the last life of
  /// its scheduler that it knows of. 0: it comes to join.
  std::uint64_t job = 0;
  std::uint32_t life = 0;
  std::size_t padding = 0;  ///< Bytes that prove the path between members: kPathProofBytes.
};

/// In place of a hello: this link is to carry a session that there is.
struct Resume {
  std::uint32_t protocol = 0;
  std::string token = {};
  std::uint64_t session = 0;   ///< Its name.
  std::uint32_t link = 0;      ///< How many links it has had, this one included.
  std::uint64_t received = 0;  ///< Frames of the session that the sender has.
  std::size_t padding = 0;     ///< As in a Hello.
};

/// The answer.
struct Resumed {
  std::uint64_t received = 0;
  std::size_t padding = 0;  ///< As in the Resume.
};

/// The answer to an accepted hello.
struct Welcome {
  NodeId node = 0;  ///< The receiver's identity.
  Rank rank = 0;
  std::uint64_t job = 0;    ///< No other job has this number.
  std::uint32_t life = 0;   ///< Of the scheduler: each process of it has a greater one.
  bool stands_by = false;   ///< Heard by a server that serves nobody yet: another one follows.
  std::size_t padding = 0;  ///< As in a Hello.
};

/// An error on one link or one tensor. After a fault with tensor 0 and no name the link ends.
struct Fault {
  Status why = {};  ///< Never ok.
  std::uint32_t tensor = 0;
  std::uint32_t part = 0;
  std::uint64_t round = 0;
  std::string name = {};  ///< A declare is answered by name.
};

/// A request to leave in order, its acceptance, or the end of the job.
struct Leave {};

/// To everybody: the job has failed. From a node: it fails.
struct Failure {
  Status why = {};  ///< Never ok.
};

/// To the scheduler: what has become of the sender's link to that node.
struct LinkReport {
  enum class State : std::uint8_t {
    kBroken,  ///< It has broken, and nobody has made it anew in time.
    kApart,   ///< It has ended, and is waited for.
    kMended   ///< It has been made anew: who made it lives.
  };
  static constexpr std::size_t kMaxCauseBytes = 1024;  ///< Of a longer one the beginning is read.

  NodeId node = 0;
  std::string cause = {};
  State state = State::kBroken;
};

// ---- tensors and rounds

/// To the scheduler: make this tensor known.
struct Declare {
  TensorSpec spec = {};  ///< Canonical; with a flaw only its name.
  Status flaw = {};      ///< Why no tensor can be like that: its sender is told, by name.
};

struct Declared {
  std::uint32_t tensor = 0;
  std::uint32_t first_slot = 0;
  std::string name = {};
  std::vector<SlotRun> owners = {};  ///< The slots that the tensor's parts lie in.
  bool restored = false;             ///< The checkpoint that the job goes on from has it.
};

/// Worker to worker: the tensor goes by this plan from this round on (collective/strategy_chooser).
struct TermPlan {
  static constexpr std::size_t kMostWeights = 1024;

  std::uint32_t tensor = 0;
  std::uint64_t round = 0;
  std::uint8_t primitive = 0;
  std::vector<std::uint32_t> weights = {};
};

/// Worker to the one that chooses plans: what its links to other machines carry together.
struct Rate {
  std::uint64_t bytes_per_second = 0;
};

/// Worker to the first of those who go on, in an elastic job: whom it would go on with, and what it
/// has finished; it makes no rounds until it hears. And back to each of them: these go on.
struct Regroup {
  static constexpr std::uint64_t kMostGenerations = std::uint64_t{1} << 31;
  static constexpr std::uint64_t kMostRounds = std::uint64_t{1} << 60;
  /// About as many bytes as it may have; a part takes one, and a tensor these besides.
  static constexpr std::size_t kMostBytes = std::size_t{200} << 10;
  static constexpr std::size_t kTensorBytes = 16;

  struct Finished {
    std::uint32_t tensor = 0;
    std::uint64_t least = 0;                ///< Rounds, of the part that has fewest.
    std::vector<std::uint32_t> ahead = {};  ///< Of each part, how many more; none: all alike.
    friend bool operator==(const Finished&, const Finished&) = default;
  };

  bool decided = false;
  std::uint64_t generation = 0;  ///< Of the sender; decided: that begins.
  std::vector<NodeId> members = {};
  std::vector<Finished> finished = {};  ///< Decided: what all have.
};

/// Worker to shard, before its first share: what the tensor is.
struct Open {
  std::uint32_t tensor = 0;
  TensorSpec spec = {};          ///< Canonical.
  std::uint32_t first_slot = 0;  ///< Of part 0, as the scheduler declared it.
};

/// "I am at my n-th barrier", and back: everybody is.
struct Barrier {
  std::uint64_t number = 0;
  bool sits_out = false;   ///< And I make no shares until then.
  Rank last = 0;           ///< Back: who came last.
  std::uint64_t step = 0;  ///< That the sender is in; back: of who is furthest.
  /// And a checkpoint is made there: the program's step, and 1. Back: the how many-eth attempt of
  /// this job at one it is.
  std::uint64_t checkpoint = 0;
  bool withdraws = false;  ///< And the sender waits there no longer.
  /// checkpoint::digest_of_alike of what the sender gives to the checkpoint.
  std::uint64_t alike = 0;
  bool opened = false;  ///< To a scheduler that is back: this is the last that opened, as it did.
};

/// Scheduler to shard: what is here now is this checkpoint's. And back: it is, whatever comes next.
/// To workers, before the barrier opens at which they are: each writes what is its own.
struct CheckpointCut {
  std::uint64_t job = 0;
  std::uint64_t number = 0;
  std::uint64_t step = 0;
  std::vector<NodeId> workers = {};  ///< By rank.
  bool alike = false;                ///< All have told the same digest.
};

/// Shard or worker to scheduler: its file of a checkpoint is on the device.
struct CheckpointSaved {
  std::uint64_t number = 0;
  std::string file = {};    ///< Its name in the checkpoint's folder; empty: none was needed.
  std::uint64_t bytes = 0;  ///< These two are its checkpoint::Seal.
  std::uint32_t seal = 0;
  std::uint64_t entries = 0;
  Status why = {};  ///< What went wrong, or ok.
};

/// Scheduler to workers: this attempt at a checkpoint has come to its end.
struct CheckpointEnded {
  std::uint64_t number = 0;  ///< As the barrier said.
  Status why = {};           ///< What went wrong, or ok.
};

/// Scheduler to workers: which step is the last that you may have begun? And the answer: the sender
/// begins no later one before a roster tells before which newcomers come in (Roster::step).
struct AtStep {
  std::uint64_t number = 0;  ///< Of the question; 0, of a newcomer: it has links to all shards.
  std::uint64_t step = 0;    ///< 0 in a question. Of a newcomer: it has been taken in before it.
  /// Instead: which checkpoint that the program offered have you let pass last? It lets no later
  /// one pass, before the scheduler says from which step on the first one is to be made.
  bool checkpoint = false;
  /// And with number 0: the last checkpoint has held the sender's program up so long.
  std::uint64_t held_us = 0;
};

/// Worker to shard, before its first share of that step and when all that it has a share in is
/// done: from now on these make rounds too. And on to each of these.
struct TakeIn {
  static constexpr std::size_t kMostNodes = kMaxNodes;

  std::uint64_t step = 0;
  std::uint64_t barriers = 0;  ///< That the workers have come to.
  std::vector<NodeId> nodes = {};
};

/// Worker to shards: until that barrier is open it makes no shares.
struct SitOut {
  std::uint64_t number = 0;  ///< Of the barrier; 0: shares are made again.
  bool over = false;         ///< It is open: all make shares.
};

/// Shard to a worker that sits out: a round is open and lacks its share.
struct Wanted {
  TensorSpec spec = {};  ///< Canonical.
  std::uint32_t part = 0;
  std::uint64_t round = 0;
};

/// Shard in another's place to worker: how far are you, or send that round's value. Back: so far.
struct Recall {
  std::uint32_t tensor = 0;
  std::uint32_t part = 0;
  std::uint64_t round = 0;     ///< Of the worker's: whose value is wanted, or kept; 0: none.
  std::uint64_t version = 0;   ///< Of that value.
  std::uint64_t finished = 0;  ///< Rounds of the worker's that have ended.
  bool owed = false;           ///< The next one was acknowledged, and will not be sent again.
};

/// Server to scheduler and to who stands by for it: that has all. That to a later scheduler.
struct StandbyReady {
  NodeId node = 0;
};

/// Server to who stands by for it, before as many bytes of pushes: all that a part is.
struct PartImage {
  struct Standing {
    NodeId node = 0;
    std::uint64_t rounds = 0;  ///< Of the worker's that have counted, without open ones,
    std::uint64_t before = 0;  ///< with so many before it came.
    Rank number = 0;           ///< Member::number, by which shares are ordered.
    friend bool operator==(const Standing&, const Standing&) = default;
  };
  static constexpr std::uint64_t kMostRounds = 1ULL << 62, kMostBytes = 1ULL << 30;
  std::uint32_t tensor = 0;
  std::uint32_t part = 0;
  std::uint64_t version = 0;
  std::uint64_t finished = 0;  ///< Collected rounds,
  std::uint64_t empty = 0;     ///< and those of them that made no update.
  std::vector<Standing> workers = {};
  std::uint64_t total = 0;    ///< Bytes of what the part's store saves.
  bool made_nothing = false;  ///< The last collected round made no update.
};

/// The same, of an update that is to be applied.
struct LogEntry {
  std::uint32_t tensor = 0;
  std::uint32_t part = 0;
  std::uint64_t version = 0;    ///< That it makes.
  NodeId worker = 0;            ///< Whose share it is; 0: a round of all.
  std::uint32_t listeners = 0;  ///< Contributors that only listened.
  bool assign = false;          ///< The bytes are the value.
  std::uint64_t total = 0;
  /// How far all are after it, if others make the part's rounds than when the last was told of.
  struct Regrouped {
    std::vector<NodeId> makers = {};  ///< Whose shares are in this one.
    std::vector<PartImage::Standing> workers = {};
    std::uint64_t finished = 0;  ///< As in PartImage,
    std::uint64_t empty = 0;     ///< the same.
  };
  std::optional<Regrouped> regrouped = {};
};

/// Worker to shard: tell, or set, the piece of a rule's state that begins at an offset.
struct StateRequest {
  std::uint64_t number = 0;  ///< Of the sender's, counted up.
  std::uint32_t tensor = 0;
  std::uint32_t part = 0;
  std::uint64_t offset = 0;
  std::string set = {};     ///< Empty: tell.
  std::uint64_t total = 0;  ///< Set: the bytes that the sender takes the state for.
};

/// The answer, one to each.
struct StatePiece {
  static constexpr std::size_t kMaxBytes = std::size_t{64} << 10;

  std::uint64_t number = 0;   ///< The request's.
  std::uint64_t total = 0;    ///< Bytes of the part's state.
  std::uint64_t version = 0;  ///< Of the part's value.
  std::string piece = {};     ///< At most kMaxBytes; empty in answer to a set, and at the end.
  Status why = {};            ///< What went wrong, or ok.
};

/// Caller to callee, after the call has left: what is wanted of its answer now.
struct Steer {
  std::uint64_t call = 0;
  std::int32_t priority = 0;
  std::uint64_t deadline_us = 0;  ///< As in the data header: until it is wanted; 0: no matter.
  bool paused = false;            ///< Hold the answer back.
  bool cancelled = false;         ///< The answer is not wanted any more.
};

// ---- signs of life

/// How long finished rounds had waited for the last share, in all, because of this worker.
struct Held {
  Rank rank = 0;
  Duration time{};
};

/// A tensor of which a round has waited for long.
struct LongWait {
  static constexpr std::size_t kMaxNameBytes = 128;
  static constexpr std::size_t kMostRanks = 8;

  std::string tensor = {};  ///< Its name, or the beginning of it.
  std::uint64_t round = 0;
  Duration age{};
  std::vector<Rank> ranks = {};  ///< Workers whose pushes it lacks, kMostRanks at most,
  std::uint32_t workers = 0;     ///< of so many.
  std::uint32_t tensors = 0;     ///< Of the first: so many tensors wait at this shard.
};

/// A wait for a round that was long, and is over.
struct EndedWait {
  std::uint64_t rounds = 0;  ///< Heartbeat::rounds of the shard then.
  Duration time{};
};

/// What a worker's program does, as far as its process can tell.
struct Activity {
  static constexpr std::size_t kMaxTextBytes = 128;
  static constexpr std::size_t kMostAwaited = 8;

  enum class Place : std::uint8_t {
    kOutside = 0,  ///< In none of this worker's calls that wait, or not known here.
    kInCall = 1,
    kEnding = 2  ///< The program ends.
  };
  /// What the thread that made the last call does in the kernel.
  enum class Rest : std::uint8_t {
    kUnknown = 0,
    kRuns = 1,
    kLock = 2,
    kSleep = 3,
    kRead = 4,    ///< Of a pipe, a socket or a file, or until one can be read.
    kDevice = 5,  ///< It cannot be interrupted.
    kChild = 6,   ///< It waits for a process.
    kMemory = 7   ///< For a page.
  };

  Place place = Place::kOutside;
  Duration age{};          ///< It has been there for so long, at least.
  std::string call = {};   ///< "declare"; of an operation or a barrier, waits_in says which.
  std::string pause = {};  ///< What the program says that it pauses for; empty: it does not.
  std::string begun = {};  ///< The operation begun last: "push_pull 'x'",
  std::string ended = {};  ///< and the one that ended last.
  std::vector<NodeId> awaits = {};  ///< Shards that have not answered the oldest operation.
  bool held = false;                ///< The program has paused that one.
  Duration cpu{};                   ///< Of the process, in all.
  std::uint64_t page_reads = 0;     ///< Pages of memory that it has waited for, in all.
  Rest rest = Rest::kUnknown;
  std::string rest_on = {};  ///< "read of pipe:[7]".
};

/// Tensors that go among workers by the same plan, which the job has chosen.
struct Chosen {
  static constexpr std::size_t kMaxPlanBytes = 128;
  static constexpr std::size_t kMaxWhyBytes = 512;

  std::string plan;  ///< As collective::StrategyPlan describes itself.
  std::uint64_t tensors = 0;
  std::uint64_t bytes = 0;  ///< Of a round of all of them.
  std::string why;          ///< Of the largest.
  friend bool operator==(const Chosen&, const Chosen&) = default;
};

/// Either way between the scheduler and a node. Lists that are longer are read up to their limit.
struct Heartbeat {
  static constexpr std::size_t kMostHeld = 64;
  static constexpr std::size_t kMostLongWaits = 8;
  static constexpr std::size_t kMostEndedWaits = 16;
  static constexpr std::size_t kMostStackBytes = std::size_t{64} << 10;
  static constexpr std::size_t kMostChosen = 8;

  std::uint64_t number = 0;
  std::uint64_t rounds = 0;  ///< Of a worker: pushed; of a shard: done; of the tensor with most.
  std::uint64_t staleness = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::uint64_t frames_waiting = 0;
  std::uint64_t bytes_in_flight = 0;
  std::vector<Held> held = {};              ///< Of a shard: that grew since the last heartbeat.
  std::optional<InputTotals> input = {};    ///< Of a worker that reads, by its own clock.
  std::string waits_in = {};                ///< Of a worker: the call that it waits in.
  std::string elsewhere = {};               ///< To a worker: who waits in another call, in words.
  std::uint64_t input_limit_bytes = 0;      ///< To a worker: of its readers together; 0: no limit.
  UserMetricValues reports = {};            ///< Of a worker: what its program reports.
  std::vector<LongWait> long_waits = {};    ///< Of a shard, the longest first.
  std::vector<EndedWait> ended_waits = {};  ///< Of a shard: since the last heartbeat.
  std::optional<Activity> activity = {};    ///< Of a worker. To a node: of another that pauses.
  bool wants_stack = false;         ///< To a node: somebody wants to see what its threads do.
  std::string stack = {};           ///< That, in lines; kMostStackBytes at most.
  std::vector<Chosen> chosen = {};  ///< Of the worker that chooses; empty: as before.
};

// ---- those who look on

/// Scheduler to node: note what you do, stop, or send what you have noted.
struct TraceCommand {
  enum class Action : std::uint8_t { kNone = 0, kStart = 1, kStop = 2, kSend = 3 };

  Action action = Action::kNone;  ///< kNone too if it is not known here.
  std::uint64_t session = 0;
  std::uint32_t iterations = 0;  ///< Start: say when a worker has begun so many rounds more,
  std::uint32_t records = 0;     ///< and make room for so many.
};

/// The answer to kSend.
struct TraceChunk {
  static constexpr std::size_t kMostNotes = 4096;  ///< They fit a control message.

  std::uint64_t session = 0;
  std::vector<TraceNote> notes = {};  ///< kMostNotes at most.
  std::uint64_t dropped = 0;          ///< In all.
  bool reached = false;               ///< The iterations are over here.
  bool refused = false;               ///< This node writes its trace to a file, and sends none.
};

/// Tool to scheduler: tell me something.
struct Observe {
  enum class What : std::uint8_t {
    kNothing = 0,   ///< Or what is not known here.
    kSnapshot = 1,  ///< Who is in and how they do, from number `first` of the nodes.
    kStart = 2,     ///< Trace so many iterations (0: any), for at most so many seconds.
    kState = 3,     ///< Of the trace, with its nodes from number `first`.
    kRecords = 4,   ///< Of node number `first` of the trace, from record `offset`.
    kNames = 5,     ///< Of tensors, from identity `first`.
    kStack = 6      ///< What the threads of worker `first` do; an empty answer: ask again.
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

/// One control message. The roster is core's own.
using Message =
    std::variant<Hello, Welcome, Fault, Roster, Declare, Declared, Open, Barrier, Heartbeat, Leave,
                 Failure, LinkReport, Steer, TraceCommand, TraceChunk, Observe, Observed,
                 StateRequest, StatePiece, SitOut, Wanted, Resume, Resumed, AtStep, TakeIn,
                 TermPlan, Rate, Regroup, CheckpointCut, CheckpointSaved, CheckpointEnded, Recall,
                 StandbyReady, PartImage, LogEntry, Move>;

/// True if the message is a T.
template <typename T>
bool is(const Message& message) {
  return std::holds_alternative<T>(message);
}

}  // namespace stretto::control
