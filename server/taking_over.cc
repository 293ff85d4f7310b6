// SPDX-License-Identifier: Apache-2.0
// Questions, answers and the values that come back.
#include "server/taking_over.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace stretto {
namespace {

constexpr std::ptrdiff_t kMostFrames = 4;  // Of a worker, for a part: one in each lane, and one.

Waiter waiter_for_end(NodeId worker, std::uint64_t round, Time now) {
  return {.worker = worker, .pushed = true, .gate = {.finished = round}, .since = now};
}

}  // namespace

bool TakingOver::takes(LinkId link, NodeId worker, const wire::Header& header,
                       const Buffer& payload) {
  if (!active_) return false;
  if (header.kind == wire::Kind::kValue) {
    const Status status = take_value(worker, wire::ValueFrame::of(header), payload);
    if (!status.ok()) van_.links().refuse(link, status);
    return true;
  }
  const bool waits = header.kind == wire::Kind::kPush || header.kind == wire::Kind::kPull;
  if (!waits || known_.contains(header.key)) return false;
  const Result<OwnedSlots::Place> place = slots_.place_of(header.key, workers_.left());
  if (!place.ok()) return false;  // It hears why.
  Asking& asking = open_[header.key];
  asking.part = place->part;
  if (std::ranges::count(asking.frames, worker, &Frame::worker) >= kMostFrames) {
    van_.links().refuse(
        link, {Code::kResource, "too many frames wait for a part that is being recovered"});
  } else {
    asking.frames.push_back({worker, header, to_keep(payload)});
  }
  return true;
}

// One that waits for the end of a round only has nothing else to say.
void TakingOver::hear(NodeId worker, const control::Recall& told) {
  const wire::Key key{told.tensor, told.part};
  if (!active_ || known_.contains(key)) return;
  const Result<OwnedSlots::Place> place = slots_.place_of(key, workers_.left());
  if (!place.ok()) return;
  Asking& asking = open_[key];
  asking.part = place->part;
  if (!asking.asked.contains(worker)) return;
  asking.told.try_emplace(worker, RoundsSeen{.finished = told.finished,
                                             .round = told.round,
                                             .version = told.version,
                                             .owed = told.owed});
}

Status TakingOver::take_value(NodeId worker, const wire::ValueFrame& value, const Buffer& payload) {
  const auto found = open_.find(value.key);
  const bool wanted = found != open_.end() && found->second.fetching &&
                      found->second.resumption.holder == worker &&
                      found->second.resumption.version == value.facts.version;
  if (!wanted) return {Code::kMalformed, "a value came that was not wanted"};
  Asking& asking = found->second;
  const Part& part = *asking.part;
  if (value.codec != Codec::kNone || value.dtype != part.spec.dtype ||
      payload.size() != part.store.value_bytes()) {
    return {Code::kMalformed,
            fmt::format("tensor '{}', part {}: a value of {} bytes of {} came", part.spec.name,
                        part.key.part, payload.size(), name_of(value.dtype))};
  }
  resume(asking, to_keep(payload), value.facts.contributors);
  return {};
}

void TakingOver::step(const Dispatch& dispatch) {
  std::vector<Asking> over;
  for (auto next = open_.begin(); next != open_.end();) {
    Asking& asking = next->second;
    if (asking.fetching && workers_.link_of(asking.resumption.holder) == 0) {
      asking.told.erase(asking.resumption.holder);  // It has gone, and with it its value.
      asking.fetching = false;
    }
    if (!asking.over && !asking.fetching) {
      ask(asking);
      if (all_have_told(asking)) decide(asking);
    }
    if (!asking.over) {
      ++next;
      continue;
    }
    known_.insert(next->first);
    over.push_back(std::move(asking));
    next = open_.erase(next);
  }
  for (Asking& asking : over) go_on(std::move(asking), dispatch);
}

void TakingOver::go_on(Asking asking, const Dispatch& dispatch) {
  Part& part = *asking.part;
  announcer_.tell_ready(part);
  // Who waits for the end of a round only has no frame here.
  for (const Contributor& one : workers_.group()->all()) {
    const LinkId link = part.doomed.ok() ? 0 : workers_.link_of(one.node);
    if (link != 0) announcer_.fault(link, part.key, 0, part.doomed);
  }
  for (Frame& frame : asking.frames) {
    const LinkId link = workers_.link_of(frame.worker);
    const WorkerLinks::Worker* worker = workers_.find(link);
    if (worker != nullptr) dispatch(link, *worker, frame.header, std::move(frame.payload));
  }
}

void TakingOver::ask(Asking& asking) {
  for (const Contributor& one : workers_.group()->all()) {
    const LinkId link = workers_.link_of(one.node);
    if (link == 0 || !asking.asked.insert(one.node).second) continue;
    const wire::Key key = asking.part->key;
    van_.send_control(link, control::Recall{.tensor = key.tensor, .part = key.part});
  }
}

// Who has left answers nothing, and is in no round that anybody still waits for.
bool TakingOver::all_have_told(const Asking& asking) const {
  return std::ranges::all_of(workers_.group()->all(), [&](const Contributor& one) {
    return asking.told.contains(one.node) || workers_.left().contains(one.node);
  });
}

void TakingOver::decide(Asking& asking) {
  asking.resumption = resumption_of(asking.told, asking.part->key.part);
  const Resumption& made = asking.resumption;
  if (!made.why.ok()) {
    asking.part->doomed = {
        made.why.code(), fmt::format("tensor '{}': {}", asking.part->spec.name, made.why.cause())};
    asking.over = true;
  } else if (made.version == 0) {
    resume(asking, Buffer(), 0);
  } else {
    asking.fetching = true;
    const wire::Key key = asking.part->key;
    van_.send_control(workers_.link_of(made.holder), control::Recall{.tensor = key.tensor,
                                                                     .part = key.part,
                                                                     .round = made.finished,
                                                                     .version = made.version});
  }
}

void TakingOver::resume(Asking& asking, Buffer value, std::uint32_t contributors) {
  Part& part = *asking.part;
  const Resumption& made = asking.resumption;
  asking.fetching = false;
  asking.over = true;
  if (made.finished == 0) return;
  part.collector.rounds().resume(made.version, made.finished);
  part.store.recover(std::move(value), made.version, contributors);
  for (const Contributor& one : workers_.group()->all()) part.counted.note(one.node, made.finished);
  std::set<NodeId> owed;
  for (const auto& [worker, standing] : asking.told) {
    if (standing.finished == made.finished) continue;
    if (standing.owed) {
      part.waiting.add(waiter_for_end(worker, made.finished, clock_.now()));
    } else {
      owed.insert(worker);
    }
  }
  if (!owed.empty()) owed_[part.key] = {made.finished, std::move(owed)};
}

bool TakingOver::take_owed(const wire::Key& key, NodeId worker, std::uint64_t round) {
  const auto found = owed_.find(key);
  if (found == owed_.end() || found->second.first != round) return false;
  const bool is_owed = found->second.second.erase(worker) != 0;
  if (found->second.second.empty()) owed_.erase(found);
  return is_owed;
}

}  // namespace stretto
