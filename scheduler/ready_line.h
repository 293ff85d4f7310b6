// SPDX-License-Identifier: Apache-2.0
// ReadyLine: tells whoever started the scheduler, over a descriptor, where it listens, whether
// workers wait for others, later that all nodes have come, and without whom the job goes on. A
// launcher needs to know that: a job that has not come together need not be waited for, and who has
// ended is missed while others wait.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "common/gathering.h"
#include "stretto/status.h"
#include "stretto/types.h"
#include "van/loop.h"

namespace stretto {

/// Steps another agent, and says beside it how far the job has come together. Thread: loop.
class ReadyLine final : public Agent {
 public:
  using State = std::function<Gathering()>;
  /// The numbers of all workers that an elastic job has lost, in order.
  using Losses = std::function<const std::vector<Rank>&()>;

  /// The agent outlives this. `descriptor` becomes ours, and is closed once all is said; -1: none.
  /// Without `losses` that is when all have come.
  ReadyLine(int descriptor, Agent& agent, State state, Losses losses = nullptr)
      : descriptor_(descriptor),
        agent_(agent),
        state_(std::move(state)),
        losses_(std::move(losses)) {}
  ~ReadyLine() override { close(); }
  ReadyLine(const ReadyLine&) = delete;
  ReadyLine& operator=(const ReadyLine&) = delete;

  /// The first line. Errors: InvalidArgument, if the descriptor cannot be written to.
  Status tell_address(std::string_view address);

  void step(Duration wait) override;
  Time next_due() const override { return agent_.next_due(); }
  bool over() const override { return agent_.over(); }

 private:
  enum class Said : std::uint8_t { kYes, kNotYet, kNever };

  Said say(std::string_view text) const;
  void tell_gathering();
  void tell_losses();
  void close();

  int descriptor_;
  Agent& agent_;
  State state_;
  Losses losses_;
  std::size_t told_losses_ = 0;
  Gathering told_ = Gathering::kUnawaited;
};

}  // namespace stretto
