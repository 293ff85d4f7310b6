// SPDX-License-Identifier: Apache-2.0
// ExportPlan: which of a checkpoint's tensors and of what is attached go where in an export,
// decided before a byte is written.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tools/checkpoint/inventory.h"

namespace stretto::checkpoint {

enum class ExportFormat : std::uint8_t { kSafetensors, kNpy };

struct ExportPlan {
  struct Item {
    Kind kind = Kind::kPart;  ///< A tensor, which is saved by parts, or what is attached.
    std::size_t index = 0;    ///< The manifest's number of the tensor, or the inventory's.
    /// Of the tensor that it is for others. What is attached gets "attached/" before its name where
    /// servers have a tensor of that name.
    std::string title;
    std::string name;  ///< Its key, or its file.
    Dtype dtype = Dtype::kF32;
    std::vector<std::uint64_t> shape;
    std::uint64_t begin = 0;  ///< Safetensors: where its data begins, behind the head.
    std::uint64_t bytes = 0;  ///< Of its value.
    std::vector<std::uint64_t> stripes = {};  ///< Attached: where each begins in its value.
  };
  struct Skipped {
    Kind kind = Kind::kPart;
    std::size_t index = 0;
    std::string why;
  };

  /// Safetensors: in the order of their data, larger element types first, so that each is aligned.
  std::vector<Item> items;
  std::vector<Skipped> skipped;

  /// So many of that kind.
  std::size_t items_of(Kind kind) const;
};

/// `encoded`: tensors with values that a codec made. kMalformed, naming the part or the stripe, if
/// a tensor is there in part; kInvalidArgument if there is nothing to export.
Result<ExportPlan> plan_export(const CheckpointManifest& manifest, const Inventory& inventory,
                               const std::set<std::size_t>& encoded, ExportFormat format);

}  // namespace stretto::checkpoint
