// SPDX-License-Identifier: Apache-2.0
// Applies effects in order (adopt, add, send, done), then begins the next round.
#include "tests/sim/collective/group_member.h"

#include <fmt/format.h>

#include <utility>

#include "common/check.h"

namespace stretto::sim {

using collective::Effects;
using collective::Given;
using collective::PartRounds;

void GroupNumbers::add(const GroupNumbers& other) {
  for (std::size_t i = 0; i < exact.size(); ++i) exact[i] += other.exact[i];
  for (std::size_t i = 0; i < rough.size(); ++i) rough[i] += other.rough[i];
}

GroupMember::GroupMember(Place place, const GroupPlan& plan, const collective::Strategy& strategy,
                         World world)
    : place_(place), plan_(plan), world_(std::move(world)) {
  const std::vector<std::uint16_t> classes = strategy.deal(plan.part_elements.size());
  for (const std::uint16_t at : classes) {
    parts_.emplace_back(
        PartRounds(strategy.classes()[at].tree.node(place_, plan_.places()), plan_.order, 1));
  }
}

void GroupMember::begin(std::uint32_t part, Given given, GroupNumbers numbers) {
  parts_[part].own = std::move(numbers);
  take(part, parts_[part].rounds.begin(given));
}

void GroupMember::receive(GroupFrame frame) {
  Part& part = parts_[frame.part];
  switch (part.rounds.admit(frame.epoch, frame.round)) {
    case PartRounds::Verdict::kPast:
      return;
    case PartRounds::Verdict::kEarly:
      early_.push_back(std::move(frame));
      return;
    case PartRounds::Verdict::kWrong:
      return world_.violated("only open rounds get frames", fmt::format("round {}", frame.round));
    case PartRounds::Verdict::kNow:
      break;
  }
  if (frame.given != Given::kNothing) part.kept[frame.from] = std::move(frame.numbers);
  const Result<Effects> effects =
      frame.up ? part.rounds.partial(frame.from, frame.contributors, frame.given)
               : part.rounds.value(frame.from, frame.contributors);
  if (!effects.ok())
    return world_.violated("frames are as they should be", effects.status().text());
  take(frame.part, *effects);
}

void GroupMember::stop() {
  for (Part& part : parts_) part.rounds.stop();
}

std::vector<std::uint64_t> GroupMember::finished() const {
  std::vector<std::uint64_t> rounds;
  for (const Part& part : parts_) rounds.push_back(part.rounds.finished());
  return rounds;
}

void GroupMember::resume(std::uint32_t epoch, const collective::Strategy& strategy,
                         const std::vector<std::uint64_t>& finished_by_all) {
  const std::vector<std::uint16_t> classes = strategy.deal(parts_.size());
  for (std::uint32_t number = 0; number < parts_.size(); ++number) {
    Part& part = parts_[number];
    part.kept.clear();
    part.has_sum = false;
    const Result<Effects> effects = part.rounds.resume(
        epoch, strategy.classes()[classes[number]].tree.node(place_, plan_.places()),
        finished_by_all[number]);
    if (!effects.ok()) return world_.violated("all agree on a round", effects.status().text());
    take(number, *effects);
  }
  for (GroupFrame& frame : std::exchange(early_, {})) receive(std::move(frame));
}

// Also applies the effects that follow at once in the next round.
void GroupMember::take(std::uint32_t number, const Effects& effects) {
  Part& part = parts_[number];
  carry_out(number, effects);
  check_held(part);
  bool done = effects.done;
  while (done) {
    if (part.zeros)
      part.sum = {std::vector<double>(plan_.part_elements[number]),
                  std::vector<float>(plan_.part_elements[number])};
    part.last = part.sum;
    part.has_sum = false;
    part.kept.clear();
    world_.done(place_, number, part.rounds.round(), part.rounds.reduction().contributors(),
                part.last, part.rounds.again());
    const Effects next = part.rounds.next();
    done = next.done;
    carry_out(number, next);
  }
}

void GroupMember::carry_out(std::uint32_t number, const Effects& effects) {
  Part& part = parts_[number];
  if (effects.adopt != collective::kNobody) {
    part.sum = effects.adopt == place_ ? part.last : part.kept[effects.adopt];
    part.has_sum = true;
    part.kept.clear();
  }
  for (const Place from : effects.add) {
    const GroupNumbers& more = from == place_ ? part.own : part.kept[from];
    if (part.has_sum) {
      part.sum.add(more);
    } else {
      part.sum = more;
    }
    part.has_sum = true;
    part.kept.erase(from);
  }
  part.zeros = effects.done && !part.has_sum;
  if (part.zeros) part.sum = {};
  const collective::TreeNode& node = part.rounds.reduction().node();
  if (effects.send == Effects::Send::kUp) send(number, node.parent, true);
  if (effects.send == Effects::Send::kDown) {
    for (const Place child : node.children) send(number, child, false);
  }
  if (plan_.order == collective::Reduction::Order::kArrival ||
      part.rounds.reduction().has_value()) {
    part.kept.clear();  // Duplicates and stale frames.
  }
}

void GroupMember::send(std::uint32_t number, Place to, bool up) {
  Part& part = parts_[number];
  const collective::Reduction& reduction = part.rounds.reduction();
  GroupFrame frame{.from = place_,
                   .to = to,
                   .part = number,
                   .epoch = part.rounds.epoch(),
                   .round = part.rounds.round(),
                   .up = up,
                   .contributors = reduction.contributors(),
                   .numbers = part.sum};
  if (up && reduction.has_value()) frame.given = Given::kValue;
  if (up && !reduction.has_bytes()) frame.given = Given::kNothing;
  if (part.zeros)
    frame.numbers = {std::vector<double>(plan_.part_elements[number]),
                     std::vector<float>(plan_.part_elements[number])};
  world_.send(std::move(frame));
}

// J5: only the sum is held, and, where contributions are added in order, early arrivals.
void GroupMember::check_held(const Part& part) const {
  const bool in_order = plan_.order == collective::Reduction::Order::kPlaces;
  const std::size_t most = in_order ? part.rounds.reduction().node().children.size() : 0;
  if (part.kept.size() > most) {
    world_.violated("a relay holds one sum",
                    fmt::format("place {} holds {} partial sums", place_, part.kept.size()));
  }
}

}  // namespace stretto::sim
