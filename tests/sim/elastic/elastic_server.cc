// SPDX-License-Identifier: Apache-2.0
// Frames of an unknown epoch are kept until its view arrives; older ones are left to the slot.
#include "tests/sim/elastic/elastic_server.h"

#include <fmt/format.h>

#include <cstring>
#include <set>
#include <utility>

namespace stretto::sim {
namespace {

constexpr std::size_t kNumbers = 2;  // Numbers in a part.

ContributorGroup group_of_view(const View& view) {
  std::vector<Contributor> all;
  for (const NodeId node : view.contributors.nodes) all.push_back({node, view.find(node)->rank});
  return make_group(std::move(all));
}

Buffer bytes_of_numbers(const Ledger::Numbers& numbers) {
  return Buffer::copy_of(std::as_bytes(std::span(numbers)));
}

Ledger::Numbers numbers_of_bytes(const Buffer& bytes) {
  Ledger::Numbers numbers(bytes.size() / sizeof(double));
  std::memcpy(numbers.data(), bytes.bytes().data(), bytes.size());
  return numbers;
}

}  // namespace

void ElasticServer::make_slot(std::uint32_t number, const TensorSpec& spec,
                              const std::vector<wire::Key>& keys, const View& view) {
  Owned& owned = slots_[number];
  owned = {std::make_shared<Slot>(number, view.epoch), view.epoch};
  const ContributorGroup group = group_of_view(view);
  for (const wire::Key& key : keys) {
    const PartLayout layout(spec, key, kNumbers, group->size());
    owned.slot->add(spec, layout, nullptr,
                    Aggregator(layout, group, Buffer::allocate, Aggregator::Shares::kKept),
                    Buffer::allocate);
  }
}

// ---- views

void ElasticServer::on_view(const SharedView& view) {
  if (view_ != nullptr && view->epoch <= view_->epoch) return;
  view_ = view;
  views_.push_back(view);
  for (auto& [number, owned] : slots_) regroup(*owned.slot, *view);
  for (auto coming = coming_.begin(); coming != coming_.end();) {
    const auto [number, parcel] = *coming;
    if (view->slots.owner(number) != node_) {
      ++coming;
      continue;
    }
    for (const SharedView& missed : views_) {
      if (missed->epoch > parcel.epoch) regroup(*parcel.slot, *missed);
    }
    release(*parcel.slot, parcel.slot->appended());
    parcel.slot->move(view->fence);
    slots_[number] = {parcel.slot, view->fence};
    coming = coming_.erase(coming);
  }
  for (auto& [number, owned] : slots_) {
    release_later(owned);
    tell_ready(*owned.slot);
  }
  retry();
}

void ElasticServer::regroup(Slot& slot, const View& view) {
  std::set<NodeId> gone;
  slot.for_each_part([&](const Part& part) {
    for (const Contributor& one : part.collector.rounds().group()->all()) {
      if (view.find(one.node) == nullptr) gone.insert(one.node);
    }
  });
  const auto stuck = slot.regroup(group_of_view(view), view.contributors.from_round, gone);
  if (!stuck.empty()) {
    ledger_.report("no error without a cause",
                   fmt::format("slot {}: {}", slot.number(), stuck.front().second.text()));
  }
}

// ---- moves of slots

ElasticServer::Parcel ElasticServer::give(std::uint32_t number) {
  const auto found = slots_.find(number);
  if (found == slots_.end()) return {};
  release(*found->second.slot, found->second.slot->appended());
  const Parcel parcel{std::move(found->second.slot), view_->epoch};
  slots_.erase(found);
  return parcel;
}

void ElasticServer::take(const Parcel& parcel) { coming_[parcel.slot->number()] = parcel; }

// ---- frames

ElasticServer::Owned* ElasticServer::owned_of(const wire::Key& key) {
  for (auto& [number, owned] : slots_) {
    if (owned.slot->find(key) != nullptr) return &owned;
  }
  return nullptr;
}

void ElasticServer::on_push(const ElasticPush& push) {
  if (!knows(push.epoch)) {
    early_.push_back(push);
    return;
  }
  Owned* owned = owned_of(push.id.key);
  if (owned == nullptr) return;  // The slot has moved: the sender retransmits on the next view.
  Part& part = *owned->slot->find(push.id.key);
  const Slot::Verdict verdict = owned->slot->admit(part, push.id, push.epoch);
  const bool fenced = push.epoch < owned->since;
  if (fenced != (verdict == Slot::Verdict::kMoved)) {
    ledger_.report("fenced frames change nothing",
                   fmt::format("slot {} is owned since epoch {}, a share of epoch {} came",
                               owned->slot->number(), owned->since, push.epoch));
  }
  if (verdict == Slot::Verdict::kApply) count(*owned, push);
  const bool is_in = view_->find(push.id.worker) != nullptr;
  if (verdict != Slot::Verdict::kDuplicate || !is_in) return;
  part.waiting.add({.worker = push.id.worker,
                    .wants_value = true,
                    .gate = part.collector.rounds().gate_of_pull(push.id.round),
                    .since = {}});
  tell_ready(*owned->slot);
}

void ElasticServer::count(Owned& owned, const ElasticPush& push) {
  const NodeId worker = push.id.worker;
  Part& part = *owned.slot->find(push.id.key);
  const bool contributes = part.collector.rounds().group()->contains(worker);
  if (!contributes && view_->contributors.nodes.contains(worker)) {
    early_.push_back(push);  // Its first round has not begun yet.
    return;
  }
  const Ledger::Numbers numbers = Ledger::share_of(worker, push.id.key, push.id.round);
  auto counted = owned.slot->count(
      part, push.id,
      {.worker = worker, .round = push.id.round, .bytes = bytes_of_numbers(numbers)});
  if (!counted.ok()) {
    if (contributes) {
      ledger_.report("no error without a cause",
                     fmt::format("slot {}: {}", owned.slot->number(), counted.status().text()));
    }
    return;  // Otherwise the sender is no member any more.
  }
  part.waiting.add(
      {.worker = worker, .wants_value = true, .gate = counted->gate, .since = mail_.now()});
  if (counted->update) owned.slot->append(part, *std::move(counted->update));
  release_later(owned);
  tell_ready(*owned.slot);
}

void ElasticServer::on_pull(const ElasticPull& pull) {
  if (!knows(pull.epoch)) {
    early_pulls_.push_back(pull);
    return;
  }
  Owned* owned = owned_of(pull.key);
  if (owned == nullptr) return;  // See on_push().
  Part& part = *owned->slot->find(pull.key);
  part.waiting.add({.worker = pull.worker,
                    .wants_value = true,
                    .gate = part.collector.rounds().gate_of_pull(pull.least_round),
                    .since = {}});
  tell_ready(*owned->slot);
}

// Delays the release, as a wait for a standby's acknowledgment would.
void ElasticServer::release_later(Owned& owned) {
  Slot& slot = *owned.slot;
  const Slot::Position through = slot.appended();
  if (through == slot.released()) return;
  if (random_.chance(0.5)) return release(slot, through);
  const std::uint32_t number = slot.number();
  mail_.after(random_.between(1us, 2ms), [this, number, through] {
    const auto found = slots_.find(number);
    if (found == slots_.end() || found->second.slot->released() >= through) return;
    release(*found->second.slot, through);
    retry();
  });
}

// Releases one update at a time, so that the ledger sees each value.
void ElasticServer::release(Slot& slot, Slot::Position through) {
  while (slot.released() < through) {
    std::map<wire::Key, std::uint64_t> before;
    slot.for_each_part([&](const Part& part) { before[part.key] = part.store.value().version; });
    slot.release(slot.released() + 1);
    slot.for_each_part([&](const Part& part) {
      const Value& value = part.store.value();
      if (value.version == before[part.key]) return;
      ledger_.released(part.key, value.version, value.from.nodes(), numbers_of_bytes(value.bytes));
    });
  }
  if (!slot.consistent()) {
    ledger_.report("slots are consistent", fmt::format("slot {}", slot.number()));
  }
  tell_ready(slot);
}

void ElasticServer::tell_ready(Slot& slot) {
  slot.for_each_part([this](Part& part) {
    for (const Waiter& waiter : part.take_ready()) {
      const Value& value = part.store.value();
      answer_(waiter.worker, {part.key, value.version, numbers_of_bytes(value.bytes)});
    }
  });
}

void ElasticServer::retry() {
  for (const ElasticPush& push : std::exchange(early_, {})) on_push(push);
  for (const ElasticPull& pull : std::exchange(early_pulls_, {})) on_pull(pull);
}

}  // namespace stretto::sim
