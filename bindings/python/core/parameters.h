// SPDX-License-Identifier: Apache-2.0
// PyParameters: the weights of a model that workers train in a mode other than sync, for an
// optimizer in Python. The optimizer's change of the weights is the update that travels.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bindings/python/core/worker.h"
#include "stretto/parameters.h"

namespace stretto::python {

/// f32 values: address and count.
struct Values {
  std::uintptr_t address = 0;
  std::size_t elements = 0;
};

/// Thread: one at a time, with the GIL; what waits lets it go. The worker must outlive it.
class PyParameters {
 public:
  /// Declares the tensors, and broadcasts the values of rank 0.
  PyParameters(PyWorker& worker, const std::vector<std::string>& names,
               const std::vector<Values>& initial, const ParameterOptions& options);
  ~PyParameters();

  std::size_t count() const { return parameters_->count(); }
  /// The values of a tensor. Valid until the next step() or finish().
  Values values(std::size_t tensor) const;
  /// Applies the rate rule to the gradients, one a tensor, which may be empty. Call it before each
  /// step().
  void compensate(const std::vector<Values>& gradients);
  /// Pushes updates, one a tensor, and gets the values for the next step.
  void step(const std::vector<Values>& updates);
  void finish();
  StepInfo info() const { return parameters_->info(); }

 private:
  Owner process_;
  std::unique_ptr<Parameters> parameters_;
};

}  // namespace stretto::python
