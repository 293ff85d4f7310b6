// SPDX-License-Identifier: Apache-2.0
// StatusPipe: reports to the starter of the scheduler, over a descriptor. It reports the address,
// whether workers wait, when all nodes have joined, saved steps, losses of an elastic job, and its
// number of external workers. A launcher needs these. It need not wait for a job that is still
// forming, but must replace an exited member that others wait for. It may restart a job from a
// saved step, and a job with external workers is not over.
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

/// Steps another agent, and reports the job's formation. Thread: loop.
class StatusPipe final : public LoopTask {
 public:
  using State = std::function<JobFormation()>;
  /// Changes after the job is complete; each may be missing.
  struct Changes {
    std::function<const std::vector<LossReport>&()> losses;     ///< In order.
    std::function<const std::vector<MigrationOrder>&()> moves;  ///< In order.
    std::function<std::vector<Rank>()> replacements;            ///< Members, by their numbers.
    std::function<const std::vector<Rank>&()> leavers;      ///< Workers that have left, in order.
    std::function<std::uint32_t()> guests;                  ///< Current external workers.
    std::function<std::optional<SavedCheckpoint>()> saved;  ///< The newest one.
    std::optional<Duration> life;  ///< Interval of signs of life, which reveal a stopped scheduler.

    /// Workers that exited before the job was complete, in order; replacements are awaited.
    std::function<const std::vector<Rank>&()> missed;

    bool none() const {
      const bool of_members = missed || losses || moves || replacements || leavers || guests;
      return !of_members && !saved && !life;
    }
  };
  /// The number of external workers is reported at least this often.
  static constexpr Duration kGuestsEvery = 1s;
  static constexpr Duration kLifeEvery = 1s;

  /// The agent outlives this. Takes over `descriptor`, and closes it once all is reported; -1:
  /// none. Without `changes` that is when all members have joined.
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
