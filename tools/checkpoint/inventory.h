// SPDX-License-Identifier: Apache-2.0
// Inventory: what a checkpoint has of each tensor and of what is attached, by its manifest and by
// the indexes of its files; the entries' bytes are not read for it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "checkpoint/folder.h"
#include "checkpoint/manifest.h"
#include "checkpoint/parts_reader.h"

namespace stretto::checkpoint {

/// Thread: any, one at a time.
class Inventory {
 public:
  struct Tensor {
    std::uint32_t parts = 0;                   ///< That it is cut into.
    std::map<std::uint32_t, bool> saved = {};  ///< By number: whether they have a value.
  };

  /// Of a manifest that outlives it. kMalformed if it describes a tensor that cannot be cut.
  static Result<Inventory> of(const CheckpointManifest& manifest);

  /// Adds what the file at `path` has, of which the manifest says `wanted` entries. kMalformed,
  /// naming it, if there are more or fewer; a part of a tensor that there is not, that it cannot
  /// have or that another file has too.
  Status add(const std::string& path, std::uint64_t wanted, const std::vector<SavedEntry>& entries);

  /// In the manifest's order.
  const std::vector<Tensor>& tensors() const { return tensors_; }
  /// The manifest's number of the tensor of this name, which it has.
  std::size_t number_of(const std::string& tensor) const { return numbers_.at(tensor); }
  /// By name, stripe and rank; their bytes.
  const std::map<EntryKey, std::uint64_t>& attached() const { return attached_; }

 private:
  explicit Inventory(const CheckpointManifest& manifest) : manifest_(&manifest) {}
  Status add(const std::string& path, const SavedEntry& entry);

  const CheckpointManifest* manifest_;
  std::unordered_map<std::string, std::size_t> numbers_;
  std::vector<Tensor> tensors_;
  std::map<EntryKey, std::uint64_t> attached_;
};

/// Opens a file of a checkpoint, as its manifest names it.
Result<PartsReader> open_file(Disk& disk, const Folder& folder, const CheckpointManifest& manifest,
                              const CheckpointManifest::File& file);

/// The inventory of a checkpoint on a disk.
Result<Inventory> take_inventory(Disk& disk, const Folder& folder,
                                 const CheckpointManifest& manifest);

/// The first part that is not saved; none if all are.
std::optional<std::uint32_t> first_missing(const Inventory::Tensor& tensor);

}  // namespace stretto::checkpoint
