// SPDX-License-Identifier: Apache-2.0
// The flags of preempt, and the limits of what they may say.
#include "tools/bench/preempt_settings.h"

#include <array>
#include <utility>

namespace stretto::bench {
namespace {

constexpr std::uint64_t kLargestPart = 16 << 20;  // The largest that a job may be cut into.
constexpr std::uint64_t kMaxBackgroundBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kMaxUrgentBytes = 1 << 20;

constexpr std::array<std::pair<std::string_view, Preemption>, 3> kModes = {
    {{"fifo", Preemption::kFifo},
     {"priority", Preemption::kPriority},
     {"preempt", Preemption::kPreempt}}};

Status read_modes(std::string_view text, std::vector<Preemption>& modes) {
  modes.clear();
  for (const std::string_view word : split(text)) {
    const std::size_t before = modes.size();
    for (const auto& [name, mode] : kModes) {
      if (word == name) modes.push_back(mode);
    }
    if (modes.size() == before) {
      return invalid("wanted fifo, priority or preempt, or several with commas between");
    }
  }
  return {};
}

Status read_backgrounds(std::string_view text, std::vector<Background>& backgrounds) {
  backgrounds.clear();
  for (const std::string_view word : split(text)) {
    if (word != "bulk" && word != "plain") return invalid("wanted bulk, plain or bulk,plain");
    backgrounds.push_back(word == "bulk" ? Background::kBulk : Background::kPlain);
  }
  return {};
}

Status read_bottleneck(std::string_view text, Bottleneck& bottleneck) {
  if (text != "host" && text != "router") return invalid("wanted host or router");
  bottleneck = text == "host" ? Bottleneck::kHost : Bottleneck::kRouter;
  return {};
}

}  // namespace

std::string_view name_of(Preemption mode) {
  for (const auto& [name, known] : kModes) {
    if (known == mode) return name;
  }
  return "unknown";
}

std::string_view name_of(Background background) {
  return background == Background::kBulk ? "bulk" : "plain";
}

std::vector<Way> ways_of(const PreemptSettings& settings) {
  std::vector<Way> ways;
  for (const Preemption mode : settings.modes) {
    if (mode != Preemption::kPreempt) {
      ways.push_back({mode, Background::kPlain});
      continue;
    }
    for (const Background background : settings.backgrounds) ways.push_back({mode, background});
  }
  return ways;
}

std::vector<Flag> preempt_flags(PreemptSettings& settings) {
  const auto number = [](std::string_view name, std::uint64_t most, auto& value) {
    return Flag{name, false, [&value, most](const std::string& text) {
                  return read_whole(text, 1, most, value);
                }};
  };
  std::vector<Flag> flags{
      number("rate_mbit", 100'000, settings.lab.rate_mbit),
      number("peers", kMaxLabPeers, settings.lab.peers),
      number("background_bytes", kMaxBackgroundBytes, settings.background_bytes),
      number("part_bytes", kLargestPart, settings.part_bytes),
      number("urgent_bytes", kMaxUrgentBytes, settings.urgent_bytes)};
  flags.push_back({"bottleneck", false, [&settings](const std::string& text) {
                     return read_bottleneck(text, settings.lab.bottleneck);
                   }});
  flags.push_back({"mode", false, [&settings](const std::string& text) {
                     return read_modes(text, settings.modes);
                   }});
  flags.push_back({"background", false, [&settings](const std::string& text) {
                     return read_backgrounds(text, settings.backgrounds);
                   }});
  return flags;
}

Status check_preempt(const PreemptSettings& settings) {
  if (settings.background_bytes < settings.part_bytes) {
    return invalid(
        fmt::format("--background_bytes is {}, wanted at least one part of {} bytes; "
                    "--part_bytes sets that",
                    settings.background_bytes, settings.part_bytes));
  }
  return {};
}

}  // namespace stretto::bench
