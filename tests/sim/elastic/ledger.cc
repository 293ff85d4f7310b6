// SPDX-License-Identifier: Apache-2.0
// A round's value is the sum of what its contributors gave, and they are all whom it has to have.
#include "tests/sim/elastic/ledger.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace stretto::sim {

Ledger::Numbers Ledger::share_of(NodeId worker, const wire::Key& key, std::uint64_t round) {
  const std::uint64_t mixed = (worker * 1'000'003ULL + key.part) * 1'000'003ULL + round;
  return {static_cast<double>(mixed * 0x9E3779B97F4A7C15ULL >> 24), 1};
}

void Ledger::released(const wire::Key& key, std::uint64_t version, const std::vector<NodeId>& from,
                      const Numbers& numbers) {
  const auto complain = [&](const std::string& text) {
    report("values equal the oracle",
           fmt::format("part {} of tensor {}, version {}, made by nodes {}: {}", key.part,
                       key.tensor, version, fmt::join(from, ", "), text));
  };
  auto& versions = values_[key];
  if (version != versions.size() + 1) {
    return report("versions never go back", fmt::format("part {}: version {} follows {}", key.part,
                                                        version, versions.size()));
  }
  Made& made = versions[version];
  made = {.from = {from.begin(), from.end()}, .numbers = numbers};
  Numbers wanted(numbers.size());
  for (const NodeId worker : made.from) {
    if (workers_[worker].begun < version) {
      complain(fmt::format("node {} has not begun that round", worker));
    }
    const Numbers share = share_of(worker, key, version);
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] += share[i];
  }
  if (wanted != numbers) {
    complain(fmt::format("it is {}, wanted {}", fmt::join(numbers, ", "), fmt::join(wanted, ", ")));
  }
  for (const auto& [worker, history] : workers_) {
    const bool must = history.first > 0 && history.first <= version && version < history.end;
    if (must && !made.from.contains(worker)) complain(fmt::format("it lacks node {}", worker));
  }
}

void Ledger::answered(NodeId worker, const wire::Key& key, std::uint64_t round,
                      std::uint64_t version, const Numbers& numbers) {
  const auto& versions = values_[key];
  const auto made = versions.find(version);
  if (made == versions.end() || made->second.numbers != numbers) {
    return report("values equal the oracle",
                  fmt::format("node {} got a version {} of part {} that was never released", worker,
                              version, key.part));
  }
  if (version < round) {
    report("versions never go back", fmt::format("node {} waits for round {} of part {} and got {}",
                                                 worker, round, key.part, version));
  }
  const auto own = versions.find(round);
  if (workers_[worker].first <= round && round <= workers_[worker].begun &&
      !own->second.from.contains(worker)) {
    report("acked is applied", fmt::format("node {} got an answer in round {} of part {}, without "
                                           "it",
                                           worker, round, key.part));
  }
}

}  // namespace stretto::sim
