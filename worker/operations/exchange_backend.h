// SPDX-License-Identifier: Apache-2.0
// ExchangeBackend: how operations on some tensors are carried out: through servers, or among
// workers. Which operations are in flight and when they end is Exchanges's.
#pragma once

#include <functional>
#include <string>

#include "worker/operations/staleness.h"
#include "worker/operations/tensor_table.h"

namespace stretto {

/// What has been exchanged so far.
struct ExchangeProgress {
  std::uint64_t most_rounds = 0;     ///< Rounds pushed, of the part with most.
  std::uint64_t last_staleness = 0;  ///< Of the value that came last.
  StalenessCounts staleness;         ///< Of all values.
  std::uint64_t not_finite = 0;      ///< Contributions with NaN or Inf, of tensors that look.
};

/// What a way tells of what becomes of operations. Thread: loop.
struct OperationEvents {
  std::function<void(const OperationPtr&, const Status&)> end;  ///< One is over.
  /// Everything of a tensor is, now and later.
  std::function<void(std::uint32_t, const Status&)> fail_tensor;
  ExchangeProgress& progress;
};

/// Thread: loop.
class ExchangeBackend {
 public:
  virtual ~ExchangeBackend() = default;
  /// Why the operation cannot be begun, or ok. Its tensor has not failed.
  virtual Status refusal(const TensorState& tensor, const Operation& operation) const = 0;
  /// What an operation that is in flight lacks, in words.
  virtual std::string missing(const TensorState& tensor, const Operation& operation) const;
  /// Begins an operation, which is in flight, on all that the tensor has; there is a part.
  virtual void begin(TensorState& tensor, const OperationPtr& operation) = 0;
  /// Of what waits in this operation's lane, begins what may begin now.
  virtual void advance(TensorState& tensor, const Operation& operation) = 0;
  /// The operation is over with an error: nothing is kept for it.
  virtual void forget(Operation& operation) = 0;
  /// The tensor has failed for this reason, which was not known before.
  virtual void failed(const TensorState& tensor, const Status& why) = 0;
};

}  // namespace stretto
