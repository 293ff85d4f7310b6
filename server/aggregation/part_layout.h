// SPDX-License-Identifier: Apache-2.0
// PartLayout: what a part is made of, from its tensor's description: sizes, types, and what the
// rule makes of a round. Collecting and storing agree by it.
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

  /// What a round's shares are added up in: for a mean, wide enough for their sum.
  static Dtype dtype_of_sums(const TensorSpec& spec);

  wire::Key key;
  TensorOptions options;
  Dtype dtype;
  Dtype sums;  ///< dtype_of_sums().
  std::size_t elements;
  std::size_t bytes;  ///< Of its elements.
  std::uint32_t workers;
  bool mean;        ///< Sums are divided by the contributors, or updates averaged over them.
  bool has_rule;    ///< Else its values are the rounds' own sums or means.
  CodecSpec codec;  ///< Of every share that is no broadcast,
  std::uint64_t name_hash;  ///< and the tensor's name, on which a codec's chance depends.
};

}  // namespace stretto
