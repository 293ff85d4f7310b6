// SPDX-License-Identifier: Apache-2.0
// Copies a contribution for the other members, and makes a value of all contributions.
#include "worker/host_path/host_calls.h"

#include <algorithm>
#include <utility>

#include "common/memory/copy_bytes.h"

namespace stretto {

using collective::Place;

// The other members read a copy, while the value is written to the call's memory.
void HostCalls::give(const GroupAt& at, const OpenCallPtr& call, CallPart& part) {
  if (part.plan.contributes) {
    part.own = van_.allocate(part.plan.source.size());
    copy_bytes(part.plan.source, part.own.writable());
  }
  const auto places = static_cast<Place>(at.known.members.nodes.size());
  for (Place next = 1; next < places; ++next) {
    const Place to = (at.known.members.self + next) % places;
    at.known.ready.contains(to) ? offer(at, call, part, to) : part.not_yet.push_back(to);
  }
}

void HostCalls::on_ready(const GroupAt& at, const OpenCallPtr& call, CallPart& part, Place to) {
  if (std::erase(part.not_yet, to) != 0) offer(at, call, part, to);
}

// A contribution beyond the receiver's allowance is held until it has begun the call.
void HostCalls::offer(const GroupAt& at, const OpenCallPtr& call, const CallPart& part, Place to) {
  const auto index = static_cast<std::size_t>(&part - call->parts.data());
  const bool goes =
      at.state().ahead_of(to).admit({.call = call->id.number, .part = index}, part.own.size());
  ask_(at, to);
  if (goes) post(at, *call, part, to);
}

void HostCalls::post(const GroupAt& at, const OpenCall& call, const CallPart& part, Place to) {
  const Operation& operation = *call.operation;
  const wire::GroupFrame frame{.up = true,
                               .key = {at.tensor.id, part.plan.key},
                               .number = call.id.number,
                               .call = part.plan.call,
                               .absent = part.own.empty(),
                               .dtype = call.call.dtype,
                               .priority = operation.priority};
  const Participants& members = at.known.members;
  van_.send(peers_.link_to(members.nodes[to], members.turn_of(part.plan.key)), frame.header(),
            part.own,
            {.tag = operation.id,
             .deadline = operation.deadline_wanted,
             .bulk = at.tensor.spec.options.bulk});
  if (operation.paused) van_.queue().pause(operation.id);
}

// Other members need a paused contribution: a call does not end before they have it.
void HostCalls::tick() {
  constexpr int kAtOnce = 4;
  for (int made = 0; made < kAtOnce && !whole_.empty(); ++made) {
    const auto next = std::ranges::max_element(
        whole_, {}, [](const Whole& each) { return each.call->operation->priority; });
    const Operation& operation = *next->call->operation;
    const bool held = operation.paused && van_.queue().backlog().untouched(operation.id) > 0;
    if (held) {
      held_.splice(held_.end(), whole_, next);
      continue;
    }
    const Whole whole = std::move(*next);
    whole_.erase(next);
    make(whole);
  }
}

void HostCalls::drop(const TensorState& tensor) {
  const auto of_it = [&tensor](const Whole& each) { return &each.at.tensor == &tensor; };
  whole_.remove_if(of_it);
  held_.remove_if(of_it);
}

void HostCalls::make(const Whole& whole) {
  CallPart& part = *whole.part;
  std::vector<std::span<const std::byte>> contributions;
  const auto places = static_cast<Place>(whole.at.known.members.nodes.size());
  for (Place place = 0; place < places; ++place) {
    const auto kept = std::ranges::find(part.kept, place, &CallPart::Kept::from);
    if (place == whole.at.known.members.self && !part.own.empty()) {
      contributions.push_back(part.own.bytes());
    } else if (kept != part.kept.end()) {
      contributions.push_back(kept->payload.bytes());
    }
  }
  make_value_of_all(part.plan.op, whole.call->call.dtype, part.plan.target, contributions, places);
  part.kept.clear();
  part.own = {};
  done_(whole.at, whole.call);
}

}  // namespace stretto
