// SPDX-License-Identifier: Apache-2.0
// The invariants checked after the job has ended.
#include <fmt/format.h>

#include <algorithm>

#include "tests/sim/among/among_job.h"

namespace stretto::sim {
namespace {

constexpr Duration kLostWithin = 12s;
constexpr Duration kGatheredWithin = 16s;  // Limit for a worker lost before all have joined.
constexpr Duration kToldOfAnother = 1s;    // Limit for Mismatch, from the last member's call.
constexpr Duration kToldOfLeave = 3s;

bool says(const Status& status, const std::string& words) {
  return status.text().find(words) != std::string::npos;
}

}  // namespace

void AmongJob::check_end() {
  for (std::size_t item = 0; item < plan_.items.size(); ++item) {
    for (Rank rank = 0; rank < plan_.workers; ++rank) check_item(item, rank);
  }
  if (plan_.odd) check_odd();
  if (plan_.leave) check_left();
  check_outcomes();
  for (std::size_t circle = 0; circle < plan_.circles.size(); ++circle) {
    if (plan_.circles[circle].closes()) check_closing(circle);
  }
  if (plan_.is_calm()) check_bytes();
}

// Each contribution counts once over the rounds. The last three of a worker may be delayed, or lost
// if the tensor drops delayed gradients.
void AmongJob::check_closing(std::size_t circle) {
  const Circle& all = plan_.circles[circle];
  const CloseOptions& close = all.spec.options.close;
  const std::uint32_t shares = board_.oracle.shares(all);
  std::vector<std::uint32_t> sums(all.spec.elements * shares);
  std::uint32_t round = 0;
  for (std::size_t item = 0; item < plan_.items.size(); ++item) {
    if (plan_.items[item].circle != circle || plan_.items[item].founds) continue;
    if (board_.values[item].empty()) return;
    ++round;
    const std::vector<std::byte>& value = board_.values[item].begin()->second;
    for (std::uint64_t element = 0; element < all.spec.elements; ++element) {
      const std::vector<std::uint32_t> counts = board_.oracle.counts(item, value, element);
      for (std::uint32_t giver = 0; giver < counts.size(); ++giver) {
        const std::uint32_t sum = sums[element * shares + giver] += counts[giver];
        const bool drops = close.backups == 0 && close.late == Late::kDrop;
        if (sum <= round && (drops || sum + 3 >= round)) continue;
        report("each contribution counts once",
               fmt::format("item {}, element {}: in {} rounds worker {}'s is there {} times", item,
                           element, round, giver, sum));
        return;
      }
    }
  }
}

// Each operation that was begun has ended, with ok unless the plan explains the error.
void AmongJob::check_item(std::size_t item, Rank rank) {
  const AmongEvent& event = board_.events[item][rank];
  const std::string name = fmt::format("worker {}", rank);
  if (lost_.contains(name)) return;
  if (event.begun && !event.ended) {
    report("tickets end once", fmt::format("{}, item {} has never ended", name, item));
  }
  if (event.end.ok() || may_fail(item, event)) return;
  report("no error without a cause", fmt::format("{}, item {}: {}", name, item, event.end.text()));
}

// The error names a worker that had left by then, possibly because all of its calls had failed.
bool AmongJob::names_who_left(const AmongEvent& event) const {
  return event.end.code() == Code::kPeerLost &&
         std::ranges::any_of(board_.left, [&event](const auto& left) {
           return left.second <= *event.ended &&
                  says(event.end, fmt::format("worker {} has left", left.first));
         });
}

bool AmongJob::may_fail(std::size_t item, const AmongEvent& event) const {
  const Status& why = event.end;
  if (!lost_.empty()) return names_the_lost(why);
  const std::size_t circle = plan_.items[item].circle;
  if (plan_.odd) {
    const bool same = circle == plan_.items[plan_.odd->item].circle;
    const bool begun = board_.events[plan_.odd->item][plan_.odd->rank].begun.has_value();
    return same && begun && (why.code() == Code::kMismatch || names_who_left(event));
  }
  if (!plan_.leave) return false;
  // Calls that need a contribution of the departed worker, and the making of such a group.
  const Circle& all = plan_.circles[circle];
  const bool is_in = all.place_of(plan_.leave->rank) < all.size();
  if (!is_in || !names_who_left(event)) return false;
  for (std::size_t other = plan_.leave->before; other < plan_.items.size(); ++other) {
    if (plan_.items[other].circle != circle || !plan_.concerns(other, plan_.leave->rank)) continue;
    if (std::ranges::any_of(board_.events[other],
                            [](const AmongEvent& each) { return each.begun.has_value(); })) {
      return true;
    }
  }
  return false;
}

// The time at which the last member of the item began it; Time::max() if one never did.
Time AmongJob::all_begun(std::size_t item) const {
  Time last = began_;
  for (Rank rank = 0; rank < plan_.workers; ++rank) {
    if (!plan_.concerns(item, rank)) continue;
    const std::optional<Time>& begun = board_.events[item][rank].begun;
    last = begun ? std::max(last, *begun) : Time::max();
  }
  return last;
}

// All members of the item get Mismatch with both calls within kToldOfAnother.
void AmongJob::check_odd() {
  const AmongPlan::Odd& odd = *plan_.odd;
  const std::string one = plan_.items[odd.item].call.describe();
  const std::string other = odd.instead.call.describe();
  const Time due =
      all_begun(odd.item) == Time::max() ? Time::max() : all_begun(odd.item) + kToldOfAnother;
  for (Rank rank = 0; rank < plan_.workers; ++rank) {
    if (!plan_.concerns(odd.item, rank)) continue;
    const AmongEvent& event = board_.events[odd.item][rank];
    if (!event.begun || !event.ended) {
      report("members that disagree are told", fmt::format("worker {} has not called", rank));
      return;
    }
    const bool told =
        event.end.code() == Code::kMismatch && says(event.end, one) && says(event.end, other);
    if (told && *event.ended <= due) continue;
    report("members that disagree are told",
           fmt::format("worker {}, item {}: wanted {} and {} at {:.3f} ms, found {} at {:.3f} ms",
                       rank, odd.item, one, other, seconds(due - began_) * 1e3,
                       event.end.ok() ? "ok" : event.end.text(),
                       seconds(*event.ended - began_) * 1e3));
  }
}

// Calls that need the departed worker fail within kToldOfLeave and name it.
void AmongJob::check_left() {
  Time left = began_;
  for (const auto& process : processes_) {
    if (process->user == nullptr || process->rank != plan_.leave->rank) continue;
    for (std::size_t item = 0; item < plan_.items.size(); ++item) {
      const std::optional<Time>& ended = board_.events[item][process->rank].ended;
      if (ended) left = std::max(left, *ended);
    }
  }
  for (std::size_t item = plan_.leave->before; item < plan_.items.size(); ++item) {
    if (!plan_.concerns(item, plan_.leave->rank)) continue;
    for (Rank rank = 0; rank < plan_.workers; ++rank) {
      const AmongEvent& event = board_.events[item][rank];
      const bool waits = event.begun && event.ended && !plan_.items[item].founds;
      const bool goes_on = plan_.circles[plan_.items[item].circle].closes() && event.end.ok();
      if (goes_on) continue;  // Rounds that closed before the leave was known.
      if (rank == plan_.leave->rank || !waits || !plan_.concerns(item, rank)) continue;
      const Time due = std::max(left, *event.begun) + kToldOfLeave;
      if (!event.end.ok() && *event.ended <= due) continue;
      report("who left is missed", fmt::format("worker {}, item {}: {} at {:.3f} ms", rank, item,
                                               event.end.ok() ? "ok" : event.end.text(),
                                               seconds(*event.ended - began_) * 1e3));
    }
  }
}

// The blamed peer, if any, is lost: not a waiter. kLinkBroken blames either end of a link.
bool AmongJob::names_the_lost(const Status& status) const {
  const bool blames = status.code() != Code::kLinkBroken && !status.peer().empty();
  if (blames && !lost_.contains(status.peer())) return false;
  return std::ranges::any_of(lost_,
                             [&status](const auto& each) { return says(status, each.first); });
}

// Survivors end with ok, or before the deadline with an error that names a lost process.
void AmongJob::check_outcomes() {
  Time due = Time::max();
  for (const auto& [name, at] : lost_) due = std::max(due == Time::max() ? at : due, at);
  const bool gathered = std::ranges::all_of(processes_, [](const auto& process) {
    return process->user == nullptr || process->user->joined();
  });
  if (due != Time::max()) due += gathered ? kLostWithin : kGatheredWithin;
  for (const auto& process : processes_) {
    const bool lives = process->alive && !lost_.contains(process->name);
    if (lives && process->over_at && *process->over_at > due) {
      report("who is left ends in time", fmt::format("{} at {:.3f} ms", process->name,
                                                     seconds(*process->over_at - began_) * 1e3));
    }
    if (process->user == nullptr || !process->alive || lost_.contains(process->name)) continue;
    const std::optional<Status>& outcome = process->user->outcome();
    if (!outcome) {
      report("tickets end once", process->name + " is over without a word");
    } else if (!outcome->ok() && lost_.empty()) {
      report("no error without a cause", fmt::format("{}: {}", process->name, outcome->text()));
    } else if (!outcome->ok() && !names_the_lost(*outcome)) {
      report("errors name the cause",
             fmt::format("{}: {} (peer {})", process->name, outcome->text(), outcome->peer()));
    }
  }
}

// Call numbers as the members count them: making a group is its call 1.
void AmongJob::check_bytes() {
  std::vector<std::uint64_t> numbers(plan_.circles.size());
  std::vector<Traffic> sends(plan_.circles.size());
  const auto compare = [this](std::size_t item, std::uint32_t place, const AmongTraffic& wanted,
                              const AmongTraffic& found) {
    if (found.sent == wanted.sent && found.taken == wanted.taken) return;
    report("bytes are what the call wants",
           fmt::format("item {}, member {}: sent {} and took {} bytes, wanted {} and {}", item,
                       place, found.sent, found.taken, wanted.sent, wanted.taken));
  };
  for (std::size_t item = 0; item < plan_.items.size(); ++item) {
    const AmongItem& what = plan_.items[item];
    const Circle& circle = plan_.circles[what.circle];
    sends[what.circle].resize(circle.size());
    if (what.founds) {
      if (circle.is_group) ++numbers[what.circle];
      continue;
    }
    Traffic found = what.sends() ? Traffic() : carried_[{what.circle, ++numbers[what.circle]}];
    found.resize(circle.size());
    std::uint64_t all = 0;
    for (std::uint32_t place = 0; place < circle.size(); ++place) {
      const std::optional<AmongTraffic> wanted =
          what.concerns(place) ? board_.oracle.traffic(item, place) : std::nullopt;
      all += found[place].sent;
      if (circle.closes()) continue;  // Delayed contributions may be dropped unsent.
      if (what.sends()) {
        if (!wanted) continue;
        sends[what.circle][place].sent += wanted->sent;
        sends[what.circle][place].taken += wanted->taken;
      } else if (wanted) {
        compare(item, place, *wanted, found[place]);
      } else if (what.call.kind == CallKind::kAllReduce) {  // Equal bytes up and down each edge.
        compare(item, place, {found[place].sent, found[place].sent}, found[place]);
      }
    }
    if (circle.closes()) continue;
    const auto [least, most] = board_.oracle.traffic_of_all(item);
    if (what.sends() || (all >= least && all <= most)) continue;
    report("bytes are what the call wants",
           fmt::format("item {}: {} bytes in all, wanted {} to {}", item, all, least, most));
  }
  for (std::size_t circle = 0; circle < sends.size(); ++circle) {
    Traffic& found = carried_[{circle, 0}];
    found.resize(plan_.circles[circle].size());
    sends[circle].resize(found.size());
    for (std::uint32_t place = 0; place < found.size(); ++place) {
      compare(plan_.items.size(), place, sends[circle][place], found[place]);
    }
  }
}

}  // namespace stretto::sim
