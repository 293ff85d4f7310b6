// SPDX-License-Identifier: Apache-2.0
// Which events are recorded, and how.
#include "scheduler/journal/membership_journal.h"

#include <fmt/core.h>

#include <algorithm>
#include <variant>

#include "common/log.h"
#include "common/version.h"
#include "van/control/control_codec.h"
#include "van/wire/header.h"

namespace stretto {
namespace {

using Kind = JournalRecord::Kind;

template <typename Order>
bool has(const std::vector<ViewOrder>& orders) {
  return std::ranges::any_of(
      orders, [](const ViewOrder& order) { return std::holds_alternative<Order>(order); });
}

bool is_there(const View& view, NodeId node) {
  const Member* member = view.find(node);
  return member != nullptr && !member->left;
}

bool changes(const Lost& lost, const View& before) {
  return lost.replacement || is_there(before, lost.node);
}

// The record of an event that may change the membership; none: it has no effect.
std::optional<JournalRecord> record_of(const ViewEvent& event, const View& before) {
  if (const auto* left = std::get_if<Left>(&event); left && is_there(before, left->node)) {
    return JournalRecord{.kind = Kind::kLeft, .number = left->node};
  }
  if (const auto* gone = std::get_if<Disconnected>(&event); gone && is_there(before, gone->node)) {
    return JournalRecord{.kind = Kind::kGone, .number = gone->node, .text = gone->cause};
  }
  if (const auto* lost = std::get_if<Lost>(&event); lost && changes(*lost, before)) {
    return JournalRecord{
        .kind = Kind::kLost, .number = lost->node, .more = lost->replacement, .text = lost->cause};
  }
  return std::nullopt;
}

JournalRecord told_record(const StepReport& told) {
  const control::AtStep said{.number = told.question, .step = told.step};
  return {.kind = Kind::kTold, .number = told.node, .text = text_of(said)};
}

// Restores the job's settings. The error of a failed job, or if another scheduler took over.
Status take_begin(const std::vector<JournalRecord>& records, Config& config,
                  std::set<std::string>& restored, RecoveredState& past) {
  const JournalRecord& first = records.front();
  if (first.kind != Kind::kBegun || first.text != kVersion) {
    return {Code::kMalformed, fmt::format("the journal '{}' is not of a job of release {}",
                                          config.scheduler_return.journal, kVersion)};
  }
  past.job = first.number;
  config.job.part_bytes = static_cast<std::uint32_t>(first.more);
  for (const JournalRecord& record : records) {
    if (record.kind == Kind::kTensor) restored.insert(record.text);
    if (record.kind == Kind::kRestored) {
      config.job.restored = record.number;
      config.job.restored_step = record.more;
    }
    const bool replaced =
        record.kind == Kind::kRenewed && record.number >= config.scheduler_return.life;
    if (replaced) {
      return {Code::kRefused,
              fmt::format("scheduler {} of this job has taken over already, and this is number {}",
                          record.number, config.scheduler_return.life)};
    }
    if (record.kind != Kind::kFailed) continue;
    const Result<control::Message> message = message_in(record);
    const auto* failure = message.ok() ? std::get_if<control::Failure>(&*message) : nullptr;
    return failure == nullptr ? message.status() : failure->why;
  }
  return {};
}

}  // namespace

Result<RecoveredState> past_of(Config& config, Disk& disk, std::set<std::string>& restored) {
  const SchedulerReturnSettings& settings = config.scheduler_return;
  RecoveredState past;
  if (settings.journal.empty()) return past;
  if (settings.life <= 1) {
    Result<std::unique_ptr<Journal>> begun = Journal::begin(disk, settings.journal);
    if (begun.ok()) past.journal = std::move(*begun);
    if (!begun.ok()) {
      log(Level::kWarning, "the job will not outlive its scheduler: {}", begun.status().cause());
    }
    return past;
  }
  Result<Journal::Found> found = Journal::go_on(disk, settings.journal);
  if (!found.ok()) return found.status();
  if (found->records.empty()) {
    return Status(Code::kMalformed, fmt::format("the journal '{}' is empty", settings.journal));
  }
  if (Status status = take_begin(found->records, config, restored, past); !status.ok()) {
    return status;
  }
  past.journal = std::move(found->journal);
  past.records = std::move(found->records);
  return past;
}

void MembershipJournal::add(JournalRecord record) {
  record.epoch = epoch_;
  if (journal_ != nullptr) journal_->add(record);
}

void MembershipJournal::begin(std::uint64_t job, const Config& config,
                              const std::set<std::string>& restored) {
  add({.kind = Kind::kBegun, .number = job, .more = config.job.part_bytes, .text = kVersion});
  if (config.job.restored == 0) return;
  add({.kind = Kind::kRestored, .number = config.job.restored, .more = config.job.restored_step});
  for (const std::string& name : restored) add({.kind = Kind::kTensor, .text = name});
}

std::vector<ViewOrder> MembershipJournal::on(ViewMachine& machine, const ViewEvent& event,
                                             Time now) {
  if (journal_ == nullptr) return machine.on(event, now);
  std::optional<JournalRecord> record = record_of(event, machine.next_view());
  const auto* caught = std::get_if<StandbyCaughtUp>(&event);
  const bool is_news =
      caught != nullptr && !machine.next_view().caught_up.contains(caught->standby);
  const std::uint64_t said = machine.entrance().said();
  std::vector<ViewOrder> orders = machine.on(event, now);
  epoch_ = machine.view().epoch;
  const bool has_place = caught != nullptr && has<Publish>(orders);
  if (has_place || (is_news && machine.next_view().caught_up.contains(caught->standby))) {
    record = {.kind = Kind::kCaught, .number = caught->server, .more = caught->standby};
  }
  note_departed(orders, machine.view());
  const auto* join = std::get_if<Join>(&event);
  const auto* told = std::get_if<StepReport>(&event);
  if (join != nullptr && has<Admit>(orders)) {
    record = {.kind = Kind::kJoined, .text = text_of(hello_of(*join))};
  } else if (told != nullptr && machine.entrance().said() != said) {
    record = told_record(*told);
  } else if (!record && (has<Publish>(orders) || has<QuerySteps>(orders))) {
    record = {.kind = Kind::kPublished};
  }
  if (record && !add_losses(event, orders)) add(*record);
  for (const ViewOrder& order : orders) {
    const auto* end = std::get_if<EndJob>(&order);
    if (end != nullptr) add({.kind = Kind::kFailed, .text = text_of(control::Failure{end->why})});
  }
  return orders;
}

// A tick may expel members, several in the same view.
bool MembershipJournal::add_losses(const ViewEvent& event, const std::vector<ViewOrder>& orders) {
  bool any = false;
  if (!std::holds_alternative<Tick>(event)) return any;
  for (const ViewOrder& order : orders) {
    const auto* news = std::get_if<Publish>(&order);
    if (news == nullptr) continue;
    for (const Publish::Loss& loss : news->lost) {
      any = true;
      epoch_ = news->since;
      add({.kind = Kind::kLost, .number = loss.node, .text = loss.cause});
    }
    epoch_ = news->since + 1;
    if (!news->lost.empty()) add({.kind = Kind::kPublished});
  }
  return any;
}

std::vector<ViewOrder> MembershipJournal::renew(ViewMachine& machine, std::uint32_t life,
                                                Time now) {
  std::vector<ViewOrder> orders = machine.on(Republish{}, now);
  epoch_ = machine.view().epoch;
  add({.kind = Kind::kRenewed, .number = life});
  return orders;
}

void MembershipJournal::note_departed(const std::vector<ViewOrder>& orders, const View& view) {
  for (const ViewOrder& order : orders) {
    const auto* news = std::get_if<Publish>(&order);
    if (news == nullptr) continue;
    for (const Member& member : news->changed) {
      if (!member.left || view.find(member.node) != nullptr) continue;
      std::erase_if(departed_, [&member](const Member& one) { return one.node == member.node; });
      departed_.push_back(member);
      if (departed_.size() > kMostDeparted) departed_.pop_front();
    }
  }
}

const Member* MembershipJournal::departed(NodeId node) const {
  const auto found = std::ranges::find(departed_, node, &Member::node);
  return found == departed_.end() ? nullptr : &*found;
}

void add_departed(Roster& roster, const std::deque<Member>& departed) {
  const std::size_t present = roster.members.size();
  const std::size_t room = kMaxNodes - std::min<std::size_t>(present, kMaxNodes);
  for (std::size_t count = std::min(departed.size(), room); count > 0; count /= 2) {
    roster.members.insert(roster.members.end(), departed.end() - static_cast<std::ptrdiff_t>(count),
                          departed.end());
    if (control::encode(roster).size() <= wire::kMaxControlBytes) return;
    roster.members.resize(present);
  }
}

void MembershipJournal::declared(Rank worker, const TensorSpec& spec) {
  if (journal_ == nullptr) return;
  add({.kind = Kind::kDeclared, .number = worker, .text = text_of(control::Declare{.spec = spec})});
}

void MembershipJournal::opened(const control::Barrier& barrier) {
  if (journal_ == nullptr || barrier.number == 0) return;
  add({.kind = Kind::kOpened, .text = text_of(barrier)});
}

void MembershipJournal::cut(const control::Barrier& barrier, const control::CheckpointCut& cut) {
  if (journal_ == nullptr) return;
  add({.kind = Kind::kCut,
       .number = barrier.checkpoint,
       .more = barrier.number,
       .text = text_of(cut)});
}

void MembershipJournal::dropped(std::uint64_t attempt) {
  add({.kind = Kind::kDropped, .number = attempt});
}

void MembershipJournal::saved(std::uint64_t number, std::uint64_t step) {
  add({.kind = Kind::kSaved, .number = number, .more = step});
}

bool MembershipJournal::commit() {
  if (journal_ == nullptr || !journal_->has_news()) return false;
  const Status status = journal_->commit();
  if (status.ok()) return false;
  log(Level::kWarning, "from now on the job will not outlive its scheduler: {}", status.cause());
  journal_->discard();
  journal_.reset();
  return true;
}

// ---- text conversion

std::string text_of(const control::Message& message) {
  const Buffer bytes = control::encode(message);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<control::Message> message_in(const JournalRecord& record) {
  return control::decode(Buffer::copy_of(std::as_bytes(std::span(record.text))));
}

control::Hello hello_of(const Join& join) {
  control::Hello hello;
  hello.role = join.role;
  hello.rank = join.rank;
  hello.workers = join.workers;
  hello.servers = join.servers;
  hello.node = join.former;
  hello.address = join.address;
  hello.shard = join.shard;
  hello.shards = join.shards;
  hello.host = join.host;
  hello.machine = join.machine;
  return hello;
}

}  // namespace stretto
