// SPDX-License-Identifier: Apache-2.0
// StatusPipe: tells whoever started the scheduler, over a descriptor, where it listens, whether
// workers wait for others, later that all nodes have come, which step has been saved, and of an
// elastic job without whom it goes on, and how many are in that have joined by themselves. A
// launcher needs to know that: a job that has not come together need not be waited for, who has
// ended is missed while others wait, a job that has saved something may begin again from there, and
// one whose last worker was started elsewhere is not over.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "common/clock.h"
#include "common/launch_protocol/migration_lines.h"
#include "common/launch_protocol/status_lines.h"
#include "stretto/status.h"
#include "stretto/types.h"
#include "van/event_loop/loop.h"

namespace stretto {

/// Steps another agent, and says beside it how far the job has come together. Thread: loop.
class StatusPipe final : public LoopTask {
 public:
  using State = std::function<JobFormation()>;
  /// What may change once all have come; each may be missing.
  struct Changes {
    std::function<const std::vector<LossReport>&()> losses;     ///< In order.
    std::function<const std::vector<MigrationOrder>&()> moves;  ///< The same.
    std::function<std::vector<Rank>()> replacements;            ///< That are in, by their numbers.
    std::function<const std::vector<Rank>&()> leavers;  ///< Workers that have left, in order.
    std::function<std::uint32_t()> guests;  ///< Workers that are in and have joined by themselves.
    std::function<std::optional<SavedCheckpoint>()> saved;  ///< The newest one.
    std::optional<Duration> life;  ///< That is shown so often, so that who stands still is missed.

    /// Workers that ended before all had come, and for which others are awaited, in order.
    std::function<const std::vector<Rank>&()> missed;

    bool none() const {
      const bool of_members = missed || losses || moves || replacements || leavers || guests;
      return !of_members && !saved && !life;
    }
  };
  /// Guests are told of at least as often.
  static constexpr Duration kGuestsEvery = 1s;
  static constexpr Duration kLifeEvery = 1s;

  /// The agent outlives this. `descriptor` becomes ours, and is closed once all is said; -1: none.
  /// Without `changes` that is when all have come.
  StatusPipe(int descriptor, LoopTask& agent, State state, const Clock& clock, Changes changes = {})
      : descriptor_(descriptor),
        agent_(agent),
        state_(std::move(state)),
        clock_(clock),
        changes_(std::move(changes)) {}
  ~StatusPipe() override { close(); }
  StatusPipe(const StatusPipe&) = delete;
  StatusPipe& operator=(const StatusPipe&) = delete;

  /// The first line. Errors: InvalidArgument, if the descriptor cannot be written to.
  Status tell_address(std::string_view address);

  void step(Duration wait) override;
  Time next_due() const override { return agent_.next_due(); }
  bool over() const override { return agent_.over(); }

 private:
  enum class Said : std::uint8_t { kYes, kNotYet, kNever };

  Said say(std::string_view text) const;
  void tell_gathering();
  void tell_missed();
  void tell_losses();
  void tell_moves();
  void tell_replacements();
  void tell_leavers();
  void tell_guests();
  void tell_saved();
  void tell_life();
  bool settles(Said said);
  void close();

  int descriptor_;
  LoopTask& agent_;
  State state_;
  const Clock& clock_;
  const Changes changes_;
  std::size_t told_losses_ = 0;
  std::size_t told_moves_ = 0;
  std::set<Rank> told_replacements_;
  std::size_t told_leavers_ = 0;
  std::size_t told_missed_ = 0;
  std::uint32_t told_guests_ = 0;
  std::optional<SavedCheckpoint> told_saved_;
  Time guests_due_ = {};
  Time life_due_ = {};
  JobFormation told_ = JobFormation::kUnawaited;
};

}  // namespace stretto
