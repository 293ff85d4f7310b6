// SPDX-License-Identifier: Apache-2.0
// PartLayout: the layout of a part, from its tensor's description: sizes, types, and how the rule
// combines a round. Aggregation and storage share it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/cut.h"
#include "core/tensor_spec.h"
#include "ops/codec.h"
#include "ops/feedback.h"
#include "van/wire/header.h"

namespace stretto {

struct PartLayout {
  PartLayout(const TensorSpec& spec, const wire::Key& of, std::size_t elements,
             std::uint32_t workers);

  /// The type of a round's sum: for a mean, wide enough for the sum of all contributions.
  static Dtype dtype_of_sums(const TensorSpec& spec);

  wire::Key key;
  TensorOptions options;
  Dtype dtype;
  Dtype sums;  ///< dtype_of_sums().
  std::size_t elements;
  std::size_t bytes;  ///< Of its elements.
  std::uint32_t workers;
  bool mean;        ///< Sums are divided by the contributors, or updates averaged over them.
  bool has_rule;    ///< Else values are the rounds' own sums or means.
  CodecSpec codec;  ///< Of every contribution except broadcasts,
  std::uint64_t name_hash;  ///< and the tensor's name, which seeds a codec's randomness.
};

}  // namespace stretto
