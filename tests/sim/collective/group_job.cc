// SPDX-License-Identifier: Apache-2.0
// A link delivers one frame at a time, in any order. After a loss the survivors stop, agree on the
// rounds that all have finished, and continue in a new epoch.
#include "tests/sim/collective/group_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "collective/cost_model.h"

namespace stretto::sim {
namespace {

using collective::Carried;
using collective::Given;

constexpr int kMostGroupSteps = 1'000'000;

// A number that depends only on these arguments and is distinct for each combination.
std::uint64_t drawn_of(std::uint64_t seed, Place place, std::uint32_t part, std::uint64_t round) {
  std::uint64_t mixed = seed * 1'000'003 + place * 10'007 + part * 101 + round;
  for (int i = 0; i < 3; ++i) {
    mixed ^= mixed >> 29;
    mixed *= 0xbf58476d1ce4e5b9U;
  }
  return mixed >> 16;
}

}  // namespace

GroupJob::GroupJob(const GroupPlan& plan, std::uint64_t timing)
    : plan_(plan), random_(timing), mail_(timing, plan.most_latency) {
  Places all(plan_.members);
  std::iota(all.begin(), all.end(), Place{0});
  views_.push_back(all);
  const collective::Strategy strategy = plan_.strategy(all, 1);
  if (plan_.relayed) all.push_back(plan_.members);
  out_.resize(all.size());
  in_.resize(all.size());
  const GroupMember::World world = {
      .send = [this](GroupFrame frame) { send(std::move(frame)); },
      .done = [this](auto&&... what) { done(what...); },
      .violated = [this](const std::string& what,
                         const std::string& text) { violated(what, text); }};
  for (const std::uint16_t at : strategy.deal(plan_.part_elements.size())) {
    if (strategy.classes()[at].weight == 0) violated("parts go to roots with a weight", "");
  }
  for (const Place place : all) {
    members_[place] = std::make_unique<GroupMember>(place, plan_, strategy, world);
  }
  for (Place place = 0; place < plan_.members; ++place) {
    for (std::uint32_t part = 0; part < plan_.part_elements.size(); ++part) {
      begin_later(place, part, 1);
    }
  }
}

std::optional<Violation> GroupJob::run() {
  int steps = 0;
  while (!violation_ && mail_.step()) {
    if (++steps > kMostGroupSteps) violated("it ends", "a million steps");
  }
  if (!violation_) check_end();
  if (!violation_ && plan_.losses.empty()) check_carried();
  return violation_;
}

void GroupJob::violated(const std::string& invariant, const std::string& text) {
  if (!violation_) violation_ = Violation{invariant, plan_.describe() + ": " + text};
}

Places GroupJob::alive() const {
  Places places;
  for (const auto& [place, member] : members_) {
    if (place < plan_.members) places.push_back(place);
  }
  return places;
}

// ---- what members contribute

bool GroupJob::absent(Place place, std::uint32_t part, std::uint64_t round) const {
  const auto chance = static_cast<double>(drawn_of(plan_.seed, place, part, round) % 1000) / 1000;
  return chance < plan_.absent;
}

GroupNumbers GroupJob::share(Place place, std::uint32_t part, std::uint64_t round) const {
  GroupNumbers numbers;
  for (std::uint64_t i = 0; i < plan_.part_elements[part]; ++i) {
    const std::uint64_t drawn = drawn_of(plan_.seed + i, place, part, round);
    numbers.exact.push_back(static_cast<double>(drawn % 1'000'000'007));
    const int scale = static_cast<int>(drawn % 13) - 6;
    numbers.rough.push_back(
        static_cast<float>(std::ldexp(static_cast<double>(drawn % 9973), 3 * scale)));
  }
  return numbers;
}

void GroupJob::begin_later(Place place, std::uint32_t part, std::uint64_t round) {
  mail_.after(random_.between(1us, 2 * plan_.most_latency), [this, place, part, round] {
    if (!works(place)) return;
    const Given given = absent(place, part, round) ? Given::kNothing : Given::kSum;
    members_[place]->begin(part, given, share(place, part, round));
  });
}

// ---- links

void GroupJob::send(GroupFrame frame) {
  const std::pair<Place, Place> way(frame.from, frame.to);
  const std::uint64_t elements = plan_.part_elements[frame.part];
  for (Carried* carried : {&out_[frame.from], &in_[frame.to]}) {
    carried->bytes += elements;
    ++carried->frames;
  }
  links_[way].waiting.push_back(std::move(frame));
  go_on(way);
}

// The window holds one frame; any waiting frame may be sent next.
void GroupJob::go_on(const std::pair<Place, Place>& way) {
  Link& link = links_[way];
  if (link.busy || link.waiting.empty()) return;
  link.busy = true;
  std::swap(link.waiting[random_.below(link.waiting.size())], link.waiting.back());
  GroupFrame frame = std::move(link.waiting.back());
  link.waiting.pop_back();
  mail_.after(random_.between(1us, plan_.most_latency), [this, way, frame] {
    links_[way].busy = false;
    go_on(way);
    if (random_.chance(plan_.twice)) {
      ++events_.twice;
      mail_.after(random_.between(1us, 4 * plan_.most_latency), [this, frame] { arrive(frame); });
    }
    arrive(frame);
  });
}

void GroupJob::arrive(GroupFrame frame) {
  ++arrived_;
  if (losses_ < plan_.losses.size() && arrived_ >= plan_.losses[losses_]) lose_somebody();
  if (!works(frame.to)) return;
  GroupMember& member = *members_[frame.to];
  if (frame.epoch > member.rounds(frame.part).epoch()) ++events_.early;
  if (frame.given == Given::kValue) ++events_.given_again;
  member.receive(std::move(frame));
}

// ---- losses

void GroupJob::lose_somebody() {
  ++losses_;
  const Places places = alive();
  if (places.size() < 2) return;
  const Place lost = places[random_.below(places.size())];
  members_.erase(lost);
  forget(lost);
  for (auto& [way, link] : links_) {
    if (way.first == lost) link.waiting.clear();
  }
  ++events_.lost;
  ++generation_;
  stopped_.clear();
  views_.push_back(alive());
  for (const auto& [place, member] : members_) {
    mail_.after(random_.between(1us, 5 * plan_.most_latency),
                [this, at = place, generation = generation_] { stop(at, generation); });
  }
}

void GroupJob::stop(Place place, std::uint32_t generation) {
  if (!works(place) || generation != generation_) return;
  members_[place]->stop();
  mail_.after(random_.between(1us, plan_.most_latency),
              [this, place, generation, finished = members_[place]->finished()] {
                note_stopped(place, generation, finished);
              });
}

void GroupJob::note_stopped(Place place, std::uint32_t generation,
                            std::vector<std::uint64_t> finished) {
  if (generation != generation_) return;
  stopped_[place] = std::move(finished);
  if (stopped_.size() == members_.size()) resume_all();
}

void GroupJob::resume_all() {
  std::vector<std::uint64_t> least(plan_.part_elements.size(), ~std::uint64_t{0});
  for (const auto& [place, finished] : stopped_) {
    for (std::size_t part = 0; part < least.size(); ++part) {
      least[part] = std::min(least[part], finished[part]);
    }
  }
  for (const auto& [place, member] : members_) {
    mail_.after(random_.between(1us, plan_.most_latency), [this, at = place,
                                                           generation = generation_, least] {
      if (!works(at) || generation != generation_) return;
      members_[at]->resume(generation, plan_.strategy(views_.back(), generation), least);
    });
  }
}

// ---- what must hold

void GroupJob::done(Place place, std::uint32_t part, std::uint64_t round, const IndexSet& from,
                    const GroupNumbers& numbers, bool again) {
  const Made made{.by = from.members(), .numbers = numbers};
  holders_[{part, round}].insert(place);
  const auto [known, first] = values_.try_emplace({part, round}, made);
  if (first) check_value(part, round, made);
  if (known->second.by != made.by) {
    violated("all know the same contributors", fmt::format("place {}, round {}", place, round));
  }
  if (known->second != made) {
    violated("all have the same bytes", fmt::format("place {}, round {}", place, round));
  }
  if (place < plan_.members && !from.contains(place)) {
    violated("who has a value has contributed", fmt::format("place {}, round {}", place, round));
  }
  if (!again && place < plan_.members && round < plan_.rounds) begin_later(place, part, round + 1);
}

// A value held only by the lost member may be made again, by fewer contributors.
void GroupJob::forget(Place lost) {
  for (auto& [round, holders] : holders_) {
    holders.erase(lost);
    if (holders.empty()) values_.erase(round);
  }
}

void GroupJob::check_value(std::uint32_t part, std::uint64_t round, const Made& made) {
  std::vector<double> wanted(plan_.part_elements[part]);
  for (const Place place : made.by) {
    if (absent(place, part, round)) continue;
    const GroupNumbers one = share(place, part, round);
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] += one.exact[i];
  }
  if (wanted != made.numbers.exact) {
    violated("values are sums over their contributors",
             fmt::format("part {} round {}", part, round));
  }
  if (std::ranges::find(views_, made.by) == views_.end()) {
    violated("rounds are made by all of a view",
             fmt::format("part {} round {} by {} places", part, round, made.by.size()));
  }
  if (made.by.size() < plan_.members) ++events_.made_again;
}

// J3.
void GroupJob::check_carried() {
  const std::vector<Carried> wanted =
      collective::carried_in(plan_.strategy(views_.front(), 1), plan_.part_elements);
  for (Place place = 0; place < out_.size(); ++place) {
    const Carried each = place < wanted.size() ? wanted[place] : Carried();
    const Carried all = {each.bytes * plan_.rounds, each.frames * plan_.rounds};
    if (out_[place] == all && in_[place] == all) continue;
    violated("each carries what was predicted",
             fmt::format("place {} sent {} and took {}, wanted {}", place, out_[place].bytes,
                         in_[place].bytes, all.bytes));
  }
}

void GroupJob::check_end() {
  for (const auto& [place, member] : members_) {
    for (std::uint32_t part = 0; part < plan_.part_elements.size(); ++part) {
      if (member->rounds(part).finished() == plan_.rounds) continue;
      violated("no hang", fmt::format("place {} has finished {} rounds of {} of part {}", place,
                                      member->rounds(part).finished(), plan_.rounds, part));
    }
  }
}

}  // namespace stretto::sim
