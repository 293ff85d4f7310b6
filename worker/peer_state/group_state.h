// SPDX-License-Identifier: Apache-2.0
// GroupState: what one member knows of its group's calls: which are open here, which others have
// begun already, and where each part of them stands. It sends nothing.
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
  collective::Place from = collective::kNobody;  ///< Nobody: it is one of all members.
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
  /// A child's sum that came before it could be added.
  struct Kept {
    collective::Place from = collective::kNobody;
    Buffer payload;
  };

  PlannedPart plan;
  collective::Reduction reduction;
  PartSum sum = {};
  std::vector<Kept> kept = {};
  bool unsent = false;  ///< Its sum is whole, and the parent does not know the group yet.
  // Of one whose contributions go to all:
  Buffer own = {};                              ///< This member's, as the others read it.
  std::vector<collective::Place> not_yet = {};  ///< They do not know the group yet.
};

/// Thread: loop.
struct OpenCall {
  CallId id;
  GroupCall call;
  OperationPtr operation;
  std::vector<CallPart> parts;  ///< By key, then peer.

  /// The one that a frame of this place is of, or null.
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
  /// Of a member, about a call that has not begun here.
  struct Question {
    collective::Place from = collective::kNobody;
    std::int32_t priority = 0;
  };
  /// What all other members together may give ahead of this one's calls: so many parts, and so many
  /// bytes.
  static constexpr std::size_t kAheadParts = 256;
  static constexpr std::size_t kAheadBytes = std::size_t{64} << 20;
  /// Receives that wait here for this member's sends, at most; and as many questions.
  static constexpr std::size_t kMostEarlyFrames = std::size_t{1} << 20;

  /// The machines are GroupTrees's.
  GroupState(collective::Strategy strategy, collective::Reduction::Order sums_in,
             std::uint32_t part_bytes, std::vector<std::uint32_t> machines = {});

  /// Numbers this member's next call.
  CallId begin(const GroupCallArgs& call);
  /// Which call of a member `self` a frame of `from` is of.
  static CallId id_of(const wire::GroupFrame& frame, collective::Place from,
                      collective::Place self);
  /// This member has begun it, and may have done with it.
  bool has_begun(const CallId& id) const;

  std::shared_ptr<OpenCall> find(const CallId& id) const;
  /// Keeps a frame until its call begins. kMalformed if others give more ahead than they may.
  Status keep(const CallId& id, Early early);
  std::vector<Early> take_early(const CallId& id);
  /// Keeps a question until all members' call of this number has begun here. kMalformed if there
  /// are more than can be.
  Status keep(Question question, std::uint64_t number);
  /// Those about calls that have begun.
  std::vector<Question> take_questions();
  /// Nothing is open any more, and nothing waits.
  void clear();
  /// What this member has given another one ahead of that one's calls.
  CallsAhead& ahead_of(collective::Place place) { return ahead_[place]; }
  /// The first of all members' calls that this one has not begun.
  std::uint64_t next() const { return begun_ + 1; }
  /// The first of these that this one has not done.
  std::uint64_t first_unfinished() const;
  /// A call of all members with this number or a later one is open.
  bool is_open_from(std::uint64_t number) const;
  /// A send to or from this member is.
  bool sends_with(collective::Place peer) const;

  const GroupTrees trees;
  const collective::Reduction::Order order;
  const std::uint32_t most_part_bytes;
  const std::size_t ahead_bytes;  ///< What others together may give ahead.
  std::map<CallId, std::shared_ptr<OpenCall>> open;
  std::map<collective::Place, Status> gone = {};  ///< Who sends and receives no more, and why.

 private:
  static CallId without_number(CallId id) {
    id.number = 0;
    return id;
  }

  std::vector<CallsAhead> ahead_;  // By place.
  std::uint64_t begun_ = 0;
  std::map<CallId, std::uint64_t> sends_;  // Begun, by what they have in common.
  std::map<CallId, std::vector<Early>> early_;
  std::multimap<std::uint64_t, Question> questions_;  // By call.
  std::size_t early_bytes_ = 0;
  std::size_t early_frames_ = 0;
};

}  // namespace stretto
