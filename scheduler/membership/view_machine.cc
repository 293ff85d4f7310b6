// SPDX-License-Identifier: Apache-2.0
// What each event does to the next view. Events come from peers in any order: none may break an
// invariant, and nonsensical events are rejected or ignored.
#include "scheduler/membership/view_machine.h"

#include <fmt/core.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "common/check.h"
#include "common/clock.h"

namespace stretto {
namespace {

constexpr Duration kFailingLasts = 500ms;  // How long failing waits for its messages to be sent.
// Minimum time for servers to leave. A server that was unreachable for less than the dead time has
// yet to learn that the job has ended.
constexpr Duration kServersLeave = 3s;

constexpr const char* kNobodyTakesIn =
    "; those who are left have come since, and nobody is there who could take them in";

Code code_of_loss(Role role) { return role == Role::kServer ? Code::kServerLost : Code::kPeerLost; }

bool changes_size(Sizing sizing) { return sizing != Sizing::kFixed; }

Status cannot_move(const Moved& moved, const Member* to) {
  return {Code::kInvalidArgument,
          fmt::format("slots {} to {} cannot move to {}: wanted slots below {}, a server that is "
                      "in, and a job that runs",
                      moved.first, std::uint64_t{moved.first} + moved.count,
                      to == nullptr ? "a member that is not in" : to->describe(), kSlots)};
}

std::string too_few(const Config& config) {
  return fmt::format("; the job may not go on with fewer than {} workers",
                     Spares::least_workers(config));
}

Status not_all_came(const Config& config, const std::string& missing) {
  return Status(Code::kRendezvousTimeout, fmt::format("not everybody came within {} s; missing: {}",
                                                      seconds(config.rendezvous_timeout), missing))
      .with_peer(missing)
      .with_operation("rendezvous");
}

Status link_broke(const FaultReports::Fault& fault, const View& view) {
  const std::string reporter = view.find(fault.report.reporter)->describe();
  const std::string subject = view.find(fault.report.subject)->describe();
  return Status(Code::kLinkBroken, fmt::format("{} lost its link to {}, though both are alive: {}",
                                               reporter, subject, fault.report.cause))
      .with_peer(fmt::format("{}, {}", reporter, subject));
}

// The loss of one end of the broken link.
Lost loss_by(const FaultReports::Fault& fault, const Member& lost, const View& view) {
  const auto& [reporter, subject, cause] = fault.report;
  const std::string far_end = view.find(lost.node == reporter ? subject : reporter)->describe();
  std::string why = fmt::format("its link to {} broke, though both are alive: {}", far_end, cause);
  if (lost.node == fault.silent) {
    why = fmt::format("its link to {} broke, and it has shown no sign of life since: {}", far_end,
                      cause);
  } else if (lost.node == fault.common && fault.links > 1) {
    why = fmt::format("its links to {} and {} more broke, though all are alive: {}", far_end,
                      fault.links - 1, cause);
  }
  return {.node = lost.node, .cause = std::move(why), .round = view.contributors.from_round};
}

bool is_about_standby(const FaultReports::Link& link, const View& view) {
  const auto stands_by = [&view](NodeId node) {
    const Member* member = view.find(node);
    return member != nullptr && member->standby;
  };
  return stands_by(link.first) || stands_by(link.second);
}

// Links of primaries come first: a member expelled because of them explains its broken links to
// standbys, too.
std::vector<FaultReports::Link> in_order(std::vector<FaultReports::Link> due, const View& view) {
  std::stable_partition(due.begin(), due.end(), [&view](const FaultReports::Link& link) {
    return !is_about_standby(link, view);
  });
  return due;
}

}  // namespace

ViewMachine::ViewMachine(const Config& config, Time now, Sizing sizing)
    : config_(config),
      sizing_(sizing),
      now_(now),
      deadline_(now + config.rendezvous_timeout),
      admission_(config),
      slots_(kSlots, {}),
      places_(config),
      spares_{config, changes_size(sizing), finished_, next_, places_} {}

std::vector<ViewOrder> ViewMachine::on(const ViewEvent& event, Time now) {
  now_ = now;
  if (const auto* alive = std::get_if<Alive>(&event)) {
    faults_.alive(alive->node, now);
    return {};
  }
  if (const auto* caught = std::get_if<StandbyCaughtUp>(&event)) {
    if (phase_ == Phase::kRunning && places_.hear(*caught, draft_, view_)) publish();
    return std::exchange(orders_, {});
  }
  const auto tell = [this](const auto& what) {
    if constexpr (requires { take(what); }) take(what);
  };
  std::visit(tell, event);
  if (const auto* stop = std::get_if<Stop>(&event)) end(stop->why);
  if (std::holds_alternative<Republish>(event) && phase_ == Phase::kRunning) {
    keep_those_there(linked_, next_);
    publish();
  }
  return std::exchange(orders_, {});
}

Time ViewMachine::next_due() const {
  Time due = phase_ == Phase::kRunning ? std::min(deadline_, places_.next_due()) : deadline_;
  for (const auto& [node, deadline] : notices_) due = std::min(due, deadline);
  return due;
}

// ---- members that join

void ViewMachine::take(const Join& join) {
  if (const auto entry = phase_ == Phase::kRunning ? places_.admit(join, draft_) : std::nullopt) {
    if (!entry->member.ok()) {
      orders_.emplace_back(Refuse{entry->member.status()});
      return;
    }
    linked_.insert(entry->member->node);
    linked_.erase(entry->instead_of);  // Its link may not have ended yet; no caller waits for that.
    orders_.emplace_back(Admit{*entry->member});
    return publish();  // Before any member learns of a slot that it owns.
  }
  const bool late = changes_size(sizing_) && phase_ != Phase::kGathering;
  const bool waits = late && sizing_ == Sizing::kWorkers;
  if (phase_ != Phase::kGathering && phase_ != Phase::kRunning) {
    orders_.emplace_back(Refuse{{Code::kRefused, "the job is ending"}});
    return;
  }
  Result<Member> member = waits  ? admission_.admit_newcomer(join)
                          : late ? admission_.admit_late(join)
                                 : admission_.admit(join);
  if (!member.ok()) {
    const bool may_come = waits && join.role == Role::kWorker && admission_.full();
    if (may_come) orders_.emplace_back(Defer{member.status()});
    if (!may_come) orders_.emplace_back(Refuse{member.status()});
    return;
  }
  member->joining = waits;
  *member = places_.placed(*member);
  linked_.insert(member->node);
  orders_.emplace_back(Admit{*member});
  next_.members[member->node] = *member;
  if (late) {
    changed_.insert(member->node);
    if (waits) return;
    if (join.role == Role::kServer) return slots_.add(member->node);
    next_.contributors.nodes.insert(member->node);
    next_.contributors.from_round = std::max(next_.contributors.from_round, join.round);
    return;
  }
  if (phase_ != Phase::kGathering || !admission_.complete()) return;
  std::vector<NodeId> shards;
  for (const Member& each : admission_.members()) {
    changed_.insert(each.node);
    const bool serves = each.role == Role::kServer && !next_.members.at(each.node).standby;
    if (serves) shards.push_back(each.node);
    if (each.role == Role::kWorker) next_.contributors.nodes.insert(each.node);
  }
  next_.slots = SlotMap(kSlots, shards);
  slots_ = SlotTable(kSlots, shards);
  fenced_ = true;
  phase_ = Phase::kRunning;
  deadline_ = Time::max();
  publish();
}

void ViewMachine::take(const StepReport& told) {
  const Member* member = next_.find(told.node);
  if (phase_ != Phase::kRunning || !is_there(member) || member->role != Role::kWorker) return;
  if (told.question != 0) {
    if (is_in(member)) entrance_.answer(told.node, told.question, told.step);
  } else {
    entrance_.hear(told.node, member->joining, told.step);
  }
}

// ---- members that leave

void ViewMachine::take(const Left& leave) {
  const Member* member = next_.find(leave.node);
  if (!is_there(member)) return;
  if (phase_ == Phase::kDispersing) next_.members[leave.node].left = true;
  if (phase_ != Phase::kRunning) return;
  const bool worker = member->role == Role::kWorker;
  if (changes_size(sizing_) && !worker && next_.any(Role::kWorker)) {
    return take(Lost{.node = leave.node, .cause = "it has left", .round = leave.round});
  }
  next_.members[leave.node].left = true;
  changed_.insert(leave.node);
  if (!next_.any(Role::kWorker)) return disperse();
  if (!changes_size(sizing_)) return;
  if (worker && !member->joining) ++finished_;
  remove(leave.node, leave.round);
  if (entrance_.unsettled(next_.contributors.nodes)) disperse();  // None can admit them.
}

void ViewMachine::take(const Disconnected& gone) {
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
  if (phase_ != Phase::kRunning || member == nullptr) return;
  Status over = lost.replacement ? places_.lose_replacement(*member, lost.cause, now_) : Status();
  if (!over.ok()) return end(std::move(over));
  if (lost.replacement || member->left) return;
  const bool worker = member->role == Role::kWorker;
  std::string cause = fmt::format("{} is lost: {}", member->describe(), lost.cause);
  const std::string who = member->describe();
  if (worker && spares_.may_lose(*member)) {
    lost_[lost.node] = lost.cause;
    remove(lost.node, lost.round);
    if (!next_.any(Role::kWorker)) return disperse();
    if (!entrance_.unsettled(next_.contributors.nodes)) return;
    return end(Status(Code::kPeerLost, cause + kNobodyTakesIn).with_peer(who));
  }
  const bool spare = !worker && slots_.load(lost.node) == 0 && slots_.shards() > 1;
  if (sizing_ == Sizing::kElastic && spare) {
    fenced_ = true;
    return remove(lost.node, lost.round);
  }
  if (!worker) {
    const auto loss = places_.lose(Member(*member), lost.cause, now_, draft_);
    if (loss != ServerFailover::Loss::kEnds) return;
    cause += places_.refusal(*member, next_);
  }
  if (changes_size(sizing_) && worker) cause += too_few(config_);
  end(Status(code_of_loss(member->role), std::move(cause)).with_peer(who));
}

void ViewMachine::disperse() {
  if (!lost_.empty()) publish();  // An expelled member learns of that, and gets no `Leave`.
  phase_ = Phase::kDispersing;
  deadline_ = after(now_, std::max(kServersLeave, config_.job.dead_after));
  orders_.emplace_back(DismissMembers{});
}

// Remaining members keep their order, and take the ranks 0 to n - 1.
void ViewMachine::remove(NodeId node, std::uint64_t round) {
  const Role role = next_.members.at(node).role;
  if (role == Role::kServer) slots_.remove(next_.slots, node);
  next_.members.erase(node);
  end_contribution(next_, node, round);
  notices_.erase(node);
  entrance_.forget(node);
  admission_.remove(node);
  admission_.close_gaps(role);
  changed_.insert(node);
  for (const Member& member : admission_.members()) {
    if (member.role != role) continue;
    Member& known = next_.members.at(member.node);
    if (known.rank != member.rank) changed_.insert(member.node);
    known.rank = member.rank;
    known.moved_up = member.moved_up;
  }
}

void ViewMachine::take(const DrainNotice& notice) {
  const Member* member = next_.find(notice.node);
  if (phase_ != Phase::kRunning || !is_in(member)) return;
  notices_[notice.node] = notice.deadline;
  if (!changes_size(sizing_) || member->role != Role::kWorker) return;
  end_contribution(next_, notice.node, notice.round);
  changed_.insert(notice.node);
}

// ---- links and slots

void ViewMachine::take(const Suspicion& suspicion) {
  const Member* reporter = next_.find(suspicion.reporter);
  const Member* subject = next_.find(suspicion.subject);
  if (phase_ != Phase::kRunning || reporter == nullptr || !is_there(subject)) return;
  const bool is_choice = spares_.may_lose(*reporter) && spares_.may_lose(*subject);
  faults_.add(suspicion, now_, config_.job.dead_after, is_choice);
}

void ViewMachine::take(const Moved& moved) {
  const Member* to = next_.find(moved.to);
  const bool possible = phase_ == Phase::kRunning && is_in(to) && to->role == Role::kServer &&
                        moved.first < kSlots && moved.count <= kSlots - moved.first;
  if (!possible) {
    orders_.emplace_back(Refuse{cannot_move(moved, to)});
    return;
  }
  for (std::uint32_t i = 0; i < moved.count; ++i) {
    slots_.move(next_.slots, moved.first + i, moved.to);
  }
  changed_.insert(moved.to);
  fenced_ = true;
}

// An empty slot may change its owner within an epoch: no member knows the owner.
void ViewMachine::take(const NewTensor& tensor) {
  if (phase_ != Phase::kRunning || slots_.shards() == 0) {
    orders_.emplace_back(Refuse{{Code::kInvalidArgument, "no server is there that could have it"}});
    return;
  }
  if (!tensor.kept.empty()) places_.note_kept(tensor.kept);
  orders_.emplace_back(SlotsAssigned{slots_.place(next_.slots, tensor.cut)});
  if (changed_.empty()) view_.slots = next_.slots;
}

// ---- the end, and time

void ViewMachine::end(Status why) {
  if (phase_ == Phase::kFailing || phase_ == Phase::kOver) return;
  status_ = why;
  phase_ = Phase::kFailing;
  deadline_ = now_ + kFailingLasts;
  notices_.clear();
  orders_.emplace_back(EndJob{std::move(why)});
}

// Publishes all changes of an iteration together. When W workers leave at once, a whole view for
// each loss to each worker would take W^3 entries.
void ViewMachine::take(const EndOfTurn&) {
  if (phase_ == Phase::kRunning) {
    const bool decided = let_in(entrance_, next_, changed_);
    if (const auto question = entrance_.ask(joining_in(next_))) {
      orders_.emplace_back(QuerySteps{*question});
    }
    if (decided || !changed_.empty()) publish();
  }
  const bool ends = phase_ == Phase::kDispersing || phase_ == Phase::kFailing;
  if (!ends || !linked_.empty()) return;
  phase_ = Phase::kOver;
  orders_.emplace_back(CloseJob{});
}

void ViewMachine::publish() {
  next_.epoch = view_.epoch + 1;
  if (std::exchange(fenced_, false)) next_.fence = next_.epoch;
  STRETTO_CHECK(violation(next_).empty());
  STRETTO_CHECK(violation(view_, next_).empty());
  faults_.follow(view_, next_);
  orders_.emplace_back(news_of(view_, next_, std::exchange(changed_, {}), lost_));
  lost_.clear();
  view_ = next_;
}

void ViewMachine::take(const Tick& time) {
  if (time.attended && phase_ == Phase::kGathering) deadline_ = Time::max();
  const bool late = now_ >= deadline_;
  if (late && phase_ == Phase::kGathering) {
    end(not_all_came(config_, admission_.missing()));
  } else if (late && (phase_ == Phase::kDispersing || phase_ == Phase::kFailing)) {
    phase_ = Phase::kOver;
    orders_.emplace_back(CloseJob{});
  }
  if (Status missed = places_.overdue(now_); !missed.ok() && phase_ == Phase::kRunning) {
    end(std::move(missed));
  }
  for (const auto& [node, deadline] : std::map<NodeId, Time>(notices_)) {
    if (now_ < deadline) continue;
    notices_.erase(node);
    take(Lost{.node = node,
              .cause = "it had to go, and the deadline has passed",
              .round = next_.contributors.from_round});
  }
  faults_.follow(view_, next_);
  for (const FaultReports::Link& link : in_order(faults_.due(now_), view_)) {
    const auto fault = phase_ == Phase::kRunning ? faults_.take(link) : std::nullopt;
    if (!fault) continue;
    const Member* lost = lost_by(*fault, faults_, spares_);
    if (lost == nullptr) {
      end(link_broke(*fault, next_));
    } else {
      take(loss_by(*fault, *lost, next_));
      faults_.follow(view_, next_);
    }
  }
  if (phase_ == Phase::kRunning && !changed_.empty()) take(EndOfTurn{});  // As in a journal replay.
}

}  // namespace stretto
