// SPDX-License-Identifier: Apache-2.0
// One tensor of a model that is trained: its values, those that are on their way, and which of our
// own updates the latter lack. Arithmetic only: who moves bytes is told where they lie.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stretto/worker.h"
#include "worker/training/optimizer.h"

namespace stretto {

/// Thread: one at a time. Movable: the memory that spans lead to stays where it is.
class ModelTensor {
 public:
  ModelTensor(std::string name, std::span<const float> values, Optimizer optimizer);

  const std::string& name() const { return name_; }
  std::size_t size() const { return values_.size(); }
  /// What the user computes with,
  std::span<float> values() { return values_; }
  std::span<const float> values() const { return values_; }
  /// and what is on its way.
  std::span<float> incoming() { return incoming_; }
  /// That of the round that make_update() began last.
  std::span<const float> update() const { return updates_[rounds_ % 2]; }

  Optimizer& optimizer() { return optimizer_; }
  /// Its values came from the servers, and no broadcast was a round of ours. Before any update.
  void come_late() { rounds_ = 0; }
  /// Begins a round of ours: the update that the optimizer makes of `gradient`, times `factor`.
  void make_update(std::span<const float> gradient, double factor);
  void add_to_values() { add(values_, update()); }
  void add_to_incoming() { add(incoming_, update()); }
  /// To each part of the values that came those of our updates that it does not hold: at most the
  /// two latest.
  void add_missing(std::span<const PartInfo> parts);
  /// What came is what the user computes with from now on.
  void take() { values_.swap(incoming_); }

 private:
  using Floats = std::vector<float>;

  static void add(std::span<float> sum, std::span<const float> more);

  std::string name_;
  Optimizer optimizer_;
  Floats values_;
  Floats incoming_;
  /// The update of round r is updates_[r % 2]: that of the last round is on its way, and it and the
  /// one before may be missing in what comes.
  std::array<Floats, 2> updates_;
  std::uint64_t rounds_ = 1;  // Ours: the broadcast, and one an update.
};

}  // namespace stretto
