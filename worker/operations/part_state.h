// SPDX-License-Identifier: Apache-2.0
// PartState: what one part of a tensor does at this worker, and in which order: its operations,
// this worker's rounds, and the last value. It decides, but sends nothing.
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

/// The last value of a part, which the info of the next one is relative to. Thread: loop.
class LastValue {
 public:
  std::uint64_t version() const { return version_; }
  /// The staleness counts the versions since the last value, except for this worker's own rounds.
  ValueInfo info_of(const wire::ValueFacts& facts) const;
  /// This worker joins a running job, with what others have given it: the part's first value is not
  /// stale by earlier versions.
  void come_late() { came_late_ = true; }
  void note(const wire::ValueFacts& facts) {
    came_late_ = false;
    version_ = facts.version;
    applied_ = facts.own_applied;
  }

 private:
  std::uint64_t version_ = 0;
  std::uint64_t applied_ = 0;  // Own rounds in it.
  bool came_late_ = false;     // None has arrived since.
};

/// The last value, retained for a server that replaces the part's owner.
struct RetainedValue {
  Buffer bytes;
  std::uint64_t round = 0;  ///< The own round that it ended.
  std::uint64_t version = 0;
  std::uint32_t contributors = 0;
};

/// A push as it was sent, retained for another server that replaces the part's owner.
struct RetainedPush {
  wire::PushFrame push = {};  ///< Of round 0: none.
  Buffer bytes = {};
};

/// A part's work that is with its codec. Meanwhile the part is busy.
struct PartCodec {
  std::shared_ptr<PartCoder> coder;  ///< Null without a codec.
  bool encoding = false;             ///< A contribution is with it, and has not left.
  std::size_t encoded_bytes = 0;     ///< Of the contribution, until the peer has taken it.
  bool decoding = false;             ///< A value has arrived and is not in the target yet.
};

/// Operations wait in the order in which the user began them, and a part does one thing at a time
/// in each lane. So a worker has at most one open round a part, and memory at both ends is bounded.
/// Thread: loop.
class PartState {
 public:
  /// Eager pulls have their own lane, so pulls and pushes can overtake one another.
  enum LaneName : std::size_t { kShares, kPulls, kProbes };
  /// What happens to an incoming value.
  enum class Verdict : std::uint8_t {
    kWanted,    ///< It is the current operation's.
    kUnwanted,  ///< No operation wants it: it is dropped.
    kGivenUp,   ///< It answers a cancelled request.
    kTooEarly   ///< It answers a push that has not left: the server is wrong.
  };

  /// `collects`: the server collects rounds, so a push opens one.
  PartState(LinkId link, bool collects, std::shared_ptr<PartCoder> coder)
      : codec{.coder = std::move(coder)}, link_(link), collects_(collects) {}

  /// The link to the part's owner.
  LinkId link() const { return link_; }
  /// The part has another owner.
  void move_to(LinkId link) { link_ = link; }
  const OperationPtr& current(LaneName lane) const { return lanes_[lane].current; }
  /// True if the operation is the lane's current one, or waits there.
  bool has(LaneName lane, const Operation& operation) const {
    const auto is_it = [&](const OperationPtr& each) { return each.get() == &operation; };
    return is_it(lanes_[lane].current) || std::ranges::any_of(lanes_[lane].waiting, is_it);
  }
  /// Contributions that were sent.
  std::uint64_t rounds() const { return rounds_; }
  /// Contributions that were sent or wait for that.
  std::uint64_t rounds_begun() const;
  /// True if no open collected round has a contribution of this worker.
  bool settled() const { return !awaiting_done_; }
  /// This worker's contribution to its last round.
  struct OpenShare {
    bool empty = false;    ///< It has no bytes.
    bool listens = false;  ///< It counts for nothing.
  };
  const OpenShare& open_share() const { return open_share_; }
  /// The value of this worker's last round is known, but not yet that the round is done.
  bool knows_round_ended() const { return awaiting_done_ && kept.round == rounds_; }
  /// A round is open whose contribution is not here any more: it cannot be retransmitted.
  bool cannot_resend() const {
    const OperationPtr& share = lanes_[kShares].current;
    if (share != nullptr && share->pushes()) return share->cancelled;
    return awaiting_done_ && !knows_round_ended() && !open_share_.empty;
  }
  /// A round is open whose contribution was empty, and so can be retransmitted.
  bool awaits_empty_share() const {
    const OperationPtr& share = lanes_[kShares].current;
    const bool by_operation = share != nullptr && share->pushes();
    return !by_operation && awaiting_done_ && open_share_.empty;
  }
  /// Own contributions whose rounds have ended.
  std::uint64_t rounds_ended() const {
    if (kept.round == rounds_) return rounds_;
    const OperationPtr& share = lanes_[kShares].current;
    const bool open = awaiting_done_ || (share != nullptr && share->pushes());
    return rounds_ - (open ? 1 : 0);
  }

  /// True if the operation is the lane's current one now, and its frame must be sent; else it
  /// waits.
  bool enter(LaneName lane, const OperationPtr& operation);
  /// Makes the next waiting operation the current one, if the part is free for it; else null.
  OperationPtr next(LaneName lane);
  /// Ends the lane's current operation, and returns it.
  OperationPtr end(LaneName lane);
  /// The collected round of the last push is known to have finished.
  void end_round() {
    awaiting_done_ = false;
    const OperationPtr& share = lanes_[kShares].current;
    if (share == nullptr || !share->pushes()) sent = {};
  }

  Verdict judge(LaneName lane, bool answers_push) const;

  /// The operation's frame was taken back before any of it had left.
  void take_back(LaneName lane, const OperationPtr& operation);
  /// The operation is cancelled, and does not wait any more. If its request has left, the next one
  /// waits for the answer, which could be mistaken for its own; pushes continue.
  void give_up(LaneName lane, const OperationPtr& operation);
  /// True once for each such request: its answer is not awaited any more.
  bool take_given_up(LaneName lane) { return std::exchange(lanes_[lane].gave_up, false); }
  /// The tensor has failed: no operation waits.
  void clear() { lanes_ = {}; }

  LastValue last;
  RetainedValue kept;
  RetainedPush sent;
  PartCodec codec;

 private:
  struct OperationLane {
    OperationPtr current;
    bool gave_up = false;  // A pull or probe was cancelled whose request has left.
    OperationList waiting;
  };
  bool may_begin(const OperationLane& lane, const Operation& operation) const;
  void begin(OperationLane& lane, const OperationPtr& operation);

  LinkId link_;
  const bool collects_;
  std::uint64_t rounds_ = 0;
  OpenShare open_share_;
  bool awaiting_done_ = false;  // The last push's collected round is not known to have finished.
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

// A pull may go while this worker's last round is open at the server; another push may not.
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
