// SPDX-License-Identifier: Apache-2.0
// From a tool's hello to its answers.
#include "scheduler/observers/observer_service.h"

#include "scheduler/recovery/comebacks.h"
#include "van/control/handshake.h"

namespace stretto {

std::string_view name_of(ViewMachine::Phase phase) {
  constexpr std::string_view kNames[] = {"gathering", "running", "dispersing", "failing", "over"};
  return kNames[static_cast<std::size_t>(phase)];
}

void ObserverService::greet(LinkId link, const control::Hello& hello) {
  Status status = check_greeting(hello, job_.config.token);
  if (status.ok()) status = observers_.add(link);
  if (!status.ok()) {
    job_.van.links().refuse(link, status);
    return;
  }
  job_.chronicle.visited();
  const NodeId identity = job_.machine.identity();
  job_.van.links().admit(link, identity, LinkKind::kVisits);
  job_.van.send_control(link, control::Welcome{.node = identity});
}

void ObserverService::hear(LinkId link, const control::Message& message) {
  if (const auto* move = std::get_if<control::Move>(&message)) return job_.moves.ask(link, *move);
  const auto* question = std::get_if<control::Observe>(&message);
  if (question == nullptr || job_.van.queue().waiting(link) > Observers::kMostUnread) {
    observers_.remove(link);
    job_.van.links().refuse(link, {Code::kMalformed, "a tool asks, and reads its answers"});
    return;
  }
  job_.van.send_control(link, Observers::answer(*question,
                                                {.snapshot = job_.watch.snapshot(),
                                                 .registry = job_.agreements.registry(),
                                                 .trace = job_.watch.trace(),
                                                 .stacks = job_.watch.stacks(),
                                                 .phase = name_of(job_.machine.phase()),
                                                 .members = members_of(job_.machine)},
                                                job_.clock.now()));
  go_on_tracing();
}

void ObserverService::go_on_tracing() {
  for (const TraceSession::Order& order : job_.watch.trace().due(job_.clock.now())) {
    const LinkId link = job_.links.of(order.node);
    if (link == 0) {
      job_.watch.trace().gone(order.node);
      continue;
    }
    job_.van.send_control(link, order.command);
  }
}

}  // namespace stretto
