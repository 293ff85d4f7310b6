// SPDX-License-Identifier: Apache-2.0
// Part p of a tensor is in slot (first + p) modulo all, as the scheduler places them.
#include "server/storage/owned_slots.h"

#include <fmt/core.h>

#include "common/check.h"
#include "ops/update.h"

namespace stretto {

Status OwnedSlots::open(std::uint32_t tensor, const TensorSpec& spec, std::uint32_t first_slot) {
  const auto known = tensors_.find(tensor);
  if (known == tensors_.end()) {
    if (first_slot >= job_.slots) {
      return {Code::kMalformed, fmt::format("tensor '{}' is said to begin in slot {} of {}",
                                            spec.name, first_slot, job_.slots)};
    }
    if (Status status = budget_.take(spec); !status.ok()) return status;
    tensors_.emplace(tensor, OpenTensor{spec, Cut(spec, job_.part_bytes), first_slot});
    return {};
  }
  const OpenTensor& here = known->second;
  if (here.spec != spec) {
    return {Code::kMismatch, fmt::format("tensor '{}': opened as {}, known here as {}", spec.name,
                                         spec.describe(), here.spec.describe())};
  }
  if (here.first_slot == first_slot) return {};
  return {Code::kMismatch, fmt::format("tensor '{}': opened in slot {}, known here in slot {}",
                                       spec.name, first_slot, here.first_slot)};
}

Result<OwnedSlots::Place> OwnedSlots::place_of(const wire::Key& key, const std::set<NodeId>& left) {
  if (const auto found = places_.find(key); found != places_.end()) return found->second;
  const auto known = tensors_.find(key.tensor);
  if (known == tensors_.end() || key.part >= known->second.cut.parts()) {
    return Status(Code::kMalformed,
                  fmt::format("part {} of tensor {} is not known here", key.part, key.tensor));
  }
  if (const auto failed = unrestored_.find(key); failed != unrestored_.end()) {
    return failed->second;
  }
  if (!known->second.doomed.ok()) return known->second.doomed;
  return make_part(known->second, key, slot_of((known->second.first_slot + key.part) % job_.slots),
                   left);
}

bool OwnedSlots::doom(std::uint32_t tensor, const Status& why) {
  const auto known = tensors_.find(tensor);
  if (known == tensors_.end()) return false;
  if (known->second.doomed.ok()) known->second.doomed = why;
  return true;
}

Slot& OwnedSlots::slot_of(std::uint32_t number) {
  return slots_.try_emplace(number, number, job_.since).first->second;
}

Result<OwnedSlots::Place> OwnedSlots::make_part(const OpenTensor& tensor, const wire::Key& key,
                                                Slot& slot, const std::set<NodeId>& left) {
  const TensorSpec& spec = tensor.spec;
  const PartLayout layout(spec, key, tensor.cut.elements_of(key.part), job_.workers->size());
  const RuleOptions& rule = spec.options.update;
  const std::uint64_t remembered =
      layout.has_rule ? ops::remembered_bytes(rule, layout.dtype, layout.elements) : 0;
  const auto shares = job_.elastic ? Aggregator::Shares::kKept : Aggregator::Shares::kAdded;
  Aggregator collector(layout, job_.workers, allocate_, shares);
  const std::uint64_t wanted = layout.bytes + remembered + collector.most_held_bytes();
  if (limit_bytes_ != 0 && bytes_ + wanted > limit_bytes_) {
    return Status(Code::kResource,
                  fmt::format("tensor '{}' needs {} more bytes, this server may hold {} and holds "
                              "{}; raise STRETTO_MEMORY_LIMIT_MIB or add servers",
                              spec.name, wanted, limit_bytes_, bytes_));
  }
  std::unique_ptr<ops::UpdateRule> made;
  if (layout.has_rule) {
    auto result = ops::make_update_rule(rule, layout.dtype, layout.sums, layout.elements);
    if (!result.ok()) return result.status();
    made = std::move(*result);
  }
  Part& part = slot.add(spec, layout, std::move(made), std::move(collector), allocate_);
  STRETTO_CHECK(part.bytes() == wanted);
  bytes_ += wanted;
  ++parts_;
  // In an elastic job the next roster removes workers that leave: until then their absence is not
  // reported.
  if (!job_.elastic) {
    for (const NodeId worker : left) part.collector.rounds().leave(worker);
  }
  if (job_.restore) {
    Status restored = job_.restore(part);
    part.restored = restored.ok();
    if (!restored.ok()) return unrestored_.emplace(key, std::move(restored)).first->second;
  }
  return places_.emplace(key, Place{&slot, &part}).first->second;
}

void OwnedSlots::count_bytes() {
  bytes_ = 0;
  for (auto& [number, slot] : slots_) {
    slot.count_bytes();
    bytes_ += slot.bytes();
  }
}

void OwnedSlots::count_bytes(const Place& place, std::uint64_t before) {
  place.slot->count_bytes(*place.part, before);
  bytes_ = bytes_ - before + place.part->bytes();
}

std::uint64_t OwnedSlots::shares() const {
  std::uint64_t shares = 0;
  for_each_slot([&shares](const Slot& slot) { shares += slot.shares(); });
  return shares;
}

}  // namespace stretto
