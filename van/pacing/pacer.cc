// SPDX-License-Identifier: Apache-2.0
// Computes windows from paths.
#include "van/pacing/pacer.h"

#include <algorithm>

#include "common/clock.h"
#include "van/wire/frame_views.h"

namespace stretto {
namespace {

constexpr Duration kShapeAllEvery = 500us;
constexpr Duration kShareLookEvery = 1ms;    // Check for room that other processes have freed.
constexpr Duration kOtherUrgentLasts = 1s;   // After urgent data of another process,
constexpr Duration kFarUrgentLasts = 100ms;  // or of a peer, which reports it with each credit.
constexpr std::uint64_t kMostTold = 60'000'000'000;  // Nanoseconds.
constexpr std::uint64_t kAlignment = 64;             // Slices contain whole, aligned elements.
constexpr std::uint64_t kCreditsOfWindow = 4;        // More credits would not help.
// A link that used a quarter of the uplink may use all of it immediately.
constexpr double kLinkGain = 4;

// A slice is at most a quarter of the limit. Rates of senders that share an uplink follow their
// windows, and windows follow rates, so any division is stable. A process below its share therefore
// takes a little more, until it has its share (`may_grow`).
WindowLimits limited(const WindowLimits& bounds, std::uint64_t limit_bytes, bool may_grow) {
  const std::uint64_t most = std::max(limit_bytes / 4, kAlignment) / kAlignment * kAlignment;
  const std::uint64_t wanted = may_grow ? bounds.window_bytes / 4 * 5 : bounds.window_bytes;
  return {.window_bytes = std::min(wanted, limit_bytes),
          .quantum_bytes = std::min(bounds.quantum_bytes, most)};
}

}  // namespace

void Pacer::add_link(LinkId link, Time now) {
  const auto [found, is_new] = links_.try_emplace(link);
  if (!is_new) return;
  shape(link, found->second);
  shape_all(now);
}

void Pacer::remove_link(LinkId id) {
  const auto found = links_.find(id);
  if (found == links_.end()) return;
  if (!found->second.path.is_idle()) --busy_links_;
  links_.erase(found);
  downlink_.remove(id);
}

void Pacer::on_time(Time now) {
  choose_mode(now);
  if (!links_.empty() && now - shaped_all_at_ >= kShapeAllEvery) shape_all(now);
}

// The turn of the oldest data makes no other data yield.
std::optional<SendQueue::Pick> Pacer::next(Time now) {
  const auto pick = queue_.next();
  yields_ = false;
  if (!pick || pick->control || !links_.contains(pick->link)) return pick;
  const bool held = yielding_.holds(pick->frame->header.priority, now);
  if (!held || pick->aged) return pick;
  yields_ = true;
  return queue_.next(Candidates::kUnshaped);
}

Time Pacer::next_look(Time now) const {
  const bool yields = yields_ && queue_.waiting() > 0;
  if (yields || (queue_.held_back() && share_.part < 1)) return now + kShareLookEvery;
  if (!queue_.held_back()) return Time::max();
  const Time looked = shaped_all_at_ + kShapeAllEvery;
  return departs_at_ == Time::max() ? looked : std::max(departs_at_, looked);
}

bool Pacer::wants_credit(LinkId link, std::uint64_t charge) {
  const auto found = links_.find(link);
  if (found == links_.end()) return false;
  const std::uint64_t sent = queue_.windows().sent(link) + charge;
  if (sent - found->second.asked_bytes < found->second.credit_step_bytes) return false;
  found->second.asked_bytes = sent;
  return true;
}

void Pacer::on_sent(LinkId link, std::uint64_t charge, Time now) {
  const auto found = links_.find(link);
  if (found == links_.end()) return;
  // A sender that yields to others does not show the path's rate.
  const bool more = queue_.backlog().has_data(link) && !share_.above;
  uplink_.on_sent(busy_links_ == 0, queue_.waiting() > 1 && !share_.above, now);
  if (found->second.path.is_idle()) ++busy_links_;
  found->second.path.on_sent(queue_.windows().sent(link), charge, more, now);
  yielding_.on_sent(charge, now);
  shape(link, found->second);
}

// Links to this host have no slices, and nothing waits for slices there.
void Pacer::note_urgency(const Frame& frame, std::uint64_t bytes, Time now) {
  if (!links_.contains(frame.link)) return;
  urgency_.note(frame.urgency(), frame.bulk, bytes, now);
  choose_mode(now);
}

void Pacer::choose_mode(Time now) {
  const bool urgent = urgency_.lasts(now) || now < other_urgent_until_;
  queue_.windows().set_latency_mode(urgent ? std::optional(urgency_.background()) : std::nullopt);
}

void Pacer::note_taken(LinkId id, std::uint64_t taken_bytes, Time now) {
  Shaped& link = links_.at(id);
  const std::uint64_t before = link.path.taken_bytes();
  const bool was_idle = link.path.is_idle();
  link.path.on_credit(taken_bytes, now);
  taken_bytes_ += link.path.taken_bytes() - before;
  if (!was_idle && link.path.is_idle()) --busy_links_;
  uplink_.on_taken(taken_bytes_, busy_links_ == 0, link.path.round_trip(), now);
  shape(id, link);
  on_time(now);
}

void Pacer::on_data(LinkId link, std::uint64_t bytes, std::int32_t priority, bool urgent,
                    Time now) {
  if (!links_.contains(link)) return;
  downlink_.on_data(link, bytes, now);
  const Time deadline = urgent ? Time::min() : Time::max();
  coming_.note({priority, deadline}, !urgent, bytes, now);
}

void Pacer::tell(LinkId link, wire::Header& credit, Time now) {
  if (!links_.contains(link)) return;
  wire::CreditFrame{.grant = downlink_.grant(now),
                    .loop_wait_ns = static_cast<std::uint64_t>(own_wait_.count()),
                    .sent_us = sent_us(now)}
      .put_into(credit);
  if (coming_.lasts(now)) credit.flags = static_cast<std::uint16_t>(credit.flags | wire::kUrgent);
}

// Values from a peer: implausible ones are ignored.
void Pacer::hear(LinkId link, const wire::Header& credit, Time now) {
  const auto found = links_.find(link);
  if (found == links_.end()) return;
  const wire::CreditFrame told = wire::CreditFrame::of(credit);
  if (told.loop_wait_ns <= kMostTold) {
    found->second.waits = own_wait_ + std::chrono::nanoseconds(told.loop_wait_ns);
  }
  found->second.grant = std::min(told.grant, limit_bytes_);
  if (told.sent_us != 0) found->second.returns.note(told.sent_us, now);
  if ((credit.flags & wire::kUrgent) == 0) return;
  other_urgent_until_ = std::max(other_urgent_until_, now + kFarUrgentLasts);
  choose_mode(now);
}

// A link has the window of the whole uplink: it uses the rest immediately when other links of its
// round have finished. The queue of a slow peer is at most four times as long.
PathEstimate Pacer::estimate_of(const Shaped& link) const {
  const double own = link.path.rate();
  const double uplink = std::max(uplink_.get() + share_.others.rate, own);
  const double rate = std::min(uplink, kLinkGain * own);
  return link.estimate_at(rate);
}

void Pacer::shape(LinkId id, Shaped& link) {
  const PathEstimate path = estimate_of(link);
  WindowLimits latency = limited(latency_bounds(path), limit_bytes_, may_grow_);
  link.credit_step_bytes = latency.window_bytes / kCreditsOfWindow;
  if (link.grant > 0) {
    latency = limit_latency(latency, link.grant, link.estimate_at(link.path.rate()));
  }
  queue_.windows().shape(id, latency,
                         limited(throughput_bounds(path, link.granted()), limit_bytes_, may_grow_));
}

// Bytes that have left this host do not count: a slow peer does not block other links. The least
// round trip of all is the mean over active links, weighted by rate.
void Pacer::shape_all(Time now) {
  shaped_all_at_ = now;
  PathEstimate links;
  Duration waits{};
  double trips = 0;
  double queued = 0;
  double fastest = 0;
  std::uint64_t granted = 0;
  bool all_granted = true;
  departs_at_ = Time::max();
  for (auto& [id, link] : links_) {
    const WindowLimits bounds = throughput_bounds(estimate_of(link), link.granted());
    queue_.windows().departed(id, link.path.departed_bytes(bounds.window_bytes, now));
    departs_at_ = std::min(departs_at_, link.path.departs_at());
    if (link.path.is_idle() && !queue_.backlog().has_data(id)) continue;
    fastest = std::max(fastest, link.path.rate());
    granted += link.granted();
    all_granted = all_granted && link.grant > 0;
    trips += link.path.rate() * seconds(link.path.round_trip());
    queued += link.path.rate() * seconds(link.returns.get());
    links.rate += link.path.rate();
    waits = std::max(waits, link.waits);
  }
  const auto mean = [&links](double sum) {
    const std::chrono::duration<double> each(links.rate > 0 ? sum / links.rate : 0);
    return std::chrono::duration_cast<Duration>(each);
  };
  const double rate = std::max(uplink_.get(), fastest);
  PathEstimate all = estimate(rate, mean(trips), mean(queued), waits);
  estimate_ = links.rate > 0 ? all : PathEstimate();
  all += share_.others;
  const WindowLimits latency = limited(latency_bounds(all), limit_bytes_, may_grow_);
  if (!all_granted) granted = 0;
  const WindowLimits throughput = limited(throughput_bounds(all, granted), limit_bytes_, may_grow_);
  const std::uint64_t latency_part = share_.of(std::min(latency.window_bytes, limit_bytes_));
  const std::uint64_t throughput_part = share_.of(std::min(throughput.window_bytes, limit_bytes_));
  queue_.windows().set_shaped(latency_part, throughput_part);
  const std::uint64_t here = queue_.windows().shaped_in_flight();
  const bool wide = here > latency_part;
  const std::uint64_t next =
      here + (wide ? throughput_bounds(all, granted) : latency_bounds(all)).quantum_bytes;
  may_grow_ = share_.part < 1 && !share_.above && next <= (wide ? throughput_part : latency_part);
}

// Sums of other processes change constantly: they take effect with the next shape_all().
void Pacer::set_share(const host::WindowShare& share, Time now) {
  const bool other_part = share.part != share_.part;
  share_ = share;
  yielding_.set(share);
  if (share.urgent) other_urgent_until_ = now + kOtherUrgentLasts;
  choose_mode(now);
  if (other_part) shape_all(now);
}

host::HostEntry Pacer::entry(Time now) const {
  host::HostEntry entry;
  for (const auto& [id, link] : links_) {
    const auto urgency = queue_.backlog().most_urgent(id);
    if (!urgency) continue;
    entry.priority =
        entry.waiting ? std::max(entry.priority, urgency->priority) : urgency->priority;
    entry.waiting = true;
  }
  entry.urgent = urgency_.lasts(now);
  entry.urgent_priority = urgency_.priority();
  entry.here_bytes = queue_.windows().shaped_in_flight();
  entry.paths = estimate_;
  entry.taken_bytes = taken_bytes_;
  return entry;
}

const PathEstimator* Pacer::find(LinkId link) const {
  const auto found = links_.find(link);
  return found == links_.end() ? nullptr : &found->second.path;
}

}  // namespace stretto
