// SPDX-License-Identifier: Apache-2.0
// OwnedSlots: the slots of a shard and the tensors that lie in them. Finds a key's part, makes it
// at its first use, and counts what all take of the server's memory.
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
  /// What a roster says that all slots need to know.
  struct Job {
    ContributorGroup workers = {};
    std::uint32_t slots = 1;
    std::uint32_t since = 0;  ///< The epoch from which on what is first used now is owned here.
    std::uint32_t part_bytes = 0;
    bool elastic = false;  ///< Workers may be lost: shares are kept until their round is done.
    /// Gives a part that has just been made what it had before; null: it begins anew.
    std::function<Status(Part&)> restore = {};
  };
  struct Place {
    Slot* slot;
    Part* part;
  };

  /// At most `limit_bytes` of parts, with what their rules remember and what shares that wait may
  /// take; 0: no limit.
  OwnedSlots(std::uint64_t limit_bytes, Allocate allocate)
      : limit_bytes_(limit_bytes), allocate_(std::move(allocate)) {}

  /// Before anything is opened.
  void begin(const Job& job) { job_ = job; }
  /// Parts that are made from now on begin as this says.
  void restore_by(std::function<Status(Part&)> restore) { job_.restore = std::move(restore); }
  /// Parts that are made from now on have rounds of these.
  void set_workers(ContributorGroup workers) { job_.workers = std::move(workers); }
  const ContributorGroup& workers() const { return job_.workers; }
  /// Parts hold more or less now than they did.
  void count_bytes();
  /// This part held `before` bytes when it was last counted.
  void count_bytes(const Place& place, std::uint64_t before);
  /// A worker says what a tensor is, and the slot of its first part; the others follow it.
  /// kMismatch if another has said otherwise, and then nothing has changed.
  Status open(std::uint32_t tensor, const TensorSpec& spec, std::uint32_t first_slot);
  /// The part of a key, made if it is new. `left`: workers that will contribute no more.
  Result<Place> place_of(const wire::Key& key, const std::set<NodeId>& left);

  /// Of a part that is here.
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
  /// What the tensor of this part is; null: it has not been opened, or has no such part.
  friend const TensorSpec* spec_of(const OwnedSlots& slots, const wire::Key& key) {
    const auto found = slots.tensors_.find(key.tensor);
    const bool has_part = found != slots.tensors_.end() && key.part < found->second.cut.parts();
    return has_part ? &found->second.spec : nullptr;
  }
  /// No more parts of this tensor are made, for this reason. False if it is not known.
  bool doom(std::uint32_t tensor, const Status& why);

  /// All that have been opened, as they were, and the places of all parts that are here.
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

  /// Of who stands by: all that the other has is here, as that one says. It releases nothing since
  /// that is not.
  void set_whole() { whole_ = true; }
  bool whole() const { return whole_; }

  /// Of all slots.
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
  std::unordered_map<wire::Key, Place, Hash> places_;       // Of all parts that are here, but those
  std::unordered_map<wire::Key, Status, Hash> unrestored_;  // that could not be restored.
  std::uint64_t bytes_ = 0;                                 // Of all slots,
  std::size_t parts_ = 0;                                   // as they come.
  bool whole_ = false;
};

}  // namespace stretto
