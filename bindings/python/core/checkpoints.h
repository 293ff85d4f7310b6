// SPDX-License-Identifier: Apache-2.0
// Checkpoints for Python: attachments are memory by address, which its owner keeps alive.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bindings/python/core/worker.h"
#include "stretto/checkpoints.h"

namespace stretto::python {

/// An Attachment as a Python tuple.
struct PyAttachment {
  std::string name;
  std::uintptr_t address = 0;
  std::size_t bytes = 0;
  std::string held;  ///< "each", "alike" or "first".
  std::optional<std::string> dtype;
  std::string shape;
};

/// Thread: any that holds the GIL; what blocks lets it go.
class PyCheckpoints {
 public:
  explicit PyCheckpoints(PyWorker& worker)
      : worker_(&worker), checkpoints_(std::make_shared<Checkpoints>(worker.worker())) {}

  /// Returns when the checkpoint is complete, or raises the cause of its failure. The caller keeps
  /// the owners of the memory alive.
  void save(std::uint64_t step, const std::vector<PyAttachment>& attachments) const;
  /// Like save(), but returns as soon as the attachments may change again.
  CheckpointTicket begin(std::uint64_t step, const std::vector<PyAttachment>& attachments) const;
  bool due(std::uint64_t step) const;
  RestoredFrom restored() const;
  std::vector<Attached> attached() const;
  void read(const Attached& which, Memory target) const;

 private:
  PyWorker* worker_;
  std::shared_ptr<Checkpoints> checkpoints_;  // Shared with calls that a signal interrupted.
};

void bind_checkpoints(pybind11::module_& module);

}  // namespace stretto::python
