// SPDX-License-Identifier: Apache-2.0
// ExportPlan: which of a checkpoint's tensors go where in an export, decided before a byte is
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
    std::size_t tensor = 0;  ///< The manifest's number of it.
    std::string name;        ///< Its key, or its file.
    std::vector<std::uint64_t> shape;
    std::uint64_t begin = 0;  ///< Safetensors: where its data begins, behind the head.
    std::uint64_t bytes = 0;  ///< Of its value.
  };
  struct Skipped {
    std::size_t tensor = 0;
    std::string why;
  };

  /// Safetensors: in the order of their data, larger element types first, so that each is aligned.
  std::vector<Item> items;
  std::vector<Skipped> skipped;
};

/// `encoded`: tensors with values that a codec made. kMalformed, naming the part, if a tensor is
/// there in part; kInvalidArgument if there is nothing to export.
Result<ExportPlan> plan_export(const CheckpointManifest& manifest, const Inventory& inventory,
                               const std::set<std::size_t>& encoded, ExportFormat format);

}  // namespace stretto::checkpoint
