// SPDX-License-Identifier: Apache-2.0
// Recovery queries, reports and recovered values.
#include "server/recovery/state_recovery.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace stretto {
namespace {

constexpr std::uint32_t kMostFrames = 4;  // Of a worker, for a part: one per queue, and one.
constexpr Duration kPatience = 15s;       // Worker failures are detected earlier.

Waiter waiter_for_end(NodeId worker, std::uint64_t round, Time now) {
  return {.worker = worker, .pushed = true, .gate = {.finished = round}, .since = now};
}

}  // namespace

void StateRecovery::begin(const OwnedSlots& has, const std::set<wire::Key>& lacking) {
  active_ = true;
  has.for_each_part([&](const Part& part) {
    // A part whose next image was in transit still has its earlier state.
    const bool is_new = part.store.value().version == 0 && part.collector.rounds().version() == 0;
    if (!is_new || !lacking.contains(part.key)) known_.insert(part.key);
  });
}

bool StateRecovery::takes(LinkId link, NodeId worker, const wire::Header& header,
                          const Buffer& payload) {
  if (!active_) return false;
  if (header.kind == wire::Kind::kValue) {
    const Status status = take_value(worker, wire::ValueFrame::of(header), payload);
    if (!status.ok()) van_.links().refuse(link, status);
    return true;
  }
  if (header.kind != wire::Kind::kPush && header.kind != wire::Kind::kPull) return false;
  const auto kept = kept_.find(worker);
  const bool others_wait = kept != kept_.end() && !kept->second.frames.empty();
  const bool is_known = known_.contains(header.key);
  if (is_known && !others_wait) return false;
  if (!is_known) {
    const Result<OwnedSlots::Place> place = slots_.place_of(header.key, workers_.left());
    if (place.ok()) open(*place->part);
    if (!place.ok() && !others_wait) return false;  // The handler reports the error.
  }
  Kept& waits = kept_[worker];
  if (++waits.of_part[header.key] > kMostFrames) {
    van_.links().refuse(
        link, {Code::kResource, "too many frames wait for a part that is being recovered"});
  } else {
    waits.frames.push_back({header, to_own(payload)});
  }
  return true;
}

StateRecovery::Asking& StateRecovery::open(Part& part) {
  Asking& asking = open_[part.key];
  if (asking.part == nullptr) asking.deadline = clock_.now() + kPatience;
  asking.part = &part;
  return asking;
}

// A worker without frames, which only waits for a round's end, also reports here.
void StateRecovery::hear(NodeId worker, const control::Recall& told) {
  const wire::Key key{told.tensor, told.part};
  if (!active_ || known_.contains(key)) return;
  const Result<OwnedSlots::Place> place = slots_.place_of(key, workers_.left());
  if (!place.ok()) return;
  Asking& asking = open(*place->part);
  if (!asking.asked.contains(worker)) return;
  if (told.round > told.finished || told.version > told.round) {
    return van_.links().refuse(workers_.link_of(worker),
                               {Code::kMalformed, "a value of a round that has not ended"});
  }
  asking.told.try_emplace(worker, RecoveryReport{.finished = told.finished,
                                                 .round = told.round,
                                                 .version = told.version,
                                                 .owed = told.owed});
}

Status StateRecovery::take_value(NodeId worker, const wire::ValueFrame& value,
                                 const Buffer& payload) {
  const auto found = open_.find(value.key);
  const bool wanted = found != open_.end() && found->second.fetching &&
                      found->second.resumption.holder == worker &&
                      found->second.resumption.version == value.facts.version;
  if (!wanted) return {};  // No longer.
  Asking& asking = found->second;
  const Part& part = *asking.part;
  if (value.codec != Codec::kNone || value.dtype != part.spec.dtype ||
      payload.size() != part.store.value_bytes()) {
    return {Code::kMalformed,
            fmt::format("tensor '{}', part {}: a value of {} bytes of {} came", part.spec.name,
                        part.key.part, payload.size(), name_of(value.dtype))};
  }
  resume(asking, to_own(payload), value.facts.contributors);
  known_.insert(value.key);
  return {};
}

