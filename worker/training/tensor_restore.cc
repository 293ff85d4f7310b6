// SPDX-License-Identifier: Apache-2.0
// Reads a tensor from a checkpoint, and names what is missing.
#include "worker/training/tensor_restore.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <span>

namespace stretto {

const Attached* find_attached(const std::vector<Attached>& all, const std::string& name,
                              Rank rank) {
  const auto found = std::ranges::find_if(all, [&](const Attached& each) {
    return each.name == name && (each.rank < 0 || each.rank == rank);
  });
  return found == all.end() ? nullptr : &*found;
}

Status restore(const Checkpoints& checkpoints, const std::vector<Attached>& saved,
               bool holds_values, Rank rank, ModelTensor& tensor) {
  if (holds_values) {
    const Attached* values = find_attached(saved, tensor.name(), rank);
    Status read = checkpoints.read(*values, std::as_writable_bytes(tensor.values()));
    if (read.code() == Code::kInvalidArgument) {
      return {Code::kMismatch,
              fmt::format("'{}' has {} elements, and had {} in the checkpoint that the job goes on "
                          "from",
                          tensor.name(), tensor.size(), values->bytes / sizeof(float))};
    }
    if (!read.ok()) return read;
  }
  const std::string name = tensor.name() + kOptimizerSuffix;
  const Attached* remembered = find_attached(saved, name, rank);
  if (remembered == nullptr) remembered = find_attached(saved, name, 0);
  if (remembered == nullptr) {
    if (tensor.optimizer().save().empty()) return {};
    return {Code::kMismatch,
            fmt::format("the checkpoint that the job goes on from has nothing of what the "
                        "optimizer of '{}' remembered: Checkpoints::save() was not given what "
                        "Parameters::attachments() returns; begin anew (--resume no)",
                        tensor.name())};
  }
  std::vector<std::byte> bytes(remembered->bytes);
  Status read = checkpoints.read(*remembered, bytes);
  return read.ok() ? tensor.optimizer().load(bytes) : read;
}

}  // namespace stretto
