// SPDX-License-Identifier: Apache-2.0
// What each event does to the next view. Events come from peers in any order: none of them may
// break an invariant, and what makes no sense is refused or has no effect.
#include "scheduler/view_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/clock.h"

namespace stretto {
namespace {

constexpr Duration kDoubt = 2s;            // How long a reported break may wait for its cause.
constexpr Duration kFailingLasts = 500ms;  // How long failing waits for its words to leave.
// How long servers have to go, at least. Who has heard nothing for less than the dead time has yet
// to hear that all is well.
constexpr Duration kServersLeave = 3s;

Code code_of_loss(Role role) { return role == Role::kServer ? Code::kServerLost : Code::kPeerLost; }

bool is_in(const Member* member) { return member != nullptr && !member->left; }

bool changes_size(Sizing sizing) { return sizing != Sizing::kFixed; }

std::uint64_t least_workers(const Config& config) { return std::max(config.job.min_workers, 1U); }

// Workers beside this one. Those who have finished count besides: they are no reason to end the
// others.
std::uint64_t in_without(const View& view, const Member& worker) {
  return static_cast<std::uint64_t>(std::ranges::count_if(view.members, [&](const auto& item) {
    const Member& other = item.second;
    return other.role == Role::kWorker && !other.left && other.node != worker.node;
  }));
}

// If nobody else contributes, all who are in do: a round is somebody's.
void end_contribution(View& next, NodeId node, std::uint64_t round) {
  View::Contributors& now = next.contributors;
  if (now.nodes.erase(node) == 0) return;
  for (const auto& [id, member] : next.members) {
    if (!now.nodes.empty()) break;
    if (member.role == Role::kWorker && id != node) now.nodes.insert(id);
  }
  if (now.nodes.empty() && next.find(node) != nullptr) now.nodes.insert(node);
  now.from_round = std::max(now.from_round, round);
}

}  // namespace

ViewMachine::ViewMachine(const Config& config, Time now, Sizing sizing)
    : config_(config),
      sizing_(sizing),
      now_(now),
      deadline_(now + config.rendezvous_timeout),
      admission_(config),
      slots_(kSlots, {}) {}

std::vector<ViewOrder> ViewMachine::on(const ViewEvent& event, Time now) {
  now_ = now;
  std::visit([this](const auto& what) { take(what); }, event);
  return std::exchange(orders_, {});
}

Time ViewMachine::next_due() const {
  Time due = deadline_;
  for (const auto& [node, deadline] : notices_) due = std::min(due, deadline);
  return due;
}

// ---- those who come

void ViewMachine::take(const Join& join) {
  const bool late = sizing_ == Sizing::kElastic && phase_ != Phase::kGathering;
  if (sizing_ == Sizing::kShrinking && phase_ != Phase::kGathering) {
    orders_.emplace_back(Refuse{{Code::kRefused, "the job runs already, and takes nobody in"}});
    return;
  }
  if (late && phase_ != Phase::kRunning) {
    orders_.emplace_back(Refuse{{Code::kRefused, "the job is ending"}});
    return;
  }
  const Result<Member> member = late ? admission_.admit_late(join) : admission_.admit(join);
  if (!member.ok()) {
    orders_.emplace_back(Refuse{member.status()});
    return;
  }
  linked_.insert(member->node);
  orders_.emplace_back(Admit{*member});
  next_.members[member->node] = *member;
  if (phase_ == Phase::kGathering && admission_.complete()) begin();
  if (!late) return;
  changed_.insert(member->node);
  if (join.role == Role::kServer) return slots_.add(member->node);
  next_.contributors.nodes.insert(member->node);
  next_.contributors.from_round = std::max(next_.contributors.from_round, join.round);
}

void ViewMachine::begin() {
  std::vector<NodeId> shards;
  for (const Member& member : admission_.members()) {
    changed_.insert(member.node);
    if (member.role == Role::kServer) shards.push_back(member.node);
    if (member.role == Role::kWorker) next_.contributors.nodes.insert(member.node);
  }
  next_.slots = SlotMap(kSlots, shards);
  slots_ = SlotTable(kSlots, shards);
  fenced_ = true;
  phase_ = Phase::kRunning;
  deadline_ = Time::max();
  publish();
}

// ---- those who go

void ViewMachine::take(const Left& leave) {
  const Member* member = next_.find(leave.node);
  if (!is_in(member)) return;
  if (phase_ == Phase::kDispersing) next_.members[leave.node].left = true;
  if (phase_ != Phase::kRunning) return;
  const bool worker = member->role == Role::kWorker;
  if (changes_size(sizing_) && !worker && next_.any(Role::kWorker)) {
    return take(Lost{.node = leave.node, .cause = "it has left", .round = leave.round});
  }
  next_.members[leave.node].left = true;
  changed_.insert(leave.node);
  if (!next_.any(Role::kWorker)) {
    disperse();
  } else if (changes_size(sizing_)) {
    if (worker) ++finished_;
    remove(leave.node, leave.round);
  }
}

void ViewMachine::take(const Gone& gone) {
  linked_.erase(gone.node);
  if (phase_ == Phase::kGathering) {
    admission_.remove(gone.node);
    next_.members.erase(gone.node);
    return;
  }
  take(Lost{.node = gone.node, .cause = gone.cause, .round = gone.round});
}

void ViewMachine::take(const Lost& lost) {
  const Member* member = next_.find(lost.node);
  if (phase_ != Phase::kRunning || !is_in(member)) return;
  const bool worker = member->role == Role::kWorker;
  std::string cause = fmt::format("{} is lost: {}", member->describe(), lost.cause);
  if (changes_size(sizing_) && worker &&
      in_without(next_, *member) + finished_ >= least_workers(config_)) {
    lost_[lost.node] = lost.cause;
    remove(lost.node, lost.round);
    if (!next_.any(Role::kWorker)) disperse();
    return;
  }
  const bool spare = !worker && slots_.load(lost.node) == 0 && slots_.shards() > 1;
  if (sizing_ == Sizing::kElastic && spare) {
    fenced_ = true;
    return remove(lost.node, lost.round);
  }
  if (changes_size(sizing_) && worker) {
    cause += fmt::format("; the job goes on with {} workers at least", least_workers(config_));
  }
  end(Status(code_of_loss(member->role), std::move(cause)).with_peer(member->describe()));
}

void ViewMachine::disperse() {
  phase_ = Phase::kDispersing;
  deadline_ = after(now_, std::max(kServersLeave, config_.job.dead_after));
  orders_.emplace_back(Disperse{});
}

// Those who stay keep their order, and take the ranks 0 to n - 1.
void ViewMachine::remove(NodeId node, std::uint64_t round) {
  if (next_.members.at(node).role == Role::kServer) slots_.remove(next_.slots, node);
  next_.members.erase(node);
  end_contribution(next_, node, round);
  notices_.erase(node);
  admission_.remove(node);
  admission_.close_gaps();
  changed_.insert(node);
  for (const Member& member : admission_.members()) {
    Member& known = next_.members.at(member.node);
    if (known.rank != member.rank) changed_.insert(member.node);
    known.rank = member.rank;
    known.moved_up = member.moved_up;
  }
}

void ViewMachine::take(const Notice& notice) {
  const Member* member = next_.find(notice.node);
  if (phase_ != Phase::kRunning || !is_in(member)) return;
  notices_[notice.node] = notice.deadline;
  if (!changes_size(sizing_) || member->role != Role::kWorker) return;
  end_contribution(next_, notice.node, notice.round);
  changed_.insert(notice.node);
}

// ---- links and slots

void ViewMachine::take(const Suspicion& suspicion) {
  if (phase_ != Phase::kRunning || !is_in(next_.find(suspicion.subject)) ||
      next_.find(suspicion.reporter) == nullptr) {
    return;
  }
  const bool known = std::any_of(doubts_.begin(), doubts_.end(), [&](const Doubt& doubt) {
    return doubt.of.reporter == suspicion.reporter && doubt.of.subject == suspicion.subject;
  });
  if (!known) doubts_.push_back({.of = suspicion, .due = now_ + kDoubt});
}

void ViewMachine::take(const Moved& moved) {
  const Member* to = next_.find(moved.to);
  const bool possible = phase_ == Phase::kRunning && is_in(to) && to->role == Role::kServer &&
                        moved.first < kSlots && moved.count <= kSlots - moved.first;
  if (!possible) {
    orders_.emplace_back(Refuse{
        {Code::kInvalidArgument,
         fmt::format("slots {} to {} cannot move to node {}: wanted slots "
                     "below {}, a server that is in, and a job that runs",
                     moved.first, std::uint64_t{moved.first} + moved.count, moved.to, kSlots)}});
    return;
  }
  for (std::uint32_t i = 0; i < moved.count; ++i) {
    slots_.move(next_.slots, moved.first + i, moved.to);
  }
  changed_.insert(moved.to);
  fenced_ = true;
}

// A slot that was empty may change its owner within an epoch: nobody has been told of it.
void ViewMachine::take(const NewTensor& tensor) {
  if (phase_ != Phase::kRunning) {
    orders_.emplace_back(Refuse{{Code::kInvalidArgument, "the job does not run"}});
    return;
  }
  orders_.emplace_back(Placed{slots_.place(next_.slots, tensor.cut)});
  if (changed_.empty()) view_.slots = next_.slots;
}

// ---- the end, and time

void ViewMachine::take(const Stop& stop) { end(stop.why); }

void ViewMachine::end(Status why) {
  if (phase_ == Phase::kFailing || phase_ == Phase::kOver) return;
  status_ = why;
  phase_ = Phase::kFailing;
  deadline_ = now_ + kFailingLasts;
  notices_.clear();
  orders_.emplace_back(EndJob{std::move(why)});
}

// All that changed in one turn together: when W workers leave at once, a whole view to each of them
// for each of them would be W^3 entries.
void ViewMachine::take(const TurnOver&) {
  if (phase_ == Phase::kRunning && !changed_.empty()) publish();
  const bool ends = phase_ == Phase::kDispersing || phase_ == Phase::kFailing;
  if (!ends || !linked_.empty()) return;
  phase_ = Phase::kOver;
  orders_.emplace_back(CloseJob{});
}

void ViewMachine::publish() {
  const std::uint32_t since = view_.epoch;
  next_.epoch = since + 1;
  if (std::exchange(fenced_, false)) next_.fence = next_.epoch;
  STRETTO_CHECK(violation(next_).empty());
  STRETTO_CHECK(violation(view_, next_).empty());
  Publish order{.since = since};
  for (const NodeId node : std::exchange(changed_, {})) {
    if (const Member* member = next_.find(node); member != nullptr) {
      order.changed.push_back(*member);
    } else if (const Member* was = view_.find(node); was != nullptr) {  // Else it came and went.
      order.changed.push_back(*was);
      order.changed.back().left = true;
      if (const auto lost = lost_.find(node); lost != lost_.end()) {
        order.changed.back().lost = true;
        order.lost.push_back({.node = node, .cause = lost->second});
      }
    }
  }
  lost_.clear();
  view_ = next_;
  orders_.emplace_back(std::move(order));
}

void ViewMachine::take(const TimeOut&) {
  const bool late = now_ >= deadline_;
  if (late && phase_ == Phase::kGathering) {
    end(Status(Code::kRendezvousTimeout,
               fmt::format("not everybody came within {} s; missing: {}",
                           seconds(config_.rendezvous_timeout), admission_.missing()))
            .with_peer(admission_.missing())
            .with_operation("rendezvous"));
  } else if (late && (phase_ == Phase::kDispersing || phase_ == Phase::kFailing)) {
    phase_ = Phase::kOver;
    orders_.emplace_back(CloseJob{});
  }
  for (const auto& [node, deadline] : std::map<NodeId, Time>(notices_)) {
    if (now_ < deadline) continue;
    notices_.erase(node);
    take(Lost{.node = node,
              .cause = "it had to go, and the deadline has passed",
              .round = next_.contributors.from_round});
    if (phase_ == Phase::kRunning) publish();
  }
  for (const Doubt& doubt : doubts_) {
    const Member* reporter = next_.find(doubt.of.reporter);
    const Member* subject = next_.find(doubt.of.subject);
    if (phase_ != Phase::kRunning || now_ < doubt.due) continue;
    if (!is_in(reporter) || !is_in(subject)) continue;
    if (changes_size(sizing_) &&
        (reporter->role == Role::kWorker || subject->role == Role::kWorker)) {
      const Member& worker = reporter->role == Role::kWorker ? *reporter : *subject;
      const Member& other = &worker == reporter ? *subject : *reporter;
      take(Lost{.node = worker.node,
                .cause = fmt::format("its link to {} broke, though both are alive: {}",
                                     other.describe(), doubt.of.cause),
                .round = next_.contributors.from_round});
      continue;
    }
    end(Status(Code::kLinkBroken,
               fmt::format("{} lost its link to {}, though both are alive: {}",
                           reporter->describe(), subject->describe(), doubt.of.cause))
            .with_peer(fmt::format("{}, {}", reporter->describe(), subject->describe())));
  }
  std::erase_if(doubts_, [this](const Doubt& doubt) { return now_ >= doubt.due; });
}

}  // namespace stretto
