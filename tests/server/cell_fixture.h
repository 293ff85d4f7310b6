// SPDX-License-Identifier: Apache-2.0
// A cell, and workers that bring their next shares to it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "server/cell.h"
#include "tests/van/far_end.h"

namespace stretto {

class CellFixture : public testing::Test {
 protected:
  void make(std::uint32_t workers, const TensorOptions& options = {}, std::size_t elements = 2,
            Dtype dtype = Dtype::kF32) {
    const TensorSpec spec = fake::spec("x", dtype, elements, options);
    std::unique_ptr<ops::UpdateRule> rule;
    if (!is_of_its_round(options)) {
      rule = std::move(
          *ops::make_update_rule(options.update, dtype, Cell::dtype_of_sums(spec), elements));
    }
    cell_.emplace(spec, spec.bytes(), workers, std::move(rule));
  }
  Status share(Rank rank, Buffer bytes) {
    return cell_->contribute({.rank = rank, .round = next(rank), .bytes = std::move(bytes)},
                             &gate_);
  }
  Status share(Rank rank, const std::vector<float>& numbers) {
    return share(rank, fake::bytes_of(numbers));
  }
  /// As the root of a broadcast.
  Status assign(Rank rank, Buffer bytes) {
    return cell_->contribute({.rank = rank,
                              .round = next(rank),
                              .assign = true,
                              .root = rank,
                              .bytes = std::move(bytes)},
                             &gate_);
  }
  Status assign(Rank rank, const std::vector<float>& numbers) {
    return assign(rank, fake::bytes_of(numbers));
  }
  /// As one of its receivers.
  Status attend(Rank rank, Rank root) {
    return cell_->contribute({.rank = rank,
                              .round = next(rank),
                              .assign = true,
                              .absent = true,
                              .root = root,
                              .bytes = {}},
                             &gate_);
  }
  std::uint64_t next(Rank rank) const { return cell_->consistency().rounds_of(rank) + 1; }
  std::vector<float> value() const { return fake::floats_of(cell_->value().bytes.bytes()); }

  std::optional<Cell> cell_;
  Consistency::Gate gate_;
};

}  // namespace stretto
