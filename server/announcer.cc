// SPDX-License-Identifier: Apache-2.0
// A value is a lease: it goes to all who wait for it without a copy.
#include "server/announcer.h"

#include <fmt/format.h>

#include "van/messages.h"

namespace stretto {
namespace {

// What a worker is told of a part's value.
wire::Header header_about(const Part& part, Rank rank) {
  const Consistency& rounds = part.collector.rounds();
  wire::Header header;
  header.key = part.key;
  header.version = part.store.value().version;
  header.base = rounds.slowest();
  header.own_applied = rounds.applied_of(rank);
  header.spread = rounds.spread();
  header.contributors = part.store.value().contributors;
  return header;
}

}  // namespace

void Announcer::announce(Part& part) {
  for (const Waiter& waiter : part.take_ready()) tell(part, waiter);
  check_absentee(part);
}

void Announcer::tell(const Part& part, const Waiter& waiter) {
  const Value& value = part.store.value();
  wire::Header header = header_about(part, waiter.rank);
  header.kind = waiter.wants_value ? wire::Kind::kValue : wire::Kind::kDone;
  header.dtype = waiter.wants_value ? static_cast<std::uint8_t>(part.spec.dtype) : std::uint8_t{0};
  if (waiter.wants_value) header.codec = static_cast<std::uint8_t>(value.codec);
  if (waiter.wants_value && waiter.pushed) header.flags = wire::kWantsValue;
  header.priority = waiter.priority;
  van_.send(workers_.link_of(waiter.rank), header, waiter.wants_value ? value.bytes : Buffer(),
            {.tag = 0, .deadline = waiter.deadline, .bulk = part.spec.options.bulk});
}

void Announcer::answer_probe(LinkId link, Rank rank, const wire::Header& probe, const Part& part) {
  wire::Header answer = header_about(part, rank);
  answer.kind = wire::Kind::kDone;
  answer.flags = wire::kProbe;
  answer.priority = probe.priority;
  van_.send(link, answer, Buffer(), {.tag = 0, .deadline = Time::max(), .bulk = false});
}

void Announcer::fault(LinkId link, const wire::Header& about, const Status& why) {
  wire::Control message = fault_message(why);
  message.mutable_fault()->set_tensor(about.key.tensor);
  message.mutable_fault()->set_part(about.key.part);
  message.mutable_fault()->set_round(about.version);
  van_.send_control(link, message);
}

void Announcer::disagree(LinkId link, const wire::Header& about, Part& part, const Status& why) {
  fault(link, about, why);
  fail(part, why);
  part.doomed = why;
}

void Announcer::fail(Part& part, const Status& why) {
  wire::Header about;
  about.key = part.key;
  about.version = part.collector.rounds().version() + 1;
  const Status told(why.code(), fmt::format("tensor '{}', round {}: {}", part.spec.name,
                                            about.version, why.cause()));
  for (const Waiter& waiter : part.waiting.take_all()) {
    fault(workers_.link_of(waiter.rank), about, Status(told).with_peer(why.peer()));
  }
}

// A collected round that lacks somebody who has left can never finish: its waiters hear it now.
void Announcer::check_absentee(Part& part) {
  if (part.waiting.empty()) return;
  const Consistency& rounds = part.collector.rounds();
  const bool collecting = has_rounds(part.spec.options.mode) || rounds.open();
  const std::int64_t absentee = rounds.absentee();
  if (!collecting || absentee < 0) return;
  fail(part, Status(Code::kPeerLost, fmt::format("worker {} has left the job", absentee))
                 .with_peer(fmt::format("worker {}", absentee)));
}

}  // namespace stretto
