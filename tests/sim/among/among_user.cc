// SPDX-License-Identifier: Apache-2.0
// Order of operations, lending of memory, and recording of results.
#include "tests/sim/among/among_user.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/operation_change.h"
#include "worker/operations/call_plan.h"

namespace stretto::sim {
namespace {

constexpr std::size_t kMargin = 16;  // Guard bytes around lent memory.
constexpr std::byte kUntouched{0xC5};
constexpr std::byte kGivenBack{0xEE};
constexpr std::size_t kFarthestAhead = 8;

// True if all members get the same value.
bool goes_to_all(CallKind kind) {
  return kind == CallKind::kAllReduce || kind == CallKind::kBroadcast ||
         kind == CallKind::kAllGather;
}

}  // namespace

AmongUser::AmongUser(const AmongPlan& plan, Rank rank, WorkerNode& node, AmongBoard& board,
                     const std::string& address, std::uint64_t seed)
    : plan_(plan),
      rank_(rank),
      node_(node),
      board_(board),
      random_(seed),
      begun_(plan.items.size()),
      known_(plan.circles.size()),
      ready_(plan.circles.size()) {
  for (std::size_t item = 0; item < begun_.size(); ++item) {
    begun_[item] = !plan.concerns(item, rank);
  }
  node_.join(
      [this](const Status& status) {
        joined_ = status.ok();
        if (!status.ok()) outcome_ = status;
      },
      address);
}

void AmongUser::act() {
  if (node_.over() && !outcome_) outcome_ = node_.membership().status();
  if (!joined_ || outcome_ || leaving_) return;
  steer();
  while (random_.chance(0.7)) {
    const std::optional<std::size_t> head = next();
    const bool goes =
        plan_.leave && plan_.leave->rank == rank_ && (!head || *head >= plan_.leave->before);
    if (!head || goes) {
      if (in_flight() > 0) return;
      leaving_ = true;
      board_.left[rank_] = board_.clock.now();
      return node_.leave([this](const Status& status) { outcome_ = status; });
    }
    const std::optional<std::size_t> ahead = random_.chance(0.2) ? one_ahead(*head) : std::nullopt;
    if (ahead) {
      begin(*ahead, true);
    } else if (in_flight() < plan_.most_in_flight && is_ready(*head)) {
      begin(*head, false);
    } else {
      return;
    }
  }
}

// A group is used only after its making has ended.
bool AmongUser::is_ready(std::size_t item) const {
  return plan_.items[item].founds || ready_[plan_.items[item].circle];
}

std::optional<std::size_t> AmongUser::next() {
  const auto found = std::ranges::find(begun_, false);
  if (found == begun_.end()) return {};
  return static_cast<std::size_t>(found - begun_.begin());
}

// True if all members begin the two items in the same order.
bool AmongUser::same_lane(std::size_t one, std::size_t other) const {
  const AmongItem& a = plan_.items[one];
  const AmongItem& b = plan_.items[other];
  if (a.circle != b.circle) return a.founds && b.founds;  // One thread makes all groups.
  if (a.founds || b.founds || a.sends() != b.sends()) return a.founds || b.founds;
  const auto ends = [](const AmongItem& item) {
    return std::tuple(item.call.root, item.peer, item.tag);
  };
  return !a.sends() || ends(a) == ends(b);
}

// Picks an item with no order relative to earlier ones. At most one at a time: otherwise all
// workers could wait for calls that their peers have not begun for the same reason.
std::optional<std::size_t> AmongUser::one_ahead(std::size_t head) {
  const bool full = in_flight() + 1 > plan_.most_in_flight;
  if (full || std::ranges::any_of(in_flight_, &Lent::ahead)) return {};
  const std::size_t last = std::min(head + kFarthestAhead, begun_.size());
  for (std::size_t item = head + 1; item < last; ++item) {
    if (begun_[item] || !is_ready(item) || plan_.items[item].founds) continue;
    if (plan_.leave && plan_.leave->rank == rank_ && item >= plan_.leave->before) continue;
    bool first = true;
    for (std::size_t before = head; before < item; ++before) {
      first = first && (begun_[before] || !same_lane(before, item));
    }
    if (first && random_.chance(0.5)) return item;
  }
  return {};
}

// ---- beginning

void AmongUser::begin(std::size_t item, bool ahead) {
  begun_[item] = true;
  ++board_.begun;
  board_.events[item][rank_].begun = board_.clock.now();
  if (plan_.items[item].founds) return found(item);
  auto lent = std::make_shared<Lent>();
  lent->item = item;
  lent->ahead = ahead;
  start(item, lent);
}

// As Group::of, without blocking.
void AmongUser::found(std::size_t item) {
  const std::size_t index = plan_.items[item].circle;
  const Circle& circle = plan_.circles[index];
  ++founding_;
  node_.work().declare(
      circle.spec,
      [this, item, index](const Result<Tensor>& tensor) {
        --founding_;
        AmongEvent& event = board_.events[item][rank_];
        if (!tensor.ok() || !plan_.circles[index].is_group) {
          event.ended = board_.clock.now();
          event.end = tensor.status();
        }
        if (!tensor.ok()) {
          // Without a handle of the group, its other calls are skipped.
          for (std::size_t other = 0; other < begun_.size(); ++other) {
            if (plan_.items[other].circle == index) begun_[other] = true;
          }
          return;
        }
        known_[index] = *tensor;
        board_.circles[tensor->id] = index;
        if (!plan_.circles[index].is_group) {
          ready_[index] = true;
          return;
        }
        auto barrier = std::make_shared<Lent>();
        barrier->item = item;
        start(item, barrier);
      },
      circle.is_group ? circle.ranks : std::vector<Rank>());
}

// Sometimes lends one buffer for both directions, where the program may work in place.
void AmongUser::lend(const AmongItem& what, std::size_t item, Lent& lent) {
  const Circle& circle = plan_.circles[what.circle];
  const std::uint32_t place = circle.place_of(rank_);
  const std::size_t width = bytes_of(what.call.dtype);
  const AmongSizes sizes = sizes_of(what, circle, place);
  const CallKind kind = what.call.kind;
  lent.source = board_.oracle.source(item, rank_);
  lent.target.assign(sizes.target * width + 2 * kMargin, kUntouched);
  lent.wanted = std::span(lent.target).subspan(kMargin, sizes.target * width);
  Operation& operation = *lent.operation;
  operation.source = lent.source;
  operation.target = lent.wanted;
  const bool whole = kind == CallKind::kAllReduce || kind == CallKind::kReduce;
  const bool block = kind == CallKind::kAllGather || kind == CallKind::kGather;
  const bool in_place = (whole || block) && !lent.wanted.empty() && random_.chance(0.4);
  if (kind == CallKind::kBroadcast || in_place) {
    const std::size_t at = block ? place * lent.source.size() : 0;
    std::ranges::copy(lent.source, lent.wanted.begin() + static_cast<std::ptrdiff_t>(at));
    operation.source = lent.wanted.subspan(at, lent.source.size());
  }
}

void AmongUser::start(std::size_t item, const LentPtr& lent) {
  const bool founds = plan_.items[item].founds;
  const std::size_t index = plan_.items[item].circle;
  const Circle& circle = plan_.circles[index];
  const AmongItem& what = plan_.item_of(item, rank_);
  lent->operation = std::make_shared<Operation>();
  Operation& operation = *lent->operation;
  operation.tensor = *known_[index];
  operation.priority = static_cast<std::int32_t>(random_.below(5)) - 2;
  GroupCallArgs call;
  if (!founds) {
    lend(what, item, *lent);
    call = {
        .call = what.call, .source = operation.source, .target = operation.target, .tag = what.tag};
    if (what.sends()) call.peer = what.peer;
  }
  if (what.unlike && !founds) {
    AmongSizes sizes = sizes_of(what, circle, circle.place_of(rank_));
    call.call.elements = 0;
    call.give = std::move(sizes.give);
    call.take = std::move(sizes.take);
  }
  const bool at_root = circle.place_of(rank_) == what.call.root;
  operation.kind = Operation::Kind::kCall;
  if (circle.is_group) {
    operation.call = std::make_shared<const GroupCallArgs>(std::move(call));
  } else if (what.call.kind == CallKind::kAllReduce) {
    operation.kind = Operation::Kind::kPushPull;
  } else {
    operation.kind =
        at_root ? Operation::Kind::kBroadcastRoot : Operation::Kind::kBroadcastReceiver;
    operation.root = what.call.root;
  }
  operation.ticket = std::make_shared<detail::TicketState>(1);
  in_flight_.push_back(lent);
  // in_flight_ holds it until then; a ticket that never ends must not hold itself.
  operation.ticket->on_done([this, lent_to = std::weak_ptr(lent)](const Status& status) {
    if (const LentPtr known = lent_to.lock()) ended(known, status);
  });
  node_.work().start(lent->operation);
}

// ---- the end

void AmongUser::ended(const LentPtr& lent, const Status& status) {
  const std::size_t item = lent->item;
  AmongEvent& event = board_.events[item][rank_];
  if (event.ended) wrong(item, "it ended twice");
  event.ended = board_.clock.now();
  event.end = status;
  std::erase(in_flight_, lent);
  const AmongItem& what = plan_.items[item];
  if (what.founds) {
    ready_[what.circle] = true;  // If the barrier failed, all later calls report it.
  } else if (status.ok()) {
    look_at(*lent);
  }
  // From now on the program owns the memory.
  std::ranges::fill(lent->source, kGivenBack);
  std::ranges::fill(lent->target, kGivenBack);
  lent->operation.reset();
}

void AmongUser::look_at(const Lent& lent) {
  const std::size_t item = lent.item;
  const bool odd = plan_.odd && plan_.odd->item == item;
  if (odd) return;  // The job reports that the call should have failed.
  if (const std::string why = board_.oracle.complaint(item, rank_, lent.wanted); !why.empty()) {
    board_.report("results equal the oracle's",
                  fmt::format("worker {}, item {}: {}", rank_, item, why));
  }
  const std::span<const std::byte> target = lent.target;
  const auto touched = [](std::byte each) { return each != kUntouched; };
  if (std::ranges::any_of(target.first(kMargin), touched) ||
      std::ranges::any_of(target.last(kMargin), touched)) {
    wrong(item, "memory beside the target was written to");
  }
  std::map<Rank, std::vector<std::byte>>& values = board_.values[item];
  const std::vector<std::byte> value(lent.wanted.begin(), lent.wanted.end());
  if (goes_to_all(plan_.items[item].call.kind) && !values.empty() &&
      values.begin()->second != value) {
    board_.report(
        "all members have the same bytes",
        fmt::format("worker {} and worker {}, item {}", rank_, values.begin()->first, item));
  }
  values[rank_] = value;
}

void AmongUser::wrong(std::size_t item, const std::string& what) {
  board_.report("calls keep to their memory and end once",
                fmt::format("worker {}, item {}: {}", rank_, item, what));
}

// Changes priorities, pauses, resumes and cancels operations in flight.
void AmongUser::steer() {
  using Kind = detail::Change::Kind;
  const std::vector<LentPtr> all = in_flight_;  // Some may end meanwhile.
  for (const LentPtr& each : all) {
    const OperationPtr operation = each->operation;
    if (operation == nullptr) continue;
    const bool paused = operation->paused;
    detail::Change change{.kind = paused ? Kind::kResume : Kind::kPriority,
                          .priority = static_cast<std::int32_t>(random_.below(5)) - 2};
    if (!random_.chance(paused ? 0.5 : 0.05)) continue;
    if (!paused && plan_.pauses && random_.chance(0.4)) change.kind = Kind::kPause;
    node_.work().steer(operation, change);
  }
}

std::string AmongUser::describe() const {
  const auto left = std::ranges::count(begun_, false);
  std::string text =
      fmt::format("worker {}: {} of {} to begin, {} in flight{}{}", rank_, left, begun_.size(),
                  in_flight(), joined_ ? "" : ", not joined", leaving_ ? ", leaving" : "");
  for (const LentPtr& each : in_flight_) text += fmt::format(", item {}", each->item);
  if (outcome_) text += fmt::format(", ended with {}", outcome_->text());
  return text;
}

}  // namespace stretto::sim
