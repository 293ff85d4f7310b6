// SPDX-License-Identifier: Apache-2.0
// StackRequests: stack traces of members' threads, on an observer's request. The answer to a
// member's heartbeat requests them, its next heartbeat brings them. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "van/control/control.h"

namespace stretto {

/// Thread: loop.
class StackRequests {
 public:
  static constexpr std::size_t kMost = 16;   ///< Members asked at a time.
  static constexpr Duration kPatience = 5s;  ///< Timeout of a member's answer.
  static constexpr Duration kFresh = 2s;     ///< How long an answer is reused.

  /// Returns the latest stack trace. Empty: it is requested; call again. Errors: Timeout, if the
  /// member has not answered in time; Resource, if too many members are asked.
  Result<std::string> ask(NodeId node, Time now);
  /// True if the answer to the member's heartbeat must request its stacks.
  bool wanted(NodeId node) const;
  void heard(NodeId node, const std::string& stack, Time now);
  void left(NodeId node) { asked_.erase(node); }

 private:
  struct Question {
    Time since;
    std::string answer = {};  // Empty: no answer yet.
    Time answered;
  };
  std::map<NodeId, Question> asked_;
};

}  // namespace stretto
