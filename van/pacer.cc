// SPDX-License-Identifier: Apache-2.0
// From paths to windows.
#include "van/pacer.h"

#include <algorithm>

#include "van/frame_views.h"

namespace stretto {
namespace {

constexpr Duration kShapeAllEvery = 500us;
// For an empty way out: some round trips, and not more than what a dead far end may cost.
constexpr Duration kLeastPatience = 5ms;
constexpr Duration kMostPatience = 100ms;
constexpr Duration kOtherUrgentLasts = 1s;  // After another process told of something urgent.
constexpr int kOpenForShut = 20;  // So much longer than it was shut is the way open afterwards.
constexpr std::uint64_t kMostTold = 60'000'000'000;  // Nanoseconds.
constexpr std::uint64_t kAlignment = 64;  // So that slices are whole elements, and aligned.

}  // namespace

void Pacer::add_link(LinkId link, Time now) {
  const auto [found, is_new] = paths_.try_emplace(link);
  if (!is_new) return;
  shape(link, found->second);
  shape_all(now);
}

void Pacer::on_time(Time now) {
  let_bulk_yield(now);
  if (!paths_.empty() && now - shaped_all_at_ >= kShapeAllEvery) shape_all(now);
}

// What has its turn for having waited longest makes nobody wait.
std::optional<SendQueue::Pick> Pacer::next(Time now) {
  const auto pick = queue_.next();
  yields_ = false;
  if (!pick || pick->control) return pick;
  const auto found = paths_.find(pick->link);
  const bool shared = found != paths_.end();
  const bool held = shared && yielding_.holds(pick->frame->header.priority, now);
  if (pick->aged) return pick;
  if (held) {
    yields_ = true;
    return queue_.next(Among::kUnshaped);
  }
  if (!shared || !found->second.wants_probe(now)) {
    shut_ = false;
    return pick;
  }
  shut_ = waits_for_quiet(found->second, now);
  if (shut_) return queue_.next(Among::kUnshaped);
  if (queue_.windows().shaped_in_flight() > 0) return pick;
  const auto small = [](Bounds bounds) {
    bounds.quantum_bytes = std::min(bounds.quantum_bytes, Path::kProbeBytes);
    return bounds;
  };
  queue_.windows().shape(pick->link, small(bounds_of(found->second)),
                         small(bulk_bounds_of(found->second)));
  return queue_.next();  // Cut anew.
}

// A far end that takes its time, or says that it does, must not hold up the others.
bool Pacer::waits_for_quiet(Path& path, Time now) {
  if (!shut_ && now < shut_again_) return false;
  if (!shut_) shut_since_ = now;
  const Duration waited = now - shut_since_;
  const bool quiet = queue_.windows().shaped_in_flight() == 0;
  if (!quiet && waited < std::min(kLeastPatience + 2 * path.round_trip(), kMostPatience)) {
    return true;
  }
  if (!quiet) path.give_up_probe(now);
  shut_again_ = now + kOpenForShut * waited;
  return false;
}

bool Pacer::wants_credit(LinkId link, std::uint64_t charge) {
  const auto found = paths_.find(link);
  if (found == paths_.end()) return false;
  const bool probe = queue_.windows().shaped_in_flight() == 0 && charge <= Path::kMostOfProbe;
  return found->second.wants_credit(queue_.windows().sent(link) + charge) || probe;
}

void Pacer::on_sent(LinkId link, std::uint64_t charge, Time now) {
  const auto found = paths_.find(link);
  if (found == paths_.end()) return;
  const bool alone = queue_.windows().shaped_in_flight() <= charge;
  // Who gives way to others does not show how fast the path is.
  const bool more = queue_.backlog().has_data(link) && !share_.above;
  found->second.on_sent(queue_.windows().sent(link), charge, alone, more, now);
  yielding_.on_sent(charge, now);
  shape(link, found->second);
}

// Towards this host nothing is cut, and nobody waits for bulk.
void Pacer::note_urgency(const Frame& frame, Time now) {
  if (!paths_.contains(frame.link)) return;
  if (frame.bulk) return urgency_.note_bulk(frame.urgency(), now);
  urgency_.note_other(frame.urgency(), now);
  let_bulk_yield(now);
}

void Pacer::let_bulk_yield(Time now) {
  queue_.windows().set_bulk_yields(urgency_.lasts(now) || now < other_urgent_until_);
}

void Pacer::on_credit(LinkId link, std::uint64_t taken_bytes, Time now) {
  const auto found = paths_.find(link);
  if (found == paths_.end()) return;
  const std::uint64_t before = found->second.taken_bytes();
  found->second.on_credit(taken_bytes, now);
  taken_bytes_ += found->second.taken_bytes() - before;
  shape(link, found->second);
  on_time(now);
}

void Pacer::tell(LinkId link, wire::Header& credit) const {
  const Path* path = find(link);
  if (path == nullptr) return;
  wire::CreditFrame{.round_trip_ns = static_cast<std::uint64_t>(path->own_round_trip().count()),
                    .loop_wait_ns = static_cast<std::uint64_t>(own_wait_.count())}
      .put_into(credit);
}

// Numbers from outside: those that are absurd are as good as none.
void Pacer::hear(LinkId link, const wire::Header& credit) {
  const auto found = paths_.find(link);
  if (found == paths_.end()) return;
  const wire::CreditFrame told = wire::CreditFrame::of(credit);
  if (told.round_trip_ns > kMostTold || told.loop_wait_ns > kMostTold) return;
  found->second.on_far_round_trip(std::chrono::nanoseconds(told.round_trip_ns));
  found->second.on_waits(own_wait_ + std::chrono::nanoseconds(told.loop_wait_ns));
}

// A quarter of the limit is the largest slice, whatever the path would like. Windows follow rates,
// and rates of those who share a way out follow windows: whatever they are they stay so. Who has
// less than its part takes a little more, until it has that.
Bounds Pacer::limited(std::uint64_t window_bytes, std::uint64_t quantum_bytes) const {
  const std::uint64_t most = std::max(limit_bytes_ / 4, kAlignment) / kAlignment * kAlignment;
  const std::uint64_t wanted = may_grow_ ? window_bytes / 4 * 5 : window_bytes;
  return {.window_bytes = std::min(wanted, limit_bytes_),
          .quantum_bytes = std::min(quantum_bytes, most)};
}

Bounds Pacer::bounds_of(const Path& path) const {
  return limited(path.window_bytes(), path.quantum_bytes());
}

Bounds Pacer::bulk_bounds_of(const Path& path) const {
  return limited(path.bulk_window_bytes(), path.bulk_quantum_bytes());
}

void Pacer::shape(LinkId link, const Path& path) {
  queue_.windows().shape(link, bounds_of(path), bulk_bounds_of(path));
}

// The way out is as fast as all paths together are, and what has left it must not count: a slow
// far end does not hold up the others.
void Pacer::shape_all(Time now) {
  shaped_all_at_ = now;
  std::uint64_t quantum = 0;
  std::uint64_t bulk_quantum = 0;
  sums_ = {};
  for (auto& [link, path] : paths_) {
    queue_.windows().departed(link, path.departed_bytes(now));
    quantum = std::max(quantum, bounds_of(path).quantum_bytes);
    bulk_quantum = std::max(bulk_quantum, bulk_bounds_of(path).quantum_bytes);
    if (queue_.windows().in_flight(link) > 0) sums_ += path.sums();
  }
  const std::uint64_t own_quantum = quantum;
  const std::uint64_t own_bulk_quantum = bulk_quantum;
  PathSums all = sums_;
  all += share_.others;
  quantum = std::max(quantum, Path::quantum_bytes(all.rate));
  const std::uint64_t window = Path::window_bytes(quantum, all.product_bytes, all.late_bytes);
  bulk_quantum = std::max(bulk_quantum, Path::bulk_quantum_bytes(all.rate));
  const std::uint64_t bulk_window =
      Path::window_bytes(bulk_quantum, all.product_bytes, all.bulk_late_bytes);
  const std::uint64_t ordinary_part = share_.of(std::min(window, limit_bytes_));
  const std::uint64_t bulk_part = share_.of(std::min(bulk_window, limit_bytes_));
  queue_.windows().set_shaped(ordinary_part, bulk_part);
  const std::uint64_t here = queue_.windows().shaped_in_flight();
  const bool wide = here > ordinary_part;
  const bool has_less =
      here + (wide ? own_bulk_quantum : own_quantum) <= (wide ? bulk_part : ordinary_part);
  may_grow_ = share_.part < 1 && !share_.above && has_less;
}

// Others' sums change all the time: they are seen when all is shaped again.
void Pacer::set_share(const host::HostShare& share, Time now) {
  const bool other_part = share.part != share_.part;
  share_ = share;
  yielding_.set(share);
  if (share.urgent) other_urgent_until_ = now + kOtherUrgentLasts;
  let_bulk_yield(now);
  if (other_part) shape_all(now);
}

host::HostEntry Pacer::entry(Time now) const {
  host::HostEntry entry;
  for (const auto& [link, path] : paths_) {
    const auto urgency = queue_.backlog().most_urgent(link);
    if (!urgency) continue;
    entry.priority =
        entry.waiting ? std::max(entry.priority, urgency->priority) : urgency->priority;
    entry.waiting = true;
  }
  entry.urgent = urgency_.lasts(now);
  entry.urgent_priority = urgency_.priority();
  entry.here_bytes = queue_.windows().shaped_in_flight();
  entry.paths = sums_;
  entry.taken_bytes = taken_bytes_;
  return entry;
}

const Path* Pacer::find(LinkId link) const {
  const auto found = paths_.find(link);
  return found == paths_.end() ? nullptr : &found->second;
}

}  // namespace stretto
