// SPDX-License-Identifier: Apache-2.0
// Numbers calls, and keeps frames that arrive before their call.
#include "worker/peer_state/group_state.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace stretto {

using collective::Place;

CallPart* OpenCall::find(std::uint32_t key, Place from) {
  const auto before = [](const CallPart& part, std::pair<std::uint32_t, Place> wanted) {
    return std::pair(part.plan.key, part.plan.peer) < wanted;
  };
  for (const Place peer : {from, collective::kNobody}) {
    const auto found = std::lower_bound(parts.begin(), parts.end(), std::pair(key, peer), before);
    if (found != parts.end() && found->plan.key == key && found->plan.peer == peer) {
      return &*found;
    }
  }
  return nullptr;
}

GroupState::GroupState(collective::Strategy strategy, collective::Reduction::Order sums_in,
                       std::uint32_t part_bytes, std::vector<std::uint32_t> machines)
    : trees(std::move(strategy), std::move(machines)),
      order(sums_in),
      most_part_bytes(part_bytes),
      ahead_bytes(std::min(kAheadBytes, kAheadParts * part_bytes)),
      ahead_(trees.members(),
             CallsAhead(ahead_bytes / std::max<std::size_t>(trees.members() - 1, 1))) {}

CallId GroupState::begin(const GroupCallArgs& call) {
  if (call.call.kind != CallKind::kSend) return {.number = ++begun_};
  CallId id{.from = call.call.root, .to = call.peer, .tag = call.tag};
  const std::uint64_t number = ++sends_[id];
  id.number = number;
  return id;
}

CallId GroupState::id_of(const wire::GroupFrame& frame, Place from, Place self) {
  const GroupCall call = GroupCall::unpack(frame.call, frame.dtype);
  if (call.kind != CallKind::kSend) return {.number = frame.number};
  return {.from = call.root,
          .to = call.root == self ? from : self,
          .tag = frame.tag,
          .number = frame.number};
}

bool GroupState::has_begun(const CallId& id) const {
  if (!id.is_send()) return id.number <= begun_;
  const auto found = sends_.find(without_number(id));
  return found != sends_.end() && id.number <= found->second;
}

std::shared_ptr<OpenCall> GroupState::find(const CallId& id) const {
  const auto found = open.find(id);
  return found == open.end() ? nullptr : found->second;
}

Status GroupState::keep(const CallId& id, Early early) {
  early_bytes_ += early.payload.size();
  ++early_frames_;
  const Place from = early.from;
  if (early_bytes_ > 2 * ahead_bytes || early_frames_ > kMostEarlyFrames) {
    return {Code::kMalformed,
            fmt::format("member {} is at call {}, this one at {}, and {} bytes in {} frames of "
                        "what others gave wait here, at most {} bytes in {} frames may",
                        from, id.number, next(), early_bytes_, early_frames_, 2 * ahead_bytes,
                        kMostEarlyFrames)};
  }
  early.payload = to_keep(early.payload);
  early_[id].push_back(std::move(early));
  return {};
}

std::vector<GroupState::Early> GroupState::take_early(const CallId& id) {
  auto found = early_.extract(id);
  if (found.empty()) return {};
  for (const Early& early : found.mapped()) early_bytes_ -= early.payload.size();
  early_frames_ -= found.mapped().size();
  return std::move(found.mapped());
}

Status GroupState::keep(Question question, std::uint64_t number) {
  if (questions_.size() >= kMostEarlyFrames) {
    return {Code::kMalformed, fmt::format("{} questions about calls came, which is the most that "
                                          "may wait",
                                          questions_.size())};
  }
  questions_.emplace(number, question);
  return {};
}

std::vector<GroupState::Question> GroupState::take_questions() {
  const auto end = questions_.upper_bound(begun_);
  std::vector<Question> due;
  for (auto each = questions_.begin(); each != end; ++each) due.push_back(each->second);
  questions_.erase(questions_.begin(), end);
  return due;
}

void GroupState::clear() {
  open.clear();
  early_.clear();
  questions_.clear();
  for (CallsAhead& each : ahead_) each.clear();
  early_bytes_ = 0;
  early_frames_ = 0;
}

std::uint64_t GroupState::first_unfinished() const {
  std::uint64_t first = next();
  for (const auto& [id, call] : open) {
    if (!id.is_send()) first = std::min(first, id.number);
  }
  return first;
}

bool GroupState::is_open_from(std::uint64_t number) const {
  return std::ranges::any_of(open, [number](const auto& each) {
    return !each.first.is_send() && each.first.number >= number;
  });
}

bool GroupState::sends_with(Place peer) const {
  return std::ranges::any_of(open, [peer](const auto& each) {
    return each.first.is_send() && (each.first.from == peer || each.first.to == peer);
  });
}

}  // namespace stretto
