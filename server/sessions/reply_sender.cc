// SPDX-License-Identifier: Apache-2.0
// A value is a lease: all waiters get it without a copy.
#include "server/sessions/reply_sender.h"

#include <fmt/core.h>

namespace stretto {
namespace {

// The facts on a part's value for a worker.
wire::ValueFacts facts_for(NodeId worker, const Part& part) {
  const Consistency& rounds = part.collector.rounds();
  return {.version = part.store.value().version,
          .slowest = rounds.slowest(),
          .own_applied = rounds.applied_of(worker) - rounds.rounds_before(worker),
          .spread = rounds.spread(),
          .contributors = part.store.value().contributors};
}

}  // namespace

void ReplySender::tell_ready(Part& part) {
  if (part.settled() && part.collector.broadcast().take_made_nothing()) {
    for (Waiter waiter : part.waiting.take_assigning()) {
      waiter.wants_value = false;  // There is none.
      tell(part, waiter);
    }
  }
  for (const Waiter& waiter : part.take_ready()) tell(part, waiter);
}

void ReplySender::tell(const Part& part, const Waiter& waiter) {
  const Value& value = part.store.value();
  const wire::ValueFacts facts = facts_for(waiter.worker, part);
  const wire::Header header =
      waiter.wants_value
          ? wire::ValueFrame{.key = part.key,
                             .facts = facts,
                             .answers_push = waiter.pushed,
                             .dtype = part.spec.dtype,
                             .codec = value.codec,
                             .priority = waiter.priority}
                .header()
          : wire::DoneFrame{.key = part.key, .facts = facts, .priority = waiter.priority}.header();
  van_.send(workers_.link_of(waiter.worker), header, waiter.wants_value ? value.bytes : Buffer(),
            {.tag = 0, .deadline = waiter.deadline, .bulk = part.spec.options.bulk});
}

void ReplySender::answer_probe(LinkId link, NodeId worker, const wire::PullFrame& probe,
                               const Part& part) {
  const wire::DoneFrame answer{.key = part.key,
                               .facts = facts_for(worker, part),
                               .answers_probe = true,
                               .priority = probe.priority};
  van_.send(link, answer.header(), Buffer(), {.tag = 0, .deadline = Time::max(), .bulk = false});
}

void ReplySender::fault(LinkId link, const wire::Key& key, std::uint64_t round, const Status& why) {
  van_.send_control(
      link, control::Fault{.why = why, .tensor = key.tensor, .part = key.part, .round = round});
}

void ReplySender::disagree(LinkId link, const wire::PushFrame& push, Part& part,
                           const Status& why) {
  fault(link, push.key, push.round, why);
  fail(part, why);
  part.doomed = why;
}

void ReplySender::fail(Part& part, const Status& why) {
  const std::uint64_t round = part.collector.rounds().version() + 1;
  const Status told(why.code(),
                    fmt::format("tensor '{}', round {}: {}", part.spec.name, round, why.cause()));
  for (const Waiter& waiter : part.waiting.take_all()) {
    fault(workers_.link_of(waiter.worker), part.key, round, Status(told).with_peer(why.peer()));
  }
}

void ReplySender::check_absentee(Part& part) {
  if (part.waiting.empty()) return;
  const Consistency& rounds = part.collector.rounds();
  const bool collecting = has_rounds(part.spec.options.mode) || rounds.open();
  const std::optional<NodeId> absentee = rounds.absentee();
  if (!collecting || !absentee) return;
  const Rank rank = rounds.group()->ranks_of({*absentee}).front();
  fail(part, Status(Code::kPeerLost, fmt::format("worker {} has left the job", rank))
                 .with_peer(fmt::format("worker {}", rank)));
}

}  // namespace stretto
