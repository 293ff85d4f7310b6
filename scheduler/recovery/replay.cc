// SPDX-License-Identifier: Apache-2.0
// Converts records to events.
#include "scheduler/recovery/replay.h"

#include <fmt/core.h>

#include <algorithm>

#include "scheduler/migration/migration_service.h"
#include "scheduler/sessions/join_request.h"

namespace stretto {
namespace {

using Kind = JournalRecord::Kind;

// None: the record is no event of the machine.
std::optional<ViewEvent> event_of(const JournalRecord& record, const control::Message* message) {
  const NodeId node = static_cast<NodeId>(record.number);
  switch (record.kind) {
    case Kind::kJoined: {
      const auto* hello = std::get_if<control::Hello>(message);
      return hello == nullptr ? std::optional<ViewEvent>() : join_of(*hello);
    }
    case Kind::kLeft:
      return Left{.node = node};
    case Kind::kGone:
      return Disconnected{.node = node, .cause = record.text};
    case Kind::kLost:
      return Lost{.node = node, .cause = record.text, .replacement = record.more != 0};
    case Kind::kTold: {
      const auto* said = std::get_if<control::AtStep>(message);
      if (said == nullptr) return std::nullopt;
      return StepReport{.node = node, .question = said->number, .step = said->step};
    }
    case Kind::kCaught:
      return StandbyCaughtUp{.server = node, .standby = static_cast<NodeId>(record.more)};
    case Kind::kPublished:
      return EndOfTurn{};
    case Kind::kRenewed:
      return Republish{};
    default:
      return std::nullopt;
  }
}

bool has_message(Kind kind) {
  return kind == Kind::kJoined || kind == Kind::kDeclared || kind == Kind::kOpened ||
         kind == Kind::kCut || kind == Kind::kTold;
}

// Applies what the machine does not know.
void tell(const JournalRecord& record, const control::Message& message, const ReplayTarget& to) {
  if (const auto* declare = std::get_if<control::Declare>(&message)) {
    to.agreements.declared_before(static_cast<Rank>(record.number), declare->spec);
  } else if (const auto* barrier = std::get_if<control::Barrier>(&message)) {
    to.agreements.opened_before(*barrier);
  } else if (record.kind == Kind::kVisited) {
    static_cast<void>(to.machine.identity());
  } else if (const auto* cut = std::get_if<control::CheckpointCut>(&message)) {
    const control::Barrier at{.number = record.more, .checkpoint = record.number};
    to.checkpoints.go_on_with(*cut, at, shards_of(to.machine.next_view()));
  } else if (record.kind == Kind::kDropped) {
    to.checkpoints.forget_active();
  } else if (record.kind == Kind::kUnwanted) {
    to.watch.unwanted(static_cast<Rank>(record.number));
  } else if (record.kind == Kind::kSaved) {
    to.checkpoints.go_on_from(record.number);
    to.watch.on_saved({.number = record.number, .step = record.more});
  }
}

// Drops departed members. Reports to the launcher all it must know, in the original order; it skips
// what it knows already.
void part_with(const std::vector<ViewOrder>& orders, const ReplayTarget& to) {
  const View& view = to.machine.view();
  to.chronicle.note_departed(orders, view);
  for (const ViewOrder& order : orders) {
    if (const auto* admit = std::get_if<Admit>(&order)) to.watch.comes_again(admit->member);
    const auto* news = std::get_if<Publish>(&order);
    if (news == nullptr) continue;
    for (const Member& member : news->changed) {
      if (member.left) to.checkpoints.on_lost(member.node);
      if (has_moved(member, view)) to.watch.moved(member);
    }
    for (const Publish::Loss& loss : news->lost) {
      to.watch.lost(*std::ranges::find(news->changed, loss.node, &Member::node));
    }
  }
}

}  // namespace

Status replay(const std::vector<JournalRecord>& records, std::uint32_t life, const ReplayTarget& to,
              Time now) {
  const View& view = to.machine.view();
  for (const JournalRecord& record : records) {
    Result<control::Message> message = control::Message(control::Leave{});
    if (has_message(record.kind)) message = message_in(record);
    if (!message.ok()) return message.status();
    if (const auto event = event_of(record, &*message)) {
      if (const auto* left = std::get_if<Left>(&*event)) {
        if (const Member* member = to.machine.next_view().find(left->node)) to.watch.left(*member);
      }
      part_with(to.machine.on(*event, now), to);
      const auto* lost = std::get_if<Lost>(&*event);
      if (lost && lost->replacement) to.watch.lost(*to.machine.next_view().find(lost->node));
    } else {
      tell(record, *message, to);
    }
    if (view.epoch == record.epoch) continue;
    return {Code::kMalformed,
            fmt::format("the scheduler's journal leads to epoch {} where it had been {}",
                        view.epoch, record.epoch)};
  }
  if (view.epoch == 0) return {Code::kSchedulerLost, "the job had not come together yet"};
  to.agreements.go_on();
  to.checkpoints.skip_attempts(to.agreements.opened().checkpoint);
  part_with(to.chronicle.renew(to.machine, life, now), to);
  to.checkpoints.look_if_complete();
  return {};
}

}  // namespace stretto
