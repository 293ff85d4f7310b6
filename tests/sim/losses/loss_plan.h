// SPDX-License-Identifier: Apache-2.0
// LossPlan: the plan that a seed determines for an elastic job whose workers are lost or leave and
// whose links break, and the contributions: a sum tells its contributors.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/tensor_spec.h"
#include "tests/sim/random.h"

namespace stretto::sim {

/// The fault that strikes a worker.
enum class LossKind : std::uint8_t {
  kCrash,    ///< Its links break.
  kSilence,  ///< No peer is notified.
  kSleep,    ///< It is suspended past the fault deadline, and wakes up.
  kLeave,    ///< It leaves in order, before the other workers.
  kReset,    ///< One of its links is reset: harmless.
  kFlip,     ///< A bit flips in a frame that it sends or receives: harmless.
  kDip       ///< One of its links is silent for less than the dead time: harmless.
};
inline constexpr std::size_t kLossKinds = 7;
std::string_view name_of(LossKind kind);
/// True if the job loses the worker.
inline bool is_loss(LossKind kind) { return kind <= LossKind::kSleep; }

/// The worker's phase in its program.
enum class LossPhase : std::uint8_t {
  kChoosing,
  kDeclaring,
  kInRounds,
  kInABarrier,
  kReading,
  kLeaving
};
inline constexpr std::size_t kLossPhases = 6;
std::string_view name_of(LossPhase phase);

struct LossPlan {
  static constexpr std::uint32_t kMostWorkers = 4;  // Joining workers included.
  static constexpr int kDigits = 15;                // Bits of a worker's digit in a number.

  /// Additional faults: server migrations, or losses of the scheduler, which may restart.
  enum class Beside : std::uint8_t { kNothing, kMoves, kScheduler };
  /// With two `copies` servers have standbys, and servers are lost too.
  explicit LossPlan(std::uint64_t seed, std::uint32_t copies = 1, Beside beside = Beside::kNothing);

  struct Strike {
    LossKind kind = LossKind::kCrash;
    Duration after = {};
    Duration pause = {};  ///< Length of a dip.
    /// The strike waits for a worker in this phase, and strikes it.
    std::optional<LossPhase> phase = {};
    bool recovering = false;  ///< Strikes only while another loss is undetected.
  };
  std::uint32_t workers = 1;
  std::uint32_t min_workers = 1;
  std::uint32_t servers = 1;
  std::uint32_t shards = 1;
  std::uint32_t replicas = 1;
  bool moves = false;  ///< Servers are migrated.
  /// True if a server rank may have several processes.
  bool servers_change() const { return replicas > 1 || moves; }
  std::uint64_t rounds = 1;  ///< Of each tensor.
  std::uint64_t barrier_every = 1;
  std::uint32_t machines = 1;  ///< Distinct machine ids of the workers.
  std::uint32_t worker_links = 1;
  bool local = false;         ///< All are on one host: frames carry no checksum.
  std::uint64_t step_of = 1;  ///< Rounds of a program's step, in turns over all tensors.
  std::vector<TensorSpec> tensors = {};
  std::vector<Strike> strikes = {};  ///< Each strikes one worker; ordered by time.
  struct ServerStrike {
    Duration after = {};    ///< Since the previous strike, or since the job runs.
    Duration absence = {};  ///< From the detection until a replacement is started.
    bool is_told = true;    ///< Its links break.
    bool drains = false;    ///< It is drained, not lost.
  };
  std::vector<ServerStrike> server_strikes = {};
  /// The moment at which the scheduler is lost.
  enum class Moment : std::uint8_t { kAny, kSomebodyJoins, kSomebodyIsMissing, kAllAreAsked };
  struct SchedulerStrike {
    Duration after = {};    ///< Since the scheduler or the job runs.
    Duration absence = {};  ///< Until the next scheduler is started.
    Moment moment = Moment::kAny;
  };
  std::vector<SchedulerStrike> scheduler_strikes = {};
  struct Joining {
    Duration after = {};
    bool waits_for_a_place = true;  ///< False: is refused if the job is full.
    bool comes_again = false;       ///< Replaces a lost worker, if there is one.
  };
  std::vector<Joining> joins = {};  ///< Workers that join while the job runs, ordered by time.

  /// A worker's contribution to a round, the same in each element. Where a value is one round's
  /// sum, the worker's digit is the round; where values grow, the digit counts the rounds.
  static std::int64_t share_of(const TensorSpec& spec, std::uint32_t number, std::uint64_t round) {
    return static_cast<std::int64_t>(grows(spec) ? 1 : round) << (kDigits * number);
  }
  static std::uint64_t digit_of(std::int64_t value, std::uint32_t number) {
    return static_cast<std::uint64_t>(value >> (kDigits * number)) & ((1U << kDigits) - 1);
  }
  static bool is_among_workers(const TensorSpec& spec) {
    return spec.options.exchange != Exchange::kServers;
  }
  static bool grows(const TensorSpec& spec) { return spec.options.mode != Mode::kSync; }
};

}  // namespace stretto::sim
