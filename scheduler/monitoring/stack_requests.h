// SPDX-License-Identifier: Apache-2.0
// StackRequests: what members' threads do, which somebody has asked for: wanted with the answer to
// a member's heartbeat, brought by its next one. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "van/control/control.h"

namespace stretto {

/// Thread: loop.
class StackRequests {
 public:
  static constexpr std::size_t kMost = 16;   ///< Members that are asked at a time.
  static constexpr Duration kPatience = 5s;  ///< Whoever has not answered then is given up.
  static constexpr Duration kFresh = 2s;     ///< So long an answer serves all who ask.

  /// Somebody wants it: what there is by now. Empty: it is under way; the member is to be asked
  /// again. Errors: Timeout, if it has not answered in time; Resource, if too many are asked.
  Result<std::string> ask(NodeId node, Time now);
  /// The answer to the member's heartbeat asks for it.
  bool wanted(NodeId node) const;
  void heard(NodeId node, const std::string& stack, Time now);
  void left(NodeId node) { asked_.erase(node); }

 private:
  struct Question {
    Time since;
    std::string answer = {};  // Empty: there is none yet.
    Time answered;
  };
  std::map<NodeId, Question> asked_;
};

}  // namespace stretto
