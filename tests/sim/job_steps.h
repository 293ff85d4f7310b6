// SPDX-License-Identifier: Apache-2.0
// What jobs of production's processes have in common in simulated time: whose turn it is, and what
// befalls the links between two of them.
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

/// Whose turn it is.
template <typename Process>
struct JobTurn {
  Process* process = nullptr;  ///< Nobody's: the clock has gone on.
  bool any = true;             ///< False: nothing is due any more.
};

/// One of those that live and have something to do, by chance; `other` is when something else is
/// due.
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

/// A link over which nothing comes for a while, in one direction or in both.
struct Dip {
  std::string a;
  std::string b;
  Time until;
};

/// When the dip ends, if there is one.
inline Time end_of(const std::optional<Dip>& dip) { return dip ? dip->until : Time::max(); }

/// Ends it if it is time.
inline void end_if_due(std::optional<Dip>& dip, SimNetwork& network, Time now) {
  if (end_of(dip) > now) return;
  network.unhush(dip->a, dip->b);
  network.unhush(dip->b, dip->a);
  dip.reset();
}

/// A bit of what goes there next is another one: of the header, or a little behind it.
inline void flip_a_bit(SimNetwork& network, Random& random, const std::string& from,
                       const std::string& to) {
  const std::size_t header = 8 * wire::kHeaderBytes;
  network.flip_next(from, to, random.below(random.chance(0.5) ? header : 4 * header));
}

}  // namespace stretto::sim
