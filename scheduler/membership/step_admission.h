// SPDX-License-Identifier: Apache-2.0
// StepAdmission: the step from which joining workers contribute. Each worker reports the last step
// that it may have begun, and begins no later step before the decision. So there is a step that no
// worker has begun, and all workers learn it in time. Workers that have not connected yet are not
// waited for. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "stretto/types.h"

namespace stretto {

/// Thread: loop.
class StepAdmission {
 public:
  /// A joining worker is ready to contribute (ready), or all shards have admitted it and it could
  /// go on alone (settled).
  void say_ready(NodeId newcomer) { said_ += ready_.insert(newcomer).second; }
  void say_settled(NodeId newcomer) { said_ += unsettled_.erase(newcomer); }
  /// Ready if it is joining, else settled. A member that reports no step sent its report of
  /// readiness before it learned of its admission.
  void hear(NodeId newcomer, bool is_joining, std::uint64_t step) {
    if (is_joining) return say_ready(newcomer);
    if (step != 0) say_settled(newcomer);
  }
  /// Waits for this node no longer, whatever its state.
  void forget(NodeId node);

  /// A worker has begun no step after this one. False, without effect, if the question is not open
  /// or has been answered.
  bool answer(NodeId worker, std::uint64_t question, std::uint64_t step);
  /// A question for all workers, if the first worker in the line is ready. Only one is open at a
  /// time, and only after all workers admitted earlier are settled.
  std::optional<std::uint64_t> ask(const std::vector<NodeId>& line);
  struct Decision {
    std::uint64_t question = 0;
    std::uint64_t step = 0;           ///< No worker has begun it.
    std::set<NodeId> newcomers = {};  ///< Empty if they have left meanwhile.
  };
  /// Once all these workers have answered: admits the ready workers at the head of the line, up to
  /// the first that is not ready. They are unsettled from then on.
  std::optional<Decision> decide(const std::set<NodeId>& workers, const std::vector<NodeId>& line);

  /// All of these workers are unsettled: without another worker they could not go on.
  bool unsettled(const std::set<NodeId>& workers) const;

  /// The question that waits for answers, also from workers that have not received it.
  std::optional<std::uint64_t> open_question() const {
    return open_ ? std::optional(question_) : std::nullopt;
  }
  /// Number of reports that were news.
  std::uint64_t said() const { return said_; }

 private:
  std::set<NodeId> ready_;
  std::set<NodeId> unsettled_;
  std::uint64_t said_ = 0;
  std::uint64_t question_ = 0;
  bool open_ = false;                        // True while `question_` waits for answers.
  std::map<NodeId, std::uint64_t> answers_;  // The last step each worker has begun.
};

}  // namespace stretto
