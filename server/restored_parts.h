// SPDX-License-Identifier: Apache-2.0
// RestoredParts: the parts of a checkpoint, for those that are made now. Where a part lay when it
// was saved does not matter: each is found by its tensor's name and its number.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/folder.h"
#include "checkpoint/parts_reader.h"
#include "server/slot.h"

namespace stretto {

/// Thread: loop. Calls block.
class RestoredParts {
 public:
  /// Of a complete checkpoint.
  static Result<RestoredParts> open(checkpoint::Folder& folder, std::uint64_t number);

  /// Gives a part what was saved of it, and its rounds go on behind that; nothing if there is none.
  /// kMismatch if its tensor was another one then; kMalformed if what was saved is damaged.
  Status load(Part& part);

 private:
  struct Found {
    std::size_t reader;
    std::size_t entry;
  };

  std::vector<checkpoint::PartsReader> readers_;
  std::map<std::pair<std::string, std::uint32_t>, Found> parts_;
  std::map<std::string, TensorSpec> specs_;
};

}  // namespace stretto
