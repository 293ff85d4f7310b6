// SPDX-License-Identifier: Apache-2.0
// Steering: applies callers' changes to operations in flight.
#pragma once

#include "common/operation_change.h"
#include "van/engine/van.h"
#include "worker/operations/operations.h"

namespace stretto {

/// Thread: loop.
class Steering {
 public:
  /// All outlive this.
  Steering(Van& van, Tensors& tensors, OperationTable& operations)
      : van_(van), tensors_(tensors), operations_(operations) {}

  /// True if the operation, or those queued behind it, may advance now.
  bool steer(const OperationPtr& operation, const detail::Change& change);

 private:
  bool may_cancel(const Operation& operation) const;
  bool cancel(const OperationPtr& operation);

  Van& van_;
  Tensors& tensors_;
  OperationTable& operations_;
};

}  // namespace stretto
