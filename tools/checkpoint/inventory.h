// SPDX-License-Identifier: Apache-2.0
// Inventory: what a checkpoint has of each tensor and of what is attached, by its manifest and by
// the indexes of its files; the entries' bytes are not read for it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint_store.h"
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
  /// What workers attached by a name: all of them the same, or one of them its own.
  struct Attached {
    std::string name;
    std::int32_t rank = kOfAll;  ///< Of the worker whose own it is.
    std::uint64_t total = 0;     ///< Its bytes, as each of its stripes says.
    std::optional<Dtype> dtype = std::nullopt;
    std::string shape = "";
    std::map<std::uint32_t, std::uint64_t> stripes = {};  ///< That are there: their bytes.
    std::uint64_t saved = 0;                              ///< The bytes of those.

    /// Of all of it. The first files of this format say no total: there one stripe is all.
    std::uint64_t bytes() const { return total == 0 && stripes.size() == 1 ? saved : total; }
    /// Whole ones; bytes where it has no element type.
    std::uint64_t elements() const { return bytes() / (dtype ? bytes_of(*dtype) : 1); }
    /// "'random state' of worker 2".
    std::string describe() const;
  };

  /// Of a manifest that outlives it. kMalformed if it describes a tensor that cannot be cut.
  static Result<Inventory> of(const CheckpointManifest& manifest);

  /// Adds what the file at `path` has, of which the manifest says `wanted` entries. kMalformed,
  /// naming it, if there are more or fewer; a part of a tensor that there is not, that it cannot
  /// have or that another file has too; a stripe that another file has too or that says something
  /// else of the whole than the others.
  Status add(const std::string& path, std::uint64_t wanted, const std::vector<SavedEntry>& entries);

  /// In the manifest's order.
  const std::vector<Tensor>& tensors() const { return tensors_; }
  /// The manifest's number of the tensor of this name, which it has.
  std::size_t number_of(const std::string& tensor) const { return numbers_.at(tensor); }
  /// In the order of the files.
  const std::vector<Attached>& attached() const { return attached_; }
  /// The place there of what is attached by this name, of this worker or of all, which is there.
  std::size_t number_of(const std::string& attached, std::int32_t rank) const {
    return attached_numbers_.at({attached, rank});
  }

 private:
  explicit Inventory(const CheckpointManifest& manifest) : manifest_(&manifest) {}
  Status add(const std::string& path, const SavedEntry& entry);
  Status add_stripe(const std::string& path, const SavedEntry& entry);

  const CheckpointManifest* manifest_;
  std::unordered_map<std::string, std::size_t> numbers_;
  std::vector<Tensor> tensors_;
  std::map<std::pair<std::string, std::int32_t>, std::size_t> attached_numbers_;
  std::vector<Attached> attached_;
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
