// SPDX-License-Identifier: Apache-2.0
// ExportTarget: the output of an export. It is written under a temporary name, and renamed once all
// of it is on the device.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "checkpoint/manifest.h"
#include "common/files/disk.h"
#include "tools/checkpoint/export_plan.h"

namespace stretto::checkpoint {

/// The destructor removes unpublished output. Thread: any, one at a time; calls block.
class ExportTarget {
 public:
  virtual ~ExportTarget() = default;

  /// kInvalidArgument if the output exists already.
  virtual Status make() = 0;
  /// Bytes of item `item` of the plan, from `offset` of its value on, possibly within an element.
  virtual Status write(std::size_t item, std::uint64_t offset,
                       std::span<const std::byte> bytes) = 0;
  /// Publishes the complete output; `registry` describes it as JSON.
  virtual Status publish(const std::string& registry) = 0;
};

/// The plan, the manifest and the disk must outlive the result.
std::unique_ptr<ExportTarget> safetensors_target(Disk& disk, const std::string& to,
                                                 const CheckpointManifest& manifest,
                                                 const ExportPlan& plan);
std::unique_ptr<ExportTarget> npy_target(Disk& disk, const std::string& to,
                                         const CheckpointManifest& manifest,
                                         const ExportPlan& plan);

}  // namespace stretto::checkpoint
