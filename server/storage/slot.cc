// SPDX-License-Identifier: Apache-2.0
// Exactly once: a contribution counts if its sender's incarnation has no count for that round.
#include "server/storage/slot.h"

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace stretto {

bool Part::consistent() const {
  const Consistency& rounds = collector.rounds();
  return store.value().version <= rounds.version() && rounds.consistent() &&
         (store.value().version == 0) == store.value().bytes.empty();
}

Part* Slot::find(const wire::Key& key) {
  const auto found = parts_.find(key);
  return found == parts_.end() ? nullptr : &found->second;
}

Part& Slot::add(const TensorSpec& spec, const PartLayout& layout,
                std::unique_ptr<ops::UpdateRule> rule, Aggregator&& collector,
                const Allocate& allocate) {
  const auto made =
      parts_.try_emplace(layout.key, spec, layout, std::move(rule), std::move(collector), allocate);
  STRETTO_CHECK(made.second);
  Part& part = made.first->second;
  bytes_ += part.bytes();
  return part;
}

Slot::Verdict Slot::admit(const Part& part, const PushId& push, std::uint32_t epoch) const {
  STRETTO_CHECK(part.key == push.key);
  if (epoch < since_) return Verdict::kMoved;
  const bool known = push.round <= part.counted.last_of(push.worker);
  return known ? Verdict::kDuplicate : Verdict::kApply;
}

Result<Aggregator::Counted> Slot::count(Part& part, const PushId& push, Share share) {
  STRETTO_CHECK(part.key == push.key && share.round == push.round);
  Result<Aggregator::Counted> counted = part.collector.add(std::move(share));
  if (!counted.ok()) return counted;
  part.counted.note(push.worker, push.round);
  ++shares_;
  return counted;
}

Slot::Verdict Slot::admit_sum(const Part& part, const std::vector<NodeId>& makers,
                              std::uint64_t round, std::uint32_t epoch) const {
  if (epoch < since_) return Verdict::kMoved;
  const bool known = std::ranges::all_of(
      makers, [&](NodeId worker) { return round <= part.counted.last_of(worker); });
  return known ? Verdict::kDuplicate : Verdict::kApply;
}

Result<Aggregator::Counted> Slot::count_sum(Part& part, Share sum,
                                            const std::vector<NodeId>& makers) {
  const std::uint64_t round = sum.round;
  Result<Aggregator::Counted> counted = part.collector.add_sum(std::move(sum), makers);
  if (!counted.ok()) return counted;
  for (const NodeId worker : makers) part.counted.note(worker, round);
  ++shares_;
  return counted;
}

void Slot::move(std::uint32_t since) {
  STRETTO_CHECK(since > since_ && unreleased_.empty());
  since_ = since;
}

namespace {

// The round from which contributors change, and the workers removed from the open one.
struct Regrouping {
  std::uint64_t from_round;
  std::set<NodeId> out;
};

Regrouping regrouping_of(const Consistency& rounds, const Contributors& next,
                         std::uint64_t from_round, const std::set<NodeId>& gone) {
  Regrouping made{.from_round = from_round, .out = gone};
  if (from_round > rounds.next_round()) return made;
  for (const Contributor& one : rounds.group()->all()) {
    if (next.contains(one.node) || gone.contains(one.node)) continue;
    if (has_come(rounds, one.node)) {
      made.from_round = rounds.next_round() + 1;
    } else {
      made.out.insert(one.node);
    }
  }
  return made;
}

}  // namespace

std::vector<std::pair<Part*, Status>> Slot::regroup(const ContributorGroup& next,
                                                    std::uint64_t from_round,
                                                    const std::set<NodeId>& gone) {
  std::vector<std::pair<Part*, Status>> stuck;
  for (auto& [key, part] : parts_) {
    Result<std::optional<Update>> completed = regroup(part, next, from_round, gone);
    if (!completed.ok()) {
      stuck.emplace_back(&part, completed.status());
    } else if (completed->has_value()) {
      append(part, **std::move(completed));
    }
  }
  count_bytes();
  return stuck;
}

Result<std::optional<Update>> Slot::regroup(Part& part, const ContributorGroup& next,
                                            std::uint64_t from_round,
                                            const std::set<NodeId>& gone) {
  part.waiting.drop(gone);
  const Regrouping made = regrouping_of(part.collector.rounds(), *next, from_round, gone);
  return part.collector.regroup(next, made.from_round, made.out);
}

void Slot::count_bytes() {
  bytes_ = 0;
  for (auto& [key, part] : parts_) bytes_ += part.bytes();
}

Slot::Position Slot::append(Part& part, Update update) {
  STRETTO_CHECK(part.key == update.key);
  unreleased_.push_back({&part, std::move(update)});
  return appended();
}

void Slot::release(Position through) {
  STRETTO_CHECK(released_ <= through && through <= appended());
  const auto end = unreleased_.begin() + static_cast<std::ptrdiff_t>(through - released_);
  for (auto next = unreleased_.begin(); next != end; ++next) {
    Part& part = *next->part;
    Update update = std::move(next->update);
    part.store.apply(std::move(update));
    STRETTO_CHECK(part.store.value().version <= part.collector.rounds().version());
  }
  unreleased_.erase(unreleased_.begin(), end);
  released_ = through;
}

bool Slot::consistent() const {
  for (const auto& [key, part] : parts_) {
    const bool released = part.store.value().version == part.collector.rounds().version();
    if (!part.consistent() || (unreleased_.empty() && !released)) return false;
  }
  return true;
}

}  // namespace stretto
