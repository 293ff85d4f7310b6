// SPDX-License-Identifier: Apache-2.0
// StepAdmission: from which step on newcomers make rounds. Workers are asked which step is the last
// that they may have begun, and none of them begins a later one before it has the answer: so there
// is a step that nobody has begun, and everybody knows of it before it does. Nobody is waited for
// who is not there yet. Pure.
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
  /// A newcomer could take part from now on, or has been taken in by all shards, and can go on
  /// alone if need be.
  void say_ready(NodeId newcomer) { said_ += ready_.insert(newcomer).second; }
  void say_settled(NodeId newcomer) { said_ += unsettled_.erase(newcomer); }
  /// One or the other: it is joining, or in. Who is in, and says no step, says that it was ready
  /// before it heard so.
  void hear(NodeId newcomer, bool is_joining, std::uint64_t step) {
    if (is_joining) return say_ready(newcomer);
    if (step != 0) say_settled(newcomer);
  }
  /// Whom nobody waits for any more, whoever it was.
  void forget(NodeId node);

  /// A worker has begun no step after this one. False, and nothing has changed, if nobody asked
  /// that.
  bool answer(NodeId worker, std::uint64_t question, std::uint64_t step);
  /// A question for all workers, if one is to be asked now because the first of those in the line
  /// is ready: one at a time, and only while all who came before are settled.
  std::optional<std::uint64_t> ask(const std::vector<NodeId>& line);
  struct Decision {
    std::uint64_t question = 0;
    std::uint64_t step = 0;           ///< Nobody has begun it.
    std::set<NodeId> newcomers = {};  ///< None if they have gone meanwhile.
  };
  /// Once all these workers have answered: those of the line come in before whom nobody is who is
  /// not ready. They are unsettled from then on.
  std::optional<Decision> decide(const std::set<NodeId>& workers, const std::vector<NodeId>& line);

  /// Each of these has yet to be taken in: without others they could not go on.
  bool unsettled(const std::set<NodeId>& workers) const;

  /// It waits for answers: also for those of who has not heard it.
  std::optional<std::uint64_t> open_question() const {
    return open_ ? std::optional(question_) : std::nullopt;
  }
  /// How often somebody has said what was not known.
  std::uint64_t said() const { return said_; }

 private:
  std::set<NodeId> ready_;
  std::set<NodeId> unsettled_;
  std::uint64_t said_ = 0;
  std::uint64_t question_ = 0;
  bool open_ = false;                        // The question.
  std::map<NodeId, std::uint64_t> answers_;  // Who has begun none after which step.
};

}  // namespace stretto