void StateRecovery::step(const Dispatch& dispatch) {
  for (auto next = open_.begin(); next != open_.end();) {
    Asking& asking = next->second;
    if (!known_.contains(next->first) && !go_on(asking)) {
      ++next;
      continue;
    }
    known_.insert(next->first);
    Part& part = *asking.part;
    announcer_.tell_ready(part);
    // Workers that only wait for a round's end have no frame here.
    for (const Contributor& one : workers_.group()->all()) {
      const LinkId link = part.doomed.ok() ? 0 : workers_.link_of(one.node);
      if (link != 0) announcer_.fault(link, part.key, 0, part.doomed);
    }
    next = open_.erase(next);
  }
  dispatch_known(dispatch);
}

bool StateRecovery::go_on(Asking& asking) {
  if (!asking.part->doomed.ok()) return true;  // A worker has reported that.
  if (asking.fetching && workers_.link_of(asking.resumption.holder) == 0) {
    asking.told.erase(asking.resumption.holder);  // It has left, with its value.
    asking.fetching = false;
  }
  ask(asking);
  const std::string missing = asking.fetching ? "the last value" : who_has_not_told(asking);
  if (missing.empty()) return decide(asking);
  if (clock_.now() < asking.deadline) return false;
  asking.part->doomed = {Code::kTimeout,
                         fmt::format("tensor '{}': its server was lost, and another that has come "
                                     "in its place has not heard within {} s: {}",
                                     asking.part->spec.name, seconds(kPatience), missing)};
  return true;
}

void StateRecovery::dispatch_known(const Dispatch& dispatch) {
  for (auto& [worker, kept] : kept_) {
    while (!kept.frames.empty() && !open_.contains(kept.frames.front().header.key)) {
      Frame frame = std::move(kept.frames.front());
      kept.frames.pop_front();
      --kept.of_part[frame.header.key];
      const LinkId link = workers_.link_of(worker);
      const WorkerLinks::Worker* known = workers_.find(link);
      if (known != nullptr) dispatch(link, *known, frame.header, std::move(frame.payload));
    }
    if (kept.frames.empty()) kept.of_part.clear();
  }
}

Time StateRecovery::next_due() const {
  Time due = Time::max();
  for (const auto& [key, asking] : open_) due = std::min(due, asking.deadline);
  return due;
}

void StateRecovery::ask(Asking& asking) {
  for (const Contributor& one : workers_.group()->all()) {
    const LinkId link = workers_.link_of(one.node);
    if (link == 0 || !asking.asked.insert(one.node).second) continue;
    const wire::Key key = asking.part->key;
    van_.send_control(link, control::Recall{.tensor = key.tensor, .part = key.part});
  }
}

// Workers that have left do not answer, and no awaited round includes them.
std::string StateRecovery::who_has_not_told(const Asking& asking) const {
  std::string names;
  for (const Contributor& one : workers_.group()->all()) {
    if (asking.told.contains(one.node) || workers_.left().contains(one.node)) continue;
    names += fmt::format("{}worker {}", names.empty() ? "" : ", ", one.rank);
  }
  return names;
}

bool StateRecovery::decide(Asking& asking) {
  asking.resumption = resumption_of(asking.told, asking.part->key.part, *workers_.group());
  const RecoveryPoint& made = asking.resumption;
  if (!made.why.ok()) {
    asking.part->doomed = {
        made.why.code(), fmt::format("tensor '{}': {}", asking.part->spec.name, made.why.cause())};
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
  return !asking.fetching;
}

void StateRecovery::resume(Asking& asking, Buffer value, std::uint32_t contributors) {
  Part& part = *asking.part;
  const RecoveryPoint& made = asking.resumption;
  asking.fetching = false;
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

bool StateRecovery::take_owed(const wire::Key& key, NodeId worker, std::uint64_t round) {
  const auto found = owed_.find(key);
  if (found == owed_.end() || found->second.first != round) return false;
  const bool is_owed = found->second.second.erase(worker) != 0;
  if (found->second.second.empty()) owed_.erase(found);
  return is_owed;
}

}  // namespace stretto
