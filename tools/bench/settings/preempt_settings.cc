// SPDX-License-Identifier: Apache-2.0
// The flags of preempt, and their limits.
#include "tools/bench/settings/preempt_settings.h"

#include <algorithm>
#include <utility>

namespace stretto::bench {
namespace {

constexpr std::uint64_t kLargestPart = 16 << 20;  // The largest part size of a job.
constexpr std::uint64_t kMaxBackgroundBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kMaxUrgentBytes = 1 << 20;

constexpr std::pair<std::string_view, Preemption> kModes[] = {{"fifo", Preemption::kFifo},
                                                              {"priority", Preemption::kPriority},
                                                              {"preempt", Preemption::kPreempt}};
constexpr std::pair<std::string_view, Background> kBackgrounds[] = {{"bulk", Background::kBulk},
                                                                    {"plain", Background::kPlain}};
constexpr std::pair<std::string_view, HostPolicy> kHostPolicies[] = {
    {"none", HostPolicy::kNone}, {"fair", HostPolicy::kFair}, {"urgent", HostPolicy::kUrgent}};
constexpr std::pair<std::string_view, Bottleneck> kBottlenecks[] = {
    {"host", Bottleneck::kHost}, {"router", Bottleneck::kRouter}};
constexpr std::pair<std::string_view, Direction> kDirections[] = {
    {"out", Direction::kOut}, {"in", Direction::kIn}, {"both", Direction::kBoth}};
constexpr std::pair<std::string_view, bool> kPeerLoads[] = {{"busy", true}, {"idle", false}};
// Namespaces represent hosts: there is no shared memory between them.
constexpr std::pair<std::string_view, TransportChoice> kNetworks[] = {
    {"auto", TransportChoice::kTcp},
    {"tcp", TransportChoice::kTcp},
    {"zmq", TransportChoice::kZmq},
    {"fabric", TransportChoice::kFabric}};

}  // namespace

std::string_view name_of(Preemption mode) { return word_for<Preemption>(kModes, mode); }
std::string_view name_of(Background background) {
  return word_for<Background>(kBackgrounds, background);
}
std::string_view name_of(Direction direction) {
  return word_for<Direction>(kDirections, direction);
}
std::string_view name_of(Bottleneck bottleneck) {
  return word_for<Bottleneck>(kBottlenecks, bottleneck);
}

std::string_view name_of(HostPolicy policy) { return word_for<HostPolicy>(kHostPolicies, policy); }

std::vector<PreemptCase> cases_of(const PreemptSettings& settings) {
  std::vector<PreemptCase> ways;
  for (const Preemption mode : settings.modes) {
    if (mode != Preemption::kPreempt) {
      ways.push_back({.mode = mode});
      continue;
    }
    for (const Background background : settings.backgrounds) {
      for (const std::uint64_t processes : settings.processes) {
        for (const HostPolicy policy : settings.policies) {
          ways.push_back({mode, background, processes, policy});
        }
      }
    }
  }
  return ways;
}

std::vector<Flag> preempt_flags(PreemptSettings& settings) {
  return {
      whole_flag("rate_mbit", 1, 100'000, settings.lab.rate_mbit),
      whole_flag("peers", 1, kMaxLabPeers, settings.lab.peers),
      whole_flag("background_bytes", 1, kMaxBackgroundBytes, settings.background_bytes),
      whole_flag("part_bytes", 1, kLargestPart, settings.part_bytes),
      whole_flag("urgent_bytes", 1, kMaxUrgentBytes, settings.urgent_bytes),
      choice_flag<Bottleneck>("bottleneck", kBottlenecks, settings.lab.bottleneck),
      choices_flag<Preemption>("mode", kModes, settings.modes),
      choices_flag<Background>("background", kBackgrounds, settings.backgrounds),
      {"processes", false,
       [&settings](const std::string& text) { return read_list(text, 1, 2, settings.processes); }},
      choices_flag<HostPolicy>("host_window", kHostPolicies, settings.policies),
      choice_flag<Direction>("direction", kDirections, settings.direction),
      choice_flag<bool>("urgent_peer", kPeerLoads, settings.urgent_peer_is_busy),
      choice_flag<TransportChoice>("transport", kNetworks, settings.transport)};
}

Status check_preempt(const PreemptSettings& settings) {
  if (settings.background_bytes < settings.part_bytes) {
    return invalid(
        fmt::format("--background_bytes is {}, wanted at least one part of {} bytes; "
                    "--part_bytes sets that",
                    settings.background_bytes, settings.part_bytes));
  }
  const bool in = settings.direction != Direction::kOut;
  if (!settings.urgent_peer_is_busy && (!in || settings.lab.peers < 2)) {
    return invalid("--urgent_peer is idle, wanted --direction in or both, and --peers 2 or more");
  }
  const bool paired = std::ranges::any_of(settings.processes, [](auto each) { return each > 1; });
  if (in && paired) {
    return invalid("--processes is 2, wanted --direction out: background of peers comes to one");
  }
  return {};
}

}  // namespace stretto::bench
