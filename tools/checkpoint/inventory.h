// SPDX-License-Identifier: Apache-2.0
// Inventory: a checkpoint's content by tensor and attachment, from its manifest and the indexes of
// its files; the entries' bytes are not read.
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
    std::uint32_t parts = 0;                   ///< Total number of its parts.
    std::map<std::uint32_t, bool> saved = {};  ///< By number: whether they have a value.
  };
  /// An attachment, replicated or per worker.
  struct Attached {
    std::string name;
    std::int32_t rank = kOfAll;  ///< Of the worker that owns it.
    std::uint64_t total = 0;     ///< Its size, as each of its stripes states.
    std::optional<Dtype> dtype = std::nullopt;
    std::string shape = "";
    std::map<std::uint32_t, std::uint64_t> stripes = {};  ///< Existing ones: their sizes.
    std::uint64_t saved = 0;                              ///< Total of `stripes`.

    /// The whole size. The first files of this format have no total: there one stripe is the whole.
    std::uint64_t bytes() const { return total == 0 && stripes.size() == 1 ? saved : total; }
    /// Complete elements; bytes if it has no element type.
    std::uint64_t elements() const { return bytes() / (dtype ? bytes_of(*dtype) : 1); }
    /// "'random state' of worker 2".
    std::string describe() const;
  };

  /// For a manifest that outlives it. kMalformed if it describes a tensor that cannot be cut.
  static Result<Inventory> of(const CheckpointManifest& manifest);

  /// Adds the entries of the file at `path`, of which the manifest lists `wanted`. kMalformed,
  /// naming the file, if their number differs; for a part of an unknown tensor, an impossible part
  /// or a duplicate of another file's; for a stripe that duplicates or contradicts another.
  Status add(const std::string& path, std::uint64_t wanted, const std::vector<SavedEntry>& entries);

  /// In the manifest's order.
  const std::vector<Tensor>& tensors() const { return tensors_; }
  /// The manifest's index of the tensor of this name, which must exist.
  std::size_t number_of(const std::string& tensor) const { return numbers_.at(tensor); }
  /// In the order of the files.
  const std::vector<Attached>& attached() const { return attached_; }
  /// The index in attached() of this attachment, which must exist; `rank`: as in Attached.
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

/// The first unsaved part; none if all are saved.
std::optional<std::uint32_t> first_missing(const Inventory::Tensor& tensor);

}  // namespace stretto::checkpoint
