// SPDX-License-Identifier: Apache-2.0
// Callee: calls from peers, from their arrival until their answers have been sent.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "common/check.h"
#include "rpc/handles.h"
#include "rpc/methods.h"
#include "van/engine/van.h"
#include "van/wire/frame_views.h"

namespace stretto::rpc {

/// Thread: loop.
class Callee {
 public:
  struct Limits {
    std::uint32_t max_calls = 0;       ///< For each link.
    std::uint64_t max_held_bytes = 0;  ///< Of its messages until they are answered, and then of the
                                       ///< answers until they are sent.
  };
  Callee(Van& van, const Methods& methods, const Limits& limits)
      : van_(van), methods_(methods), limits_(limits) {}

  void set_executor(std::shared_ptr<NodeExecutor> way) { executor_ = std::move(way); }
  void add_link(LinkId link) { links_[link]; }
  void lose_link(LinkId link);

  /// Passes the call to its handler, or answers it with an error. On an error here, end the link.
  Status on_call(LinkId link, const wire::Header& header, Buffer payload);
  /// The caller changes or cancels the call.
  void steer(LinkId link, const control::Steer& steer);
  /// Answers a call that is in flight and has not been answered.
  void answer(LinkId link, std::uint64_t number, const Result<Message>& outcome);
  /// An answer has been sent completely.
  void on_left(std::uint64_t tag);

  /// Answers calls in flight, and all later calls, with an error. Paused answers are resumed.
  void close();

 private:
  struct InFlight {
    std::uint64_t tag = 0;
    Urgency urgency;
    std::size_t held_bytes = 0;  // Of its message, and then of its answer.
    bool paused = false;
    bool answered = false;
    bool cancelled = false;
    std::shared_ptr<detail::ReplyState> reply;  // Null if no handler was found.
  };
  struct Link {
    std::map<std::uint64_t, InFlight> calls;  // By number.
    std::size_t unanswered = 0;
    std::uint64_t held_bytes = 0;

    void hold(InFlight& call, std::size_t bytes) {
      STRETTO_CHECK(held_bytes >= call.held_bytes);
      held_bytes += bytes - std::exchange(call.held_bytes, bytes);
    }
    void end(std::map<std::uint64_t, InFlight>::iterator call) {
      hold(call->second, 0);
      calls.erase(call);
    }
  };

  Status may_take(const Link& link, std::size_t bytes) const;

  Van& van_;
  const Methods& methods_;
  const Limits limits_;
  std::shared_ptr<NodeExecutor> executor_;
  std::uint64_t last_tag_ = 0;  // Even.
  bool closed_ = false;
  std::map<LinkId, Link> links_;
  std::map<std::uint64_t, std::pair<LinkId, std::uint64_t>> leaving_;  // Queued answers, by tag.
};

}  // namespace stretto::rpc
