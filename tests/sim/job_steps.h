// SPDX-License-Identifier: Apache-2.0
// Steps that all simulated jobs of production processes share: which process runs next, and faults
// of the links between two of them.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "tests/sim/random.h"
#include "tests/sim/sim_network.h"

namespace stretto::sim {

/// The next process to step.
template <typename Process>
struct JobTurn {
  Process* process = nullptr;  ///< Null: the clock has advanced instead.
  bool any = true;             ///< False: no event is due any more.
};

/// A random process that is alive and has work; without one, advances the clock to the next event.
/// `other` is the time of the job's own next event.
template <typename Process>
JobTurn<Process> turn_of(const std::vector<std::unique_ptr<Process>>& processes,
                         const SimNetwork& network, VirtualClock& clock, Random& random,
                         Time other) {
  std::vector<Process*> ready;
  Time next = other;
  for (const auto& process : processes) {
    if (!process->alive || process->agent->over()) continue;
    const Time due = std::max(process->sleeps_until, std::min(network.next_arrival(process->name),
                                                              process->agent->next_due()));
    if (due <= clock.now()) ready.push_back(process.get());
    next = std::min(next, due);
  }
  if (!ready.empty()) return {.process = ready[random.below(ready.size())]};
  if (next == Time::max()) return {.any = false};
  clock.advance_to(next);
  return {};
}

/// A link that delivers nothing for a while, in one direction or in both.
struct Dip {
  std::string a;
  std::string b;
  Time until;
};

/// When the dip ends, if there is one.
inline Time end_of(const std::optional<Dip>& dip) { return dip ? dip->until : Time::max(); }

/// Ends the dip if it is due.
inline void end_if_due(std::optional<Dip>& dip, SimNetwork& network, Time now) {
  if (end_of(dip) > now) return;
  network.unhush(dip->a, dip->b);
  network.unhush(dip->b, dip->a);
  dip.reset();
}

/// Flips a bit of the next frame from `from` to `to`: in its header, or shortly behind it.
inline void flip_a_bit(SimNetwork& network, Random& random, const std::string& from,
                       const std::string& to) {
  const std::size_t header = 8 * wire::kHeaderBytes;
  network.flip_next(from, to, random.below(random.chance(0.5) ? header : 4 * header));
}

}  // namespace stretto::sim
