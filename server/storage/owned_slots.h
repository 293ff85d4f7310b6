// SPDX-License-Identifier: Apache-2.0
// OwnedSlots: the slots of a shard and the tensors in them. Finds the part of a key, makes it at
// its first use, and accounts for the server's memory.
#pragma once

#include <functional>
#include <set>
#include <unordered_map>

#include "core/cut.h"
#include "server/storage/slot.h"
#include "van/control/control.h"

namespace stretto {

/// Thread: loop.
class OwnedSlots {
 public:
  /// Settings from the roster that all slots need.
  struct Job {
    ContributorGroup workers = {};
    std::uint32_t slots = 1;
    std::uint32_t since = 0;  ///< The epoch from which this shard owns new slots.
    std::uint32_t part_bytes = 0;
    bool elastic = false;  ///< Workers may fail: contributions are kept until their round is done.
    /// Restores a part that has just been made; null: it starts empty.
    std::function<Status(Part&)> restore = {};
  };
  struct Place {
    Slot* slot;
    Part* part;
  };

  /// Limits parts to `limit_bytes`, with their rules' state and the most that held contributions
  /// may take; 0: no limit.
  OwnedSlots(std::uint64_t limit_bytes, Allocate allocate)
      : limit_bytes_(limit_bytes), allocate_(std::move(allocate)) {}

  /// Call before any tensor is opened.
  void begin(const Job& job) { job_ = job; }
  /// Sets how later parts are restored.
  void restore_by(std::function<Status(Part&)> restore) { job_.restore = std::move(restore); }
  /// Sets the contributors of later parts.
  void set_workers(ContributorGroup workers) { job_.workers = std::move(workers); }
  const ContributorGroup& workers() const { return job_.workers; }
  /// Recounts the memory of all parts.
  void count_bytes();
  /// Recounts this part, which held `before` bytes at the last count.
  void count_bytes(const Place& place, std::uint64_t before);
  /// A worker declares a tensor, and the slot of its first part; the others follow it. kMismatch,
  /// without effect, if another worker has declared it otherwise.
  Status open(std::uint32_t tensor, const TensorSpec& spec, std::uint32_t first_slot);
  /// The part of a key, made if it is new. `left`: workers that have left for good.
  Result<Place> place_of(const wire::Key& key, const std::set<NodeId>& left);

  /// The place of an existing part.
  Place place_of(Part& part) {
    return {
        .slot = &slot_of((tensors_.at(part.key.tensor).first_slot + part.key.part) % job_.slots),
        .part = &part};
  }
  /// The part of a key; null if it has not been made.
  const Part* find(const wire::Key& key) const {
    const auto found = places_.find(key);
    return found == places_.end() ? nullptr : found->second.part;
  }
  /// The description of this part's tensor; null: it is not open, or has no such part.
  friend const TensorSpec* spec_of(const OwnedSlots& slots, const wire::Key& key) {
    const auto found = slots.tensors_.find(key.tensor);
    const bool has_part = found != slots.tensors_.end() && key.part < found->second.cut.parts();
    return has_part ? &found->second.spec : nullptr;
  }
  /// Fails later parts of this tensor for this reason. False if the tensor is unknown.
  bool doom(std::uint32_t tensor, const Status& why);

  /// All opened tensors in their original messages, and the places of all existing parts.
  template <typename Visit>
  void for_each_tensor(Visit visit) const {
    for (const auto& [id, tensor] : tensors_) {
      visit(control::Open{.tensor = id, .spec = tensor.spec, .first_slot = tensor.first_slot});
    }
  }
  template <typename Visit>
  void for_each_place(Visit visit) const {
    for (const auto& [key, place] : places_) visit(place);
  }

  template <typename Visit>
  void for_each_slot(Visit visit) {
    for (auto& [number, slot] : slots_) visit(slot);
  }
  template <typename Visit>
  void for_each_slot(Visit visit) const {
    for (const auto& [number, slot] : slots_) visit(slot);
  }
  template <typename Visit>
  void for_each_part(Visit visit) {
    for_each_slot([&visit](Slot& slot) { slot.for_each_part(visit); });
  }
  template <typename Visit>
  void for_each_part(Visit visit) const {
    for_each_slot([&visit](const Slot& slot) { slot.for_each_part(visit); });
  }

  /// For a standby: the primary has reported that it is in sync. It releases nothing before that.
  void set_whole() { whole_ = true; }
  bool whole() const { return whole_; }

  /// Over all slots.
  std::uint64_t bytes() const { return bytes_; }
  std::size_t parts() const { return parts_; }
  std::uint64_t shares() const;

 private:
  struct OpenTensor {
    TensorSpec spec;
    Cut cut;
    std::uint32_t first_slot;
    Status doomed = {};
  };

  Result<Place> make_part(const OpenTensor& tensor, const wire::Key& key, Slot& slot,
                          const std::set<NodeId>& left);
  Slot& slot_of(std::uint32_t number);

  struct Hash {
    std::size_t operator()(const wire::Key& key) const {
      return std::hash<std::uint64_t>()((std::uint64_t{key.tensor} << 32) | key.part);
    }
  };

  std::uint64_t limit_bytes_;
  Allocate allocate_;
  Job job_;
  DescriptionBudget budget_;
  std::unordered_map<std::uint32_t, OpenTensor> tensors_;
  std::map<std::uint32_t, Slot> slots_;
  std::unordered_map<wire::Key, Place, Hash> places_;       // Of all existing parts, but those
  std::unordered_map<wire::Key, Status, Hash> unrestored_;  // that could not be restored.
  std::uint64_t bytes_ = 0;                                 // Over all slots,
  std::size_t parts_ = 0;                                   // including failed parts.
  bool whole_ = false;
};

}  // namespace stretto
