// SPDX-License-Identifier: Apache-2.0
// Device memory with an owner that frees it, for the tests and the measurement.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace stretto::ops::cuda {

/// Ends the program with the CUDA error: tests and measurements need a device.
inline void must(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

/// An array in device memory. Thread: one at a time.
template <typename T>
class Array {
 public:
  explicit Array(std::size_t count) : count_(count) {
    must(cudaMalloc(&data_, count * sizeof(T)));
    must(cudaMemset(data_, 0, count * sizeof(T)));
  }
  explicit Array(const std::vector<T>& values) : Array(values.size()) {
    must(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { cudaFree(data_); }

  T* data() const { return data_; }
  std::vector<T> values() const {
    std::vector<T> out(count_);
    must(cudaMemcpy(out.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return out;
  }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

}  // namespace stretto::ops::cuda
