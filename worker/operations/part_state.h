// SPDX-License-Identifier: Apache-2.0
// PartState: what one part of a tensor does at this worker, and in which order: its operations, our
// rounds, and the value that came last. It decides and sends nothing.
#pragma once

#include <algorithm>
#include <array>
#include <list>
#include <memory>
#include <utility>

#include "common/check.h"
#include "van/engine/van.h"
#include "van/wire/frame_views.h"
#include "worker/operations/codec_executor.h"
#include "worker/operations/operation.h"

namespace stretto {

/// The value that came last for a part, and what the next one tells beside it. Thread: loop.
class LastValue {
 public:
  std::uint64_t version() const { return version_; }
  /// Stale by the versions that are new since the last value, but for those that are our own
  /// rounds.
  ValueInfo info_of(const wire::ValueFacts& facts) const;
  /// This worker comes into a job that runs, with what others have given it: the first value of
  /// the part that comes is not stale by what was before.
  void come_late() { came_late_ = true; }
  void note(const wire::ValueFacts& facts) {
    came_late_ = false;
    version_ = facts.version;
    applied_ = facts.own_applied;
  }

 private:
  std::uint64_t version_ = 0;
  std::uint64_t applied_ = 0;  // Rounds of ours that were in it.
  bool came_late_ = false;     // None has come since.
};

/// The value that came last, kept for a server that takes the place of this part's.
struct RetainedValue {
  Buffer bytes;
  std::uint64_t round = 0;  ///< Of ours, that it ended.
  std::uint64_t version = 0;
  std::uint32_t contributors = 0;
};

/// A share that has left, as it did, for another server that has its part's place.
struct RetainedPush {
  wire::PushFrame push = {};  ///< Of round 0: none.
  Buffer bytes = {};
};

/// A part's work that is with its codec. Meanwhile the part is busy.
struct PartCodec {
  std::shared_ptr<PartCoder> coder;  ///< Null without a codec.
  bool encoding = false;             ///< A share of ours is with it, and has not left.
  std::size_t encoded_bytes = 0;     ///< Of our share, until the far end has taken it.
  bool decoding = false;             ///< A value has come and is not in the target yet.
};

/// Operations wait in the order in which the user began them, and a part does one thing at a time
/// in each lane. So a worker has at most one open round a part, and memory at both ends is bounded.
/// Thread: loop.
class PartState {
 public:
  /// Eager pulls have a lane of their own, so they and the shares pass one another.
  enum LaneName : std::size_t { kShares, kPulls, kProbes };
  /// What becomes of a value that comes.
  enum class Verdict : std::uint8_t {
    kWanted,    ///< It is the current operation's.
    kUnwanted,  ///< Nobody wants it: it is dropped.
    kGivenUp,   ///< It answers a question whose asker has gone.
    kTooEarly   ///< It answers a share that has not left: the server is wrong.
  };

  /// `collects`: the server collects rounds, so a share of ours opens one.
  PartState(LinkId link, bool collects, std::shared_ptr<PartCoder> coder)
      : codec{.coder = std::move(coder)}, link_(link), collects_(collects) {}

  /// To the part's owner.
  LinkId link() const { return link_; }
  /// The part has another owner.
  void move_to(LinkId link) { link_ = link; }
  const OperationPtr& current(LaneName lane) const { return lanes_[lane].current; }
  /// The operation is the lane's current one, or waits there.
  bool has(LaneName lane, const Operation& operation) const {
    const auto is_it = [&](const OperationPtr& each) { return each.get() == &operation; };
    return is_it(lanes_[lane].current) || std::ranges::any_of(lanes_[lane].waiting, is_it);
  }
  /// Shares of ours, sent.
  std::uint64_t rounds() const { return rounds_; }
  /// Shares of ours that were sent or wait to be.
  std::uint64_t rounds_begun() const;
  /// No collected round is open that we have a share in.
  bool settled() const { return !awaiting_done_; }
  /// What our share of the last round was.
  struct OpenShare {
    bool empty = false;    ///< It brought nothing,
    bool listens = false;  ///< and is counted for nothing.
  };
  const OpenShare& open_share() const { return open_share_; }
  /// We have the value of our last round, and have not been told yet that it is done.
  bool knows_round_ended() const { return awaiting_done_ && kept.round == rounds_; }
  /// A round is open whose share of ours has left this worker's hands: it cannot be sent again.
  bool cannot_resend() const {
    const OperationPtr& share = lanes_[kShares].current;
    if (share != nullptr && share->pushes()) return share->cancelled;
    return awaiting_done_ && !knows_round_ended() && !open_share_.empty;
  }
  /// The same of one that brought nothing, and so can be.
  bool awaits_empty_share() const {
    const OperationPtr& share = lanes_[kShares].current;
    const bool by_operation = share != nullptr && share->pushes();
    return !by_operation && awaiting_done_ && open_share_.empty;
  }
  /// Shares of ours whose rounds have ended.
  std::uint64_t rounds_ended() const {
    if (kept.round == rounds_) return rounds_;
    const OperationPtr& share = lanes_[kShares].current;
    const bool open = awaiting_done_ || (share != nullptr && share->pushes());
    return rounds_ - (open ? 1 : 0);
  }

