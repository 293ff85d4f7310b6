// SPDX-License-Identifier: Apache-2.0
// ExchangeBackend: carries out the operations on some tensors: through servers, or among workers.
// OperationTable tracks which operations are in flight and when they end.
#pragma once

#include <functional>
#include <string>

#include "worker/operations/staleness.h"
#include "worker/operations/tensor_table.h"

namespace stretto {

/// What has been exchanged so far.
struct ExchangeProgress {
  std::uint64_t most_rounds = 0;     ///< Rounds pushed, of the part with most.
  std::uint64_t last_staleness = 0;  ///< Of the last value received.
  StalenessCounts staleness;         ///< Of all values.
  std::uint64_t not_finite = 0;      ///< Contributions with NaN or Inf, of tensors that check.
};

/// What a backend reports of its operations. Thread: loop.
struct OperationEvents {
  std::function<void(const OperationPtr&, const Status&)> end;  ///< It is over.
  /// All operations of a tensor fail, now and later.
  std::function<void(std::uint32_t, const Status&)> fail_tensor;
  ExchangeProgress& progress;
};

/// Thread: loop.
class ExchangeBackend {
 public:
  virtual ~ExchangeBackend() = default;
  /// Why the operation cannot be begun, or ok. Its tensor has not failed.
  virtual Status refusal(const TensorState& tensor, const Operation& operation) const = 0;
  /// What an operation in flight waits for, in words.
  virtual std::string missing(const TensorState& tensor, const Operation& operation) const;
  /// Begins an operation, which is in flight, on all parts of the tensor; there is at least one.
  virtual void begin(TensorState& tensor, const OperationPtr& operation) = 0;
  /// Begins operations waiting in this operation's lane that may begin now.
  virtual void advance(TensorState& tensor, const Operation& operation) = 0;
  /// The operation has failed: drops what is kept for it.
  virtual void forget(Operation& operation) = 0;
  /// The tensor has failed for this reason, which was not known before.
  virtual void failed(const TensorState& tensor, const Status& why) = 0;
};

}  // namespace stretto
