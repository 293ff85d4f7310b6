// SPDX-License-Identifier: Apache-2.0
// Pairs primaries with standbys, and keeps the messages that wait for replication.
#include "server/replication/replication.h"

#include <fmt/core.h>

#include <algorithm>

#include "van/control/handshake.h"

namespace stretto {
namespace {

constexpr std::size_t kMostCallers = 8;
constexpr Duration kAllCall = std::chrono::seconds(12);  // More than a failed connect takes.
constexpr std::size_t kMostHeld = 4;  // Of a worker, for a part: one per queue, and one.

// The other server of this rank; null if there is none.
const Member* other_of(const Roster& roster, const Member& self) {
  const auto found = std::ranges::find_if(roster.members, [&self](const Member& member) {
    return member.role == Role::kServer && member.rank == self.rank && member.shard == self.shard &&
           member.node != self.node && !member.left;
  });
  return found == roster.members.end() ? nullptr : &*found;
}

}  // namespace

Replication::Replication(const Config& config, Van& van, const WorkerLinks& workers,
                         OwnedSlots& slots, Ways ways)
    : config_(config),
      van_(van),
      workers_(workers),
      slots_(slots),
      ways_(std::move(ways)),
      sender_(
          van, slots, [this](Part& part) { released(part); }, ways_.knows),
      receiver_(van, workers, slots),
      acks_(van) {}

Replication::Followed Replication::follow(const Roster& roster, NodeId self,
                                          const std::function<control::Hello()>& introduce,
                                          Time now) {
  const Member* me = roster.find(self);
  if (me == nullptr || !roster.settings.servers_replaced()) {
    for (const Caller& caller : std::exchange(callers_, {})) {
      van_.links().refuse(caller.link, {Code::kRefused, "servers do not stand by in this job"});
    }
    return {};
  }
  Followed followed;
  const Member* other = other_of(roster, *me);
  const bool stood_by = !serves_;
  if (followed_ != roster.epoch) {
    followed_ = roster.epoch;
    self_ = self;
    serves_ = !me->standby;
    if (serves_ && stood_by) followed.lacking = receiver_.end();
    served_by_ = me->standby && other != nullptr ? std::optional(*other) : std::nullopt;
    const bool is_known =
        sender_.standby() != nullptr && other != nullptr && sender_.standby()->node == other->node;
    if (sender_.standby() != nullptr && !is_known) sender_.part();
    if (serves_ && other != nullptr && !is_known) {
      followed.called = sender_.call(*other, introduce(), roster.settings);
    }
  }
  answer_callers(roster, *me, now);
  followed.promoted = serves_ && stood_by;
  return followed;
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

// A server whose roster is newer than ours waits for that roster here.
void Replication::answer_callers(const Roster& roster, const Member& self, Time now) {
  for (Caller caller : std::exchange(callers_, {})) {
    const bool serves_us = served_by_ && served_by_->node == caller.node && receiver_.link() == 0;
    if (serves_us) caller.since = std::min(caller.since, now);
    if (serves_us && now - caller.since < kAllCall && !workers_.reached_by_all(roster)) {
      // Replication starts once all workers can reach this standby; kAllCall limits the wait for
      // a stalled worker.
      callers_.push_back(caller);
    } else if (serves_us) {
      receiver_.begin(caller.link, roster.settings.elastic());
      van_.links().admit(caller.link, caller.node);
      van_.send_control(caller.link,
                        control::Welcome{.node = caller.node,
                                         .rank = self.rank,
                                         .padding = van_.links().path_proof(caller.link)});
    } else if (caller.node > roster.newest()) {
      callers_.push_back(caller);
    } else {
      const Member* known = roster.find(caller.node);
      van_.links().refuse(
          caller.link, {Code::kRefused, fmt::format("{} does not stand by for {}", self.describe(),
                                                    known == nullptr ? "a member that has gone"
                                                                     : known->describe())});
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
  const bool others_wait = held_.contains(header.key);
  if (part == nullptr || (part->settled() && !others_wait)) return false;
  std::deque<Frame>& frames = held_[header.key];
  if (frames.size() >= kMostHeld * workers_.group()->size()) {  // Drop those of failed workers.
    std::erase_if(frames, [this](const Frame& frame) { return !workers_.find(frame.link); });
  }
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

void Replication::handled(LinkId link, const wire::Header& header) {
  const auto owed = owed_.find(header.key);
  const bool is_owed = owed != owed_.end() && owed->second.link == link &&
                       owed->second.sequence == header.push_sequence;
  if (!is_owed) acks_.refused(link, header.push_sequence);
}

bool Replication::takes(const Part& part, LinkId link, const control::StateRequest& request) {
  if (!replicates() || sender_.is_free(part)) return false;
  std::deque<Request>& waiting = requests_[part.key];
  // One at a time of each worker: it has given up the earlier one.
  std::erase_if(waiting, [link](const Request& one) { return one.link == link; });
  waiting.push_back({link, request});
  return true;
}

void Replication::changed(const OwnedSlots::Place& place, LinkId link,
                          const control::StatePiece& answer) {
  if (!replicates()) return van_.send_control(link, answer);
  answers_[place.part->key] = {.link = link, .what = answer};
  sender_.copy_again(place);
  if (sender_.is_free(*place.part)) tell(*place.part);  // It is not replicated yet.
}

std::optional<control::StandbyReady> Replication::step(LinkId scheduler) {
  const bool again = scheduler != 0 && std::exchange(told_at_, scheduler) != scheduler;
  if (again) sender_.tell_again();
  const std::optional<control::StandbyReady> ready = sender_.step();
  if (serves_ || !again || !slots_.whole()) return ready;
  return control::StandbyReady{.node = self_};
}

void Replication::released(Part& part) {
  ways_.settled(part);
  tell(part);
  go_on(part);
}

void Replication::tell(Part& part) {
  if (const auto owed = owed_.find(part.key); owed != owed_.end() && part.settled()) {
    acks_.applied(owed->second.link, owed->second.sequence, owed->second.at_once);
    owed_.erase(owed);
  }
  if (const auto answer = answers_.find(part.key); answer != answers_.end()) {
    van_.send_control(answer->second.link, answer->second.what);
    answers_.erase(answer);
  }
  ways_.announce(part);
}

// Dispatch may release more of the same part: the outer call continues with that.
void Replication::go_on(Part& part) {
  if (!going_on_.insert(part.key).second) return;
  while (part.settled() && (!replicates() || sender_.is_free(part))) {
    if (const auto asked = requests_.find(part.key); asked != requests_.end()) {
      const Request request = std::move(asked->second.front());
      asked->second.pop_front();
      if (asked->second.empty()) requests_.erase(asked);
      if (workers_.find(request.link) != nullptr) ways_.request(request.link, request.what);
      continue;
    }
    const auto held = held_.find(part.key);
    if (held == held_.end()) break;
    Frame frame = std::move(held->second.front());
    held->second.pop_front();
    if (held->second.empty()) held_.erase(held);
    const WorkerLinks::Worker* worker = workers_.find(frame.link);
    if (worker == nullptr || worker->node != frame.worker) {
      acks_.refused(frame.link, frame.header.push_sequence);
      continue;
    }
    ways_.dispatch(frame.link, *worker, frame.header, std::move(frame.payload));
  }
  going_on_.erase(part.key);
}

}  // namespace stretto
