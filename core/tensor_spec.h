// SPDX-License-Identifier: Apache-2.0
// TensorSpec: the description of a tensor, on which workers, servers and scheduler must agree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "stretto/status.h"
#include "stretto/tensor.h"

namespace stretto {

/// The agreed description of a tensor.
struct TensorSpec {
  std::string name;
  Dtype dtype = Dtype::kF32;
  std::uint64_t elements = 0;
  TensorOptions options;

  std::uint64_t bytes() const { return elements * bytes_of(dtype); }
  /// "f32[1000] sync sum".
  std::string describe() const;
  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

inline constexpr std::size_t kMaxNameBytes = 1024;
inline constexpr std::size_t kMaxShapeBytes = 256;
inline constexpr std::uint64_t kMaxTensorBytes = std::uint64_t{1} << 42;
/// Largest number of parts of one tensor. The scheduler rejects a tensor with more.
inline constexpr std::uint64_t kMaxParts = std::uint64_t{1} << 24;
/// Largest number of tensors in one job.
inline constexpr std::size_t kMaxTensors = 1 << 20;

/// Memory budget of one endpoint for names and descriptions of a job's tensors. A description
/// counts with its overhead: 262,144 tensors with names of 64 bytes fit.
/// Thread: loop.
class DescriptionBudget {
 public:
  static constexpr std::size_t kBytes = std::size_t{256} << 20;
  /// Reserves memory for one more; kResource if the budget is exhausted.
  Status take(const TensorSpec& spec);

 private:
  std::size_t tensors_ = 0;
  std::size_t bytes_ = 0;
};

/// The same tensor with defaults for all options that its mode, rule and codec do not use. Specs
/// that differ only in those are equivalent.
TensorSpec canonical(TensorSpec spec);

/// Whether it can be declared, by name, dtype, size, mode and rule. The API and the wire decoder
/// use the same check.
Status check(const TensorSpec& spec);
/// Whether workers can exchange it directly; kInvalidArgument names the supported tensors.
Status goes_among_workers(const TensorSpec& spec);

}  // namespace stretto
