// SPDX-License-Identifier: Apache-2.0
// GroupState: what one member knows of its group's calls: which are open here, which peers have
// begun already, and the state of each part. It sends nothing.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "collective/reduction.h"
#include "common/memory/buffer.h"
#include "van/wire/frame_views.h"
#include "worker/operations/call_plan.h"
#include "worker/operations/calls_ahead.h"
#include "worker/operations/operation.h"
#include "worker/peer_state/part_sum.h"

namespace stretto {

/// The n-th call of all members, or the n-th send between two of them with one tag. Thread: any.
struct CallId {
  collective::Place from = collective::kNobody;  ///< kNobody: a call of all members.
  collective::Place to = collective::kNobody;
  std::uint64_t tag = 0;
  std::uint64_t number = 0;  ///< From 1.

  bool is_send() const { return from != collective::kNobody; }
  // The compiler's own comparison with 0 is taken for one of a pointer.
  // NOLINTNEXTLINE(modernize-use-nullptr): as above.
  friend auto operator<=>(const CallId&, const CallId&) = default;
};

/// One part of a call that this member has begun. Thread: loop.
struct CallPart {
  /// A child's sum that arrived before it could be added.
  struct Kept {
    collective::Place from = collective::kNobody;
    Buffer payload;
  };

  PlannedPart plan;
  collective::Reduction reduction;
  PartSum sum = {};
  std::vector<Kept> kept = {};
  bool unsent = false;  ///< Its sum is complete, and the parent does not know the group yet.
  // Of a part whose contributions go to all:
  Buffer own = {};                              ///< This member's, for peers.
  std::vector<collective::Place> not_yet = {};  ///< Members that do not know the group yet.
};

/// Thread: loop.
struct OpenCall {
  CallId id;
  GroupCall call;
  OperationPtr operation;
  std::vector<CallPart> parts;  ///< By key, then peer.

  /// The part of a frame from this place, or null.
  CallPart* find(std::uint32_t key, collective::Place from);
};

/// Thread: loop.
class GroupState {
 public:
  /// A frame of a call that has not begun here.
  struct Early {
    collective::Place from = collective::kNobody;
    wire::GroupFrame frame;
    Buffer payload;
  };
  /// A member's question about a call that has not begun here.
  struct Question {
    collective::Place from = collective::kNobody;
    std::int32_t priority = 0;
  };
  /// How many parts and bytes all peers together may send ahead of this member's calls.
  static constexpr std::size_t kAheadParts = 256;
  static constexpr std::size_t kAheadBytes = std::size_t{64} << 20;
  /// The most receives that wait here for this member's sends; the same limit holds for questions.
  static constexpr std::size_t kMostEarlyFrames = std::size_t{1} << 20;

  /// `machines`: as in GroupTrees.
  GroupState(collective::Strategy strategy, collective::Reduction::Order sums_in,
             std::uint32_t part_bytes, std::vector<std::uint32_t> machines = {});

  /// Numbers this member's next call.
  CallId begin(const GroupCallArgs& call);
  /// The call of member `self` that a frame of `from` belongs to.
  static CallId id_of(const wire::GroupFrame& frame, collective::Place from,
                      collective::Place self);
  /// True if this member has begun the call, and perhaps ended it.
  bool has_begun(const CallId& id) const;

  std::shared_ptr<OpenCall> find(const CallId& id) const;
  /// Keeps a frame until its call begins. kMalformed if peers send more ahead than they may.
  Status keep(const CallId& id, Early early);
  std::vector<Early> take_early(const CallId& id);
  /// Keeps a question until all members' call of this number has begun here. kMalformed if there
  /// are too many.
  Status keep(Question question, std::uint64_t number);
  /// Takes the questions about calls that have begun.
  std::vector<Question> take_questions();
  /// Drops all calls, frames and questions.
  void clear();
  /// What this member has sent another member ahead of the receiver's calls.
  CallsAhead& ahead_of(collective::Place place) { return ahead_[place]; }
  /// The first of all members' calls that this member has not begun.
  std::uint64_t next() const { return begun_ + 1; }
  /// The first of all members' calls that this member has not completed.
  std::uint64_t first_unfinished() const;
  /// True if a call of all members with this number or a later one is open.
  bool is_open_from(std::uint64_t number) const;
  /// True if a send to or from this member is open.
  bool sends_with(collective::Place peer) const;

  const GroupTrees trees;
  const collective::Reduction::Order order;
  const std::uint32_t most_part_bytes;
  const std::size_t ahead_bytes;  ///< What peers together may send ahead.
  std::map<CallId, std::shared_ptr<OpenCall>> open;
  std::map<collective::Place, Status> gone = {};  ///< Departed members, and why.

 private:
  static CallId without_number(CallId id) {
    id.number = 0;
    return id;
  }

  std::vector<CallsAhead> ahead_;  // By place.
  std::uint64_t begun_ = 0;
  std::map<CallId, std::uint64_t> sends_;  // Begun, by CallId without number.
  std::map<CallId, std::vector<Early>> early_;
  std::multimap<std::uint64_t, Question> questions_;  // By call.
  std::size_t early_bytes_ = 0;
  std::size_t early_frames_ = 0;
};

}  // namespace stretto
