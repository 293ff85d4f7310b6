// SPDX-License-Identifier: Apache-2.0
// CheckpointLoader: the parts of a checkpoint, for those that are made now. Where a part lay when
// it was saved does not matter: each is found by its tensor's name and its number.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint_store.h"
#include "checkpoint/parts_reader.h"
#include "server/storage/slot.h"

namespace stretto {

/// Thread: any, where not said otherwise.
class CheckpointLoader {
 public:
  /// Of a complete checkpoint.
  static Result<CheckpointLoader> open(checkpoint::Folder& folder, std::uint64_t number);

  /// A part of a tensor, by the tensor's name and the part's number.
  using Name = std::pair<std::string, std::uint32_t>;

  bool has(const Name& name) const { return parts_.contains(name); }
  /// The saved bytes of a part that there is. kMalformed if they are damaged. Blocks. Thread: any,
  /// one at a time.
  Result<std::vector<std::byte>> read(const Name& name);
  /// Gives a part its saved bytes, and its rounds go on behind that. kMismatch if its tensor was
  /// another one then; kMalformed if the bytes are of another size.
  Status load(Part& part, std::span<const std::byte> bytes) const;

 private:
  struct Found {
    std::size_t reader;
    std::size_t entry;
  };

  std::vector<checkpoint::PartsReader> readers_;
  std::map<Name, Found> parts_;
  std::map<std::string, TensorSpec> specs_;
};

}  // namespace stretto
