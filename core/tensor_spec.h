// SPDX-License-Identifier: Apache-2.0
// What a tensor is, and whether it can be: what workers, servers and scheduler must agree on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "stretto/status.h"
#include "stretto/tensor.h"

namespace stretto {

/// What a tensor is, as everybody must agree on it.
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
/// Parts of one tensor, at most. The scheduler refuses what would be cut into more.
inline constexpr std::uint64_t kMaxParts = std::uint64_t{1} << 24;
/// Tensors of one job, at most.
inline constexpr std::size_t kMaxTensors = 1 << 20;

/// What names and descriptions of a job's tensors may take at one endpoint. A description is
/// counted with what goes with it: 262,144 tensors with names of 64 bytes fit.
/// Thread: loop.
class DescriptionBudget {
 public:
  static constexpr std::size_t kBytes = std::size_t{256} << 20;
  /// Room for one more; kResource if there is none.
  Status take(const TensorSpec& spec);

 private:
  std::size_t tensors_ = 0;
  std::size_t bytes_ = 0;
};

/// The same, with what the mode, the rule and the codec do not use as it is by default: two who
/// differ in that alone want the same.
TensorSpec canonical(TensorSpec spec);

/// Why this cannot be declared, or ok: name, dtype, size, mode and rule. Users and the wire meet
/// the same check.
Status check(const TensorSpec& spec);
/// Why it cannot be exchanged among workers, or ok; kInvalidArgument, with what can.
Status goes_among_workers(const TensorSpec& spec);

}  // namespace stretto
