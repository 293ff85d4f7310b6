// SPDX-License-Identifier: Apache-2.0
// ExportPlan: the position of each tensor and attachment in an export, decided before a byte is
// written.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tools/checkpoint/inventory.h"

namespace stretto::checkpoint {

enum class ExportFormat : std::uint8_t { kSafetensors, kNpy };

struct ExportPlan {
  struct Item {
    Kind kind = Kind::kPart;  ///< A tensor, saved by parts, or an attachment.
    std::size_t index = 0;    ///< Its index in the manifest, or in the inventory.
    /// The tensor's name for readers. An attachment gets the prefix "attached/" if servers have a
    /// tensor of its name.
    std::string title;
    std::string name;  ///< Its key, or its file.
    Dtype dtype = Dtype::kF32;
    std::vector<std::uint64_t> shape;
    std::uint64_t begin = 0;                  ///< Safetensors: offset of its data behind the head.
    std::uint64_t bytes = 0;                  ///< Of its value.
    std::vector<std::uint64_t> stripes = {};  ///< Attached: offset of each in its value.
  };
  struct Skipped {
    Kind kind = Kind::kPart;
    std::size_t index = 0;
    std::string why;
  };

  /// Safetensors: sorted by offset, larger element types first, so that each is aligned.
  std::vector<Item> items;
  std::vector<Skipped> skipped;

  /// The number of items of that kind.
  std::size_t items_of(Kind kind) const;
};

/// `encoded`: tensors with values that a codec made. kMalformed, naming the part or the stripe, if
/// a tensor is incomplete; kInvalidArgument if there are no tensors to export.
Result<ExportPlan> plan_export(const CheckpointManifest& manifest, const Inventory& inventory,
                               const std::set<std::size_t>& encoded, ExportFormat format);

}  // namespace stretto::checkpoint
