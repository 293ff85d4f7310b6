// SPDX-License-Identifier: Apache-2.0
// ReadyLine: tells whoever started the scheduler, over a descriptor, where it listens and later
// that all nodes have come. A launcher needs to know the second: a job that has not come together
// need not be waited for.
#pragma once

#include <functional>
#include <string_view>

#include "stretto/status.h"
#include "van/loop.h"

namespace stretto {

/// Steps another agent, and says beside it that the job has begun. Thread: loop.
class ReadyLine final : public Agent {
 public:
  using Begun = std::function<bool()>;

  /// The agent outlives this. `descriptor` becomes ours, and is closed once all is said; -1: none.
  ReadyLine(int descriptor, Agent& agent, Begun begun)
      : descriptor_(descriptor), agent_(agent), begun_(std::move(begun)) {}
  ~ReadyLine() override { close(); }
  ReadyLine(const ReadyLine&) = delete;
  ReadyLine& operator=(const ReadyLine&) = delete;

  /// The first line. Errors: InvalidArgument, if the descriptor cannot be written to.
  Status tell_address(std::string_view address);

  void step(Duration wait) override;
  Time next_due() const override { return agent_.next_due(); }
  bool over() const override { return agent_.over(); }

  /// The second line.
  static constexpr std::string_view kBegun = "all are here";

 private:
  bool say(std::string_view text) const;
  void close();

  int descriptor_;
  Agent& agent_;
  Begun begun_;
};

}  // namespace stretto
