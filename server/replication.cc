// SPDX-License-Identifier: Apache-2.0
// Who stands by for whom, and what waits for that.
#include "server/replication.h"

#include <fmt/format.h>

#include <algorithm>

#include "van/greeting.h"

namespace stretto {
namespace {

constexpr std::size_t kMostCallers = 8;
constexpr std::size_t kMostHeld = 4;  // Of a worker, for a part: one in each lane, and one.

// The other one of this place; null if there is none.
const Member* other_of(const Roster& roster, const Member& self) {
  const auto found = std::ranges::find_if(roster.members, [&self](const Member& member) {
    return member.role == Role::kServer && member.rank == self.rank && member.shard == self.shard &&
           member.node != self.node && !member.left;
  });
  return found == roster.members.end() ? nullptr : &*found;
}

}  // namespace

Replication::Replication(const Config& config, Van& van, const WorkerLinks& workers,
                         OwnedSlots& slots, Announce announce, Dispatch dispatch)
    : config_(config),
      van_(van),
      workers_(workers),
      slots_(slots),
      announce_(std::move(announce)),
      dispatch_(std::move(dispatch)),
      sender_(van, slots, [this](Part& part) { released(part); }),
      receiver_(van, workers, slots),
      acks_(van) {}

Result<bool> Replication::follow(const Roster& roster, NodeId self, const control::Hello& hello) {
  const Member* me = roster.find(self);
  if (me == nullptr || !roster.settings.replicated()) return false;
  const Member* other = other_of(roster, *me);
  const bool stood_by = !serves_;
  if (followed_ != roster.epoch) {
    followed_ = roster.epoch;
    serves_ = !me->standby;
    if (serves_ && stood_by) receiver_.end();
    served_by_ = me->standby && other != nullptr ? std::optional(*other) : std::nullopt;
    const bool is_known =
        sender_.standby() != nullptr && other != nullptr && sender_.standby()->node == other->node;
    if (sender_.standby() != nullptr && !is_known) sender_.part();
    if (serves_ && other != nullptr && !is_known) {
      Status called = sender_.call(*other, hello, roster.settings.part_bytes);
      if (!called.ok()) return called;
    }
  }
  answer_callers(roster, *me);
  return serves_ && stood_by;
}

void Replication::greet(LinkId link, const control::Hello& hello) {
  if (Status status = check_greeting(hello, config_.token); !status.ok()) {
    van_.links().refuse(link, status);
  } else if (callers_.size() >= kMostCallers) {
    van_.links().refuse(link, {Code::kResource, "too many servers call one that stands by"});
  } else {
    callers_.push_back({link, hello.node});
  }
}

// One that comes from a roster that is yet to come here waits for it.
void Replication::answer_callers(const Roster& roster, const Member& self) {
  for (const Caller& caller : std::exchange(callers_, {})) {
    if (served_by_ && served_by_->node == caller.node && receiver_.link() == 0) {
      receiver_.begin(caller.link);
      van_.links().admit(caller.link, caller.node);
      van_.send_control(caller.link, control::Welcome{.node = caller.node, .rank = self.rank});
    } else if (caller.node > roster.newest() || !serves_) {
      callers_.push_back(caller);
    } else {
      van_.links().refuse(caller.link,
                          {Code::kRefused, fmt::format("{} stands by for nobody, and node {} "
                                                       "says it does so for it",
                                                       self.describe(), caller.node)});
    }
  }
}

void Replication::on_control(LinkId link, const control::Message& message) {
  Status status;
  if (link == sender_.link()) {
    if (control::is<control::Welcome>(message)) return sender_.on_welcome();
    const auto* fault = std::get_if<control::Fault>(&message);
    status = fault != nullptr ? fault->why
                              : Status(Code::kMalformed, "who stands by says nothing but welcome");
  } else {
    status = receiver_.on_control(message);
  }
  if (!status.ok()) van_.links().refuse(link, status);
}

void Replication::on_data(LinkId link, const wire::Header& header, const Buffer& payload) {
  const Status status = link == receiver_.link()
                            ? receiver_.on_data(header, payload)
                            : Status(Code::kMalformed, "who stands by sends no data");
  if (!status.ok()) van_.links().refuse(link, status);
}

std::optional<Member> Replication::lose(LinkId link) {
  std::erase_if(callers_, [link](const Caller& caller) { return caller.link == link; });
  acks_.forget(link);
  if (link != 0 && link == sender_.link()) {
    sender_.lose();
    return *sender_.standby();
  }
  if (link == 0 || link != receiver_.link()) return std::nullopt;
  receiver_.lose();
  return served_by_;
}

bool Replication::takes(LinkId link, WorkerLinks::Worker worker, const wire::Header& header,
                        const Buffer& payload) {
  if (!replicates()) return false;
  if (header.kind == wire::Kind::kPush) acks_.came(link, header.push_sequence);
  const Part* part = slots_.find(header.key);
  if (part == nullptr || part->settled()) return false;
  std::deque<Frame>& frames = held_[header.key];
  if (frames.size() >= kMostHeld * workers_.group()->size()) {
    van_.links().refuse(link, {Code::kResource, "too many frames wait for one part"});
    return true;
  }
  frames.push_back({link, worker.node, header, to_own(payload)});
  return true;
}

void Replication::ack(const Part& part, LinkId link, std::uint64_t sequence, bool at_once) {
  if (part.settled()) return acks_.applied(link, sequence, at_once);
  owed_[part.key] = {.link = link, .sequence = sequence, .at_once = at_once};
}

void Replication::released(Part& part) {
  if (const auto owed = owed_.find(part.key); owed != owed_.end()) {
    acks_.applied(owed->second.link, owed->second.sequence, owed->second.at_once);
    owed_.erase(owed);
  }
  announce_(part);
  while (part.settled()) {
    const auto held = held_.find(part.key);
    if (held == held_.end()) return;
    Frame frame = std::move(held->second.front());
    held->second.pop_front();
    if (held->second.empty()) held_.erase(held);
    const WorkerLinks::Worker* worker = workers_.find(frame.link);
    if (worker == nullptr || worker->node != frame.worker) continue;
    dispatch_(frame.link, *worker, frame.header, std::move(frame.payload));
  }
}

}  // namespace stretto
