// SPDX-License-Identifier: Apache-2.0
// ExportTarget: where an export goes. It is written under another name, and gets its own in one
// step once all of it is on the device.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "checkpoint/manifest.h"
#include "common/files/disk.h"
#include "tools/checkpoint/export_plan.h"

namespace stretto::checkpoint {

/// What is not published goes with its object. Thread: any, one at a time; calls block.
class ExportTarget {
 public:
  virtual ~ExportTarget() = default;

  /// kInvalidArgument if something is there already.
  virtual Status make() = 0;
  /// Bytes of item `item` of the plan, from `offset` of its value on, which may be amid an element.
  virtual Status write(std::size_t item, std::uint64_t offset,
                       std::span<const std::byte> bytes) = 0;
  /// All of it has been written; `registry` says what it is, as JSON.
  virtual Status publish(const std::string& registry) = 0;
};

/// The plan, the manifest and the disk outlive it.
std::unique_ptr<ExportTarget> safetensors_target(Disk& disk, const std::string& to,
                                                 const CheckpointManifest& manifest,
                                                 const ExportPlan& plan);
std::unique_ptr<ExportTarget> npy_target(Disk& disk, const std::string& to,
                                         const CheckpointManifest& manifest,
                                         const ExportPlan& plan);

}  // namespace stretto::checkpoint
