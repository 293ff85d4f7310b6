// SPDX-License-Identifier: Apache-2.0
// Addresses become spans; errors become exceptions.
#include "bindings/python/core/parameters.h"

#include <utility>

#include "bindings/python/core/interruptible_wait.h"

namespace stretto::python {
namespace py = pybind11;

namespace {

std::span<const float> floats_at(const Values& values) {
  return {reinterpret_cast<const float*>(values.address), values.elements};  // NOLINT: as above.
}

}  // namespace

PyParameters::PyParameters(PyWorker& worker, const std::vector<std::string>& names,
                           const std::vector<Values>& initial, const ParameterOptions& options) {
  worker.process().refuse_others();
  if (names.size() != initial.size()) throw py::value_error("one name for each tensor");
  std::vector<InitialValues> tensors;
  for (std::size_t i = 0; i < names.size(); ++i) {
    tensors.push_back({.name = names[i], .values = floats_at(initial[i])});
  }
  Result<Parameters> parameters =
      heard([&] { return Parameters::open(worker.worker(), tensors, options); });
  parameters_ = std::make_unique<Parameters>(value_of(std::move(parameters)));
}

PyParameters::~PyParameters() {
  // In a forked child operations in flight are the parent's.
  if (process_.is_another()) {
    (void)parameters_.release();  // NOLINT(bugprone-unused-return-value): left to the process.
    return;
  }
  without_gil([this] { parameters_.reset(); });
}

Values PyParameters::values(std::size_t tensor) const {
  if (tensor >= count()) throw py::index_error("there are not so many tensors");
  const std::span<const float> values = parameters_->values(tensor);
  return {reinterpret_cast<std::uintptr_t>(values.data()), values.size()};  // NOLINT: as above.
}

void PyParameters::compensate(const std::vector<Values>& gradients) {
  process_.refuse_others();
  std::vector<std::span<float>> spans;
  spans.reserve(gradients.size());
  for (const Values& gradient : gradients) {
    spans.emplace_back(reinterpret_cast<float*>(gradient.address),  // NOLINT: as above.
                       gradient.elements);
  }
  raise_unless_ok(heard([&] { return parameters_->compensate(spans); }));
}

void PyParameters::step(const std::vector<Values>& updates) {
  process_.refuse_others();
  std::vector<std::span<const float>> spans;
  spans.reserve(updates.size());
  for (const Values& update : updates) spans.push_back(floats_at(update));
  raise_unless_ok(heard([&] { return parameters_->step(spans); }));
}

void PyParameters::finish() {
  process_.refuse_others();
  raise_unless_ok(heard([this] { return parameters_->finish(); }));
}

}  // namespace stretto::python