  /// True if the operation is the lane's current one now, and its frame is to be sent; else it
  /// waits.
  bool enter(LaneName lane, const OperationPtr& operation);
  /// What waited and is the current one now, if the part is free for it; else null.
  OperationPtr next(LaneName lane);
  /// The lane's current operation, which is over here.
  OperationPtr end(LaneName lane);
  /// A round that we pushed to is known finished.
  void end_round() {
    awaiting_done_ = false;
    const OperationPtr& share = lanes_[kShares].current;
    if (share == nullptr || !share->pushes()) sent = {};
  }

  Verdict judge(LaneName lane, bool answers_push) const;

  /// The operation's frame was taken back before any of it had left.
  void take_back(LaneName lane, const OperationPtr& operation);
  /// The operation is cancelled: it waits no more. If its question has left the next one waits for
  /// the answer, which it could be taken for; shares go on.
  void give_up(LaneName lane, const OperationPtr& operation);
  /// True once for each such question: nobody waits for its answer any more.
  bool take_given_up(LaneName lane) { return std::exchange(lanes_[lane].gave_up, false); }
  /// The tensor has failed: nothing waits.
  void clear() { lanes_ = {}; }

  LastValue last;
  RetainedValue kept;
  RetainedPush sent;
  PartCodec codec;

 private:
  struct OperationLane {
    OperationPtr current;
    bool gave_up = false;  // A pull or probe was cancelled whose question has left.
    OperationList waiting;
  };
  bool may_begin(const OperationLane& lane, const Operation& operation) const;
  void begin(OperationLane& lane, const OperationPtr& operation);

  LinkId link_;
  const bool collects_;
  std::uint64_t rounds_ = 0;
  OpenShare open_share_;
  bool awaiting_done_ = false;  // A collected round that we pushed to is not known finished.
  std::array<OperationLane, 3> lanes_;
};

// ---- for each part of each operation

inline ValueInfo LastValue::info_of(const wire::ValueFacts& facts) const {
  const std::uint64_t all = facts.version - std::min(facts.version, version_);
  const std::uint64_t own = facts.own_applied - std::min(facts.own_applied, applied_);
  return {.version = facts.version,
          .staleness = came_late_ ? 0 : all - std::min(all, own),
          .applied = facts.own_applied,
          .slowest = facts.slowest,
          .spread = facts.spread,
          .contributors = facts.contributors};
}

// A pull may go while our last round is still open at the server; another share may not.
inline bool PartState::may_begin(const OperationLane& lane, const Operation& operation) const {
  if (lane.current != nullptr || operation.paused) return false;
  return operation.pushes() ? !awaiting_done_ : !lane.gave_up;
}

inline void PartState::begin(OperationLane& lane, const OperationPtr& operation) {
  STRETTO_CHECK(lane.current == nullptr && !operation->ended);
  lane.current = operation;
  if (!operation->pushes()) return;
  ++rounds_;
  open_share_ = {.empty = operation->source.empty(), .listens = operation->listens()};
  awaiting_done_ = collects_ && !operation->wants_value();
}

inline OperationPtr PartState::next(LaneName name) {
  OperationLane& lane = lanes_[name];
  if (lane.waiting.empty() || !may_begin(lane, *lane.waiting.front())) return nullptr;
  OperationPtr next = std::move(lane.waiting.front());
  lane.waiting.pop_front();
  begin(lane, next);
  return next;
}

inline OperationPtr PartState::end(LaneName lane) {
  STRETTO_CHECK(lanes_[lane].current != nullptr);
  if (lane == kShares && !awaiting_done_) sent = {};
  return std::exchange(lanes_[lane].current, nullptr);
}

inline PartState::Verdict PartState::judge(LaneName name, bool answers_push) const {
  const OperationLane& lane = lanes_[name];
  if (lane.gave_up && !answers_push) return Verdict::kGivenUp;
  const bool wanted = lane.current != nullptr && lane.current->wants_value();
  if (!wanted || codec.decoding) return Verdict::kUnwanted;
  return codec.encoding && name == kShares ? Verdict::kTooEarly : Verdict::kWanted;
}

}  // namespace stretto
