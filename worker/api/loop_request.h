// SPDX-License-Identifier: Apache-2.0
// LoopRequest: a user thread's request to the worker's loop.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <utility>

namespace stretto {

class WorkerNode;
struct Operation;

/// Starting an operation, the usual case, takes no function object and no memory. Thread: any.
class LoopRequest {
 public:
  explicit LoopRequest(std::shared_ptr<Operation> start) : start_(std::move(start)) {}
  template <std::invocable<WorkerNode&> Do>
  // NOLINTNEXTLINE(google-explicit-constructor): a function is a request.
  LoopRequest(Do what) : do_(std::move(what)) {}
  void operator()(WorkerNode& node) const;

 private:
  std::shared_ptr<Operation> start_;
  std::function<void(WorkerNode&)> do_;
};

}  // namespace stretto
