// SPDX-License-Identifier: Apache-2.0
// CheckpointLoader: loads saved parts into new ones. The server that saved a part does not matter:
// parts are found by tensor name and part number.
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

/// Thread: any, except where noted.
class CheckpointLoader {
 public:
  /// Opens a complete checkpoint.
  static Result<CheckpointLoader> open(checkpoint::Folder& folder, std::uint64_t number);

  /// A part of a tensor, by the tensor's name and the part's number.
  using Name = std::pair<std::string, std::uint32_t>;

  bool has(const Name& name) const { return parts_.contains(name); }
  /// The saved bytes of an existing part. kMalformed if they are damaged. Blocks. Thread: any, one
  /// at a time.
  Result<std::vector<std::byte>> read(const Name& name);
  /// Restores a part from its saved bytes; its rounds continue from there. kMismatch if its tensor
  /// was defined otherwise; kMalformed for bytes of another size.
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
