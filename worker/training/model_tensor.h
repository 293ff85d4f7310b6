// SPDX-License-Identifier: Apache-2.0
// One tensor of a model that is trained: its values, those in flight, and which of this worker's
// updates the latter lack. Arithmetic only: the caller moves the bytes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stretto/worker.h"
#include "worker/training/optimizer.h"

namespace stretto {

/// Thread: one at a time. Movable: the memory behind spans stays in place.
class ModelTensor {
 public:
  ModelTensor(std::string name, std::span<const float> values, Optimizer optimizer);

  const std::string& name() const { return name_; }
  std::size_t size() const { return values_.size(); }
  /// The values that the user computes with.
  std::span<float> values() { return values_; }
  std::span<const float> values() const { return values_; }
  /// The values in flight.
  std::span<float> incoming() { return incoming_; }
  /// The update that make_update() made last.
  std::span<const float> update() const { return updates_[rounds_ % 2]; }

  Optimizer& optimizer() { return optimizer_; }
  /// The servers had its values, and this worker made no broadcast round. Before any update.
  void come_late() { rounds_ = 0; }
  /// Begins an own round: the update that the optimizer makes of `gradient`, times `factor`.
  void make_update(std::span<const float> gradient, double factor);
  void add_to_values() { add(values_, update()); }
  void add_to_incoming() { add(incoming_, update()); }
  /// Adds to each received part those of this worker's updates that it does not hold: at most the
  /// two latest.
  void add_missing(std::span<const PartInfo> parts);
  /// The user computes with the received values from now on.
  void take() { values_.swap(incoming_); }

 private:
  using Floats = std::vector<float>;

  static void add(std::span<float> sum, std::span<const float> more);

  std::string name_;
  Optimizer optimizer_;
  Floats values_;
  Floats incoming_;
  /// The update of round r is updates_[r % 2]. The update of the last round is in flight; received
  /// values may lack it and the previous one.
  std::array<Floats, 2> updates_;
  std::uint64_t rounds_ = 1;  // Own ones: the broadcast, and one for each update.
};

}  // namespace stretto
