// SPDX-License-Identifier: Apache-2.0
// The states behind Call and Reply: the halves of a call that other threads hold, and that may
// outlive the endpoint.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "common/operation_change.h"
#include "common/threads/completion.h"
#include "stretto/rpc.h"
#include "van/engine/van.h"

namespace stretto::rpc {

class EndpointNode;

/// Posts requests from handles to the loop. Thread: any.
class NodeExecutor {
 public:
  virtual ~NodeExecutor() = default;
  /// Runs on the loop in its next iteration, after earlier requests. Dropped if the loop has ended.
  virtual void post(std::function<void(EndpointNode&)> request) = 0;
  /// Like post(), but runs at once if this thread drives the loop.
  virtual void run(std::function<void(EndpointNode&)> request) = 0;
  /// True on the thread that drives the loop.
  virtual bool is_here() = 0;
  /// True in a child made by fork, where requests have no effect.
  virtual bool is_forked() { return false; }
  /// Waits for a result of the loop, and may drive the loop meanwhile.
  virtual void wait_until(Awaited& awaited, Time deadline) { park_until_done(awaited, deadline); }
};

namespace detail {

using stretto::detail::Change;

/// Thread: any, except where a comment says the loop.
class CallState : public std::enable_shared_from_this<CallState> {
 public:
  CallState(std::string_view name, Message body, const CallOptions& options,
            std::shared_ptr<NodeExecutor> way)
      : method(name),
        message(std::move(body)),
        timeout(options.timeout),
        urgency{options.priority, options.deadline},
        executor_(std::move(way)) {}

  Result<Message> wait();
  Result<Message> wait_for(Duration limit);
  bool done() { return completion_.done(); }
  void on_done(std::function<void(const Result<Message>&)> then);
  void steer(const Change& change);

  /// Ends the call, once. Adds the method's name to an error.
  void end(Status status, Message answer = {});

  // Used by the loop only.
  const std::string method;
  Message message;  ///< Until it is queued.
  const Duration timeout;
  Urgency urgency;
  bool paused = false;
  std::uint64_t tag = 0;  ///< 0: not in flight.

 private:
  Result<Message> outcome(const Status& status);
  Status blocked();

  const std::shared_ptr<NodeExecutor> executor_;
  Completion<Message> completion_;
};

/// Thread: any.
class ReplyState {
 public:
  ReplyState(std::shared_ptr<NodeExecutor> way, LinkId link, std::uint64_t number,
             std::string method)
      : executor_(std::move(way)), link_(link), number_(number), method_(std::move(method)) {}

  /// Only the first answer counts.
  void answer(Result<Message> outcome);
  void drop();
  bool wanted() const { return wanted_.load(std::memory_order_acquire); }
  /// The caller has given the call up, or the loop itself has answered.
  void release() { wanted_.store(false, std::memory_order_release); }

 private:
  const std::shared_ptr<NodeExecutor> executor_;
  const LinkId link_;
  const std::uint64_t number_;
  const std::string method_;
  std::atomic<bool> answered_{false};
  std::atomic<bool> wanted_{true};
};

}  // namespace detail
}  // namespace stretto::rpc
