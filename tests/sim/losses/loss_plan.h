// SPDX-License-Identifier: Apache-2.0
// LossPlan: what a seed decides of an elastic job whose workers are lost or leave early and whose
// links break, and the numbers that they share: of a sum they tell whose shares are in it.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/tensor_spec.h"
#include "tests/sim/random.h"

namespace stretto::sim {

/// What befalls a worker.
enum class LossKind : std::uint8_t {
  kCrash,    ///< Its links break.
  kSilence,  ///< Nobody is told.
  kSleep,    ///< It stands still for longer than others wait, and wakes up.
  kLeave,    ///< It leaves in order, before the others.
  kReset,    ///< A link of its is reset: no harm.
  kFlip,     ///< A bit flips in a frame that it sends or gets: no harm.
  kDip       ///< A link of its falls silent for less than the dead time: no harm.
};
inline constexpr std::size_t kLossKinds = 7;
std::string_view name_of(LossKind kind);
/// The job loses the worker.
inline bool is_loss(LossKind kind) { return kind <= LossKind::kSleep; }

/// Where a worker is in its program.
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
  static constexpr std::uint32_t kMostWorkers = 4;  // With those who join.
  static constexpr int kDigits = 15;                // Bits of a worker's own digit in a number.

  /// What else befalls the job: servers are asked to hand their places over, or its scheduler,
  /// which may come back, is lost.
  enum class Beside : std::uint8_t { kNothing, kMoves, kScheduler };
  /// With two `copies` servers have others that stand by for them, and are lost too.
  explicit LossPlan(std::uint64_t seed, std::uint32_t copies = 1, Beside beside = Beside::kNothing);

  struct Strike {
    LossKind kind = LossKind::kCrash;
    Duration after = {};
    Duration pause = {};  ///< Of a dip.
    /// It waits for a worker in this phase, and hits that one;
    std::optional<LossPhase> phase = {};
    bool recovering = false;  ///< at once, while a loss has yet to be noticed, or not at all.
  };
  std::uint32_t workers = 1;
  std::uint32_t min_workers = 1;
  std::uint32_t servers = 1;
  std::uint32_t shards = 1;
  std::uint32_t replicas = 1;
  bool moves = false;  ///< Servers hand their places over.
  /// Places have more than one process, at times.
  bool servers_change() const { return replicas > 1 || moves; }
  std::uint64_t rounds = 1;  ///< Of each tensor.
  std::uint64_t barrier_every = 1;
  std::uint32_t machines = 1;  ///< That workers are on.
  std::uint32_t worker_links = 1;
  bool local = false;         ///< All are on one host: frames carry no checksum.
  std::uint64_t step_of = 1;  ///< So many rounds, by turns of all tensors, are a program's step.
  std::vector<TensorSpec> tensors = {};
  std::vector<Strike> strikes = {};  ///< Each hits one worker, in the order of their times.
  struct ServerStrike {
    Duration after = {};    ///< Since the one before, or since the job runs.
    Duration absence = {};  ///< Until another is started, once that is known.
    bool is_told = true;    ///< Its links break.
    bool drains = false;    ///< It is asked to go, and not lost.
  };
  std::vector<ServerStrike> server_strikes = {};
  /// What the scheduler is lost amid.
  enum class Moment : std::uint8_t { kAny, kSomebodyJoins, kSomebodyIsMissing, kAllAreAsked };
  struct SchedulerStrike {
    Duration after = {};    ///< That one has been in its place, or the job runs.
    Duration absence = {};  ///< Until another is.
    Moment moment = Moment::kAny;
  };
  std::vector<SchedulerStrike> scheduler_strikes = {};
  struct Joining {
    Duration after = {};
    bool waits_for_a_place = true;  ///< Or is refused where all MAX are in.
    bool comes_again = false;       ///< In the place of one that was lost, if somebody was.
  };
  std::vector<Joining> joins = {};  ///< Workers that come while the job runs, by their times.

  /// What a worker's share in its round is in each element. Where a value is a round's own sum, its
  /// digit is the round; where values grow, it counts the rounds.
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
