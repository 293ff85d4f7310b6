// SPDX-License-Identifier: Apache-2.0
// PyReader: the reader of training data for Python. Python accesses the memory of samples without a
// copy for as long as it keeps them.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bindings/python/core/errors.h"
#include "stretto/input.h"

namespace stretto::python {

/// Bytes of a sample, and the lease on them. Thread: any that holds the GIL.
class PyBytes {
 public:
  PyBytes(std::span<const std::byte> bytes, std::shared_ptr<const void> lease)
      : bytes_(bytes), lease_(std::move(lease)) {}
  pybind11::buffer_info buffer() const;
  std::size_t size() const { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> lease_;
};

/// Thread: any that holds the GIL; what waits lets it go, and a second thread is refused meanwhile.
class PyReader {
 public:
  explicit PyReader(const input::Options& options);
  PyReader(const PyReader&) = delete;
  PyReader& operator=(const PyReader&) = delete;
  ~PyReader();

  /// The next sample; none at the end of an epoch.
  std::optional<input::Sample> next();
  input::Cursor cursor() const;
  void seek(const std::string& cursor);
  input::Reader& reader() const;
  /// For calls that any thread may make, even while another thread waits.
  input::Reader& anywhere() const;

 private:
  std::unique_lock<std::mutex> claim() const;

  Owner process_;
  mutable std::mutex waiting_;  // Held by the thread that has let the GIL go.
  std::unique_ptr<input::Reader> reader_;
};

/// Adds the reader to the module.
void bind_reader(pybind11::module_& module);

}  // namespace stretto::python
