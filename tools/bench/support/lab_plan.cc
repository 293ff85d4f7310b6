// SPDX-License-Identifier: Apache-2.0
// Hosts have one interface, eth0; routers are bridges with one port a cable, so that no addresses
// are forwarded and all hosts share one subnet.
#include "tools/bench/support/lab_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>

namespace stretto::bench {
namespace {

constexpr std::string_view kPrefix = "stretto-";

/// Splits a line into words.
Command words_of(std::string_view line) {
  Command words;
  while (!line.empty()) {
    const std::size_t space = std::min(line.find(' '), line.size());
    if (space > 0) words.emplace_back(line.substr(0, space));
    line.remove_prefix(std::min(space + 1, line.size()));
  }
  return words;
}

class Planner {
 public:
  Planner(const LabShape& shape, pid_t owner)
      : shape_(shape), prefix_(fmt::format("{}{}-", kPrefix, owner)) {}

  LabPlan plan() {
    const bool routed = shape_.bottleneck == Bottleneck::kRouter;
    const std::string sender = host("a", 1);
    const std::string before = routed ? bridge("r") : sender;
    if (routed) cable(sender, before);
    const std::string after = shape_.peers > 1 ? bridge("s") : "";
    if (!after.empty()) shaped_cable(before, after);
    for (std::uint32_t i = 0; i < shape_.peers; ++i) {
      const std::string peer = host(fmt::format("b{}", i), i + 2);
      if (after.empty()) {
        shaped_cable(before, peer);
      } else {
        cable(after, peer);
      }
    }
    return finished();
  }

  LabPlan star(const std::vector<std::uint64_t>& rates_mbit, Duration delay) {
    const std::string sender = host("a", 1);
    const std::string middle = bridge("s");
    cable(middle, sender);
    for (std::uint32_t i = 0; i < rates_mbit.size(); ++i) {
      shape_.rate_mbit = rates_mbit[i];
      const auto ends = shaped_cable(middle, host(fmt::format("b{}", i), i + 2));
      if (delay > Duration(0)) cut_for_delay(ends.first);
    }
    plan_.delayed.network = middle;
    plan_.delayed.delay = delay;
    return finished();
  }

 private:
  using Host = LabPlan::Host;

  // To be called after all cables: configures the interfaces.
  LabPlan finished() {
    for (const Host& each : hosts_) start_host(each);
    plan_.sender = hosts_.front();
    plan_.receivers.assign(hosts_.begin() + 1, hosts_.end());
    return std::move(plan_);
  }

  std::string network(std::string_view name) {
    plan_.namespaces.push_back(fmt::format("{}{}", prefix_, name));
    return plan_.namespaces.back();
  }

  std::string host(std::string_view name, std::uint32_t number) {
    hosts_.push_back({network(name), fmt::format("10.77.0.{}", number)});
    return hosts_.back().network;
  }

  std::string bridge(std::string_view name) {
    std::string made = network(name);
    ports_[made] = 0;
    run("ip -n {} link add name bridge0 type bridge", made);
    run("ip -n {} link set dev bridge0 up", made);
    return made;
  }

  struct End {
    std::string network;
    std::string device;
  };
  End end_in(const std::string& network) {
    auto bridge = ports_.find(network);
    return {network, bridge == ports_.end() ? "eth0" : fmt::format("port{}", bridge->second++)};
  }

  // Both ends are created in their namespaces: none is ever visible outside the lab.
  std::pair<End, End> cable(const std::string& left, const std::string& right) {
    std::pair<End, End> ends{end_in(left), end_in(right)};
    run("ip link add name {} netns {} type veth peer name {} netns {}", ends.first.device, left,
        ends.second.device, right);
    for (const End& end : {ends.first, ends.second}) {
      if (ports_.count(end.network) != 0) {
        run("ip -n {} link set dev {} master bridge0", end.network, end.device);
      }
      run("ip -n {} link set dev {} up", end.network, end.device);
    }
    return ends;
  }

  std::pair<End, End> shaped_cable(const std::string& left, const std::string& right) {
    auto ends = cable(left, right);
    const Shaper shaper = shaper_for(shape_);
    for (const End& end : {ends.first, ends.second}) {
      run("tc -n {} qdisc add dev {} root tbf rate {}mbit burst {} limit {}", end.network,
          end.device, shaper.rate_mbit, shaper.burst_bytes, shaper.limit_bytes);
    }
    return ends;
  }

  // The switch gets a tap in place of the cable.
  void cut_for_delay(const End& end) {
    const std::string tap = fmt::format("tap{}", plan_.delayed.cables.size());
    run("ip -n {} link set dev {} nomaster", end.network, end.device);
    run("ip -n {} tuntap add dev {} mode tap vnet_hdr", end.network, tap);
    run("ip -n {} link set dev {} master bridge0", end.network, tap);
    run("ip -n {} link set dev {} up", end.network, tap);
    plan_.delayed.cables.emplace_back(end.device, tap);
  }

  // The route sets congestion control: a namespace has no writable setting of its own. The default
  // may be bbr, whose pacing would distort the measurement.
  void start_host(const Host& host) {
    run("ip -n {} link set dev lo up", host.network);
    run("ip -n {} addr add {}/24 dev eth0", host.network, host.address);
    run("ip -n {} route replace 10.77.0.0/24 dev eth0 src {} congctl cubic", host.network,
        host.address);
  }

  template <typename... Args>
  void run(fmt::format_string<Args...> line, Args&&... args) {
    plan_.commands.push_back(words_of(fmt::format(line, std::forward<Args>(args)...)));
  }

  LabShape shape_;
  std::string prefix_;
  LabPlan plan_;
  std::vector<Host> hosts_;
  std::map<std::string, int> ports_;  // The next port of each bridge.
};

}  // namespace

Shaper shaper_for(const LabShape& shape) {
  const std::uint64_t burst = shape.rate_mbit * (128 << 10) / 1000;
  const std::uint64_t queue = shape.rate_mbit * 4'000'000 / 1000;
  Shaper shaper{.rate_mbit = shape.rate_mbit, .burst_bytes = 0, .limit_bytes = 1'000'000};
  shaper.burst_bytes = std::clamp<std::uint64_t>(burst, 72 << 10, 256 << 10);
  if (shape.bottleneck == Bottleneck::kHost) {
    shaper.limit_bytes = std::clamp<std::uint64_t>(queue, 256'000, 40'000'000);
  }
  return shaper;
}

LabPlan plan_lab(const LabShape& shape, pid_t owner) { return Planner(shape, owner).plan(); }

LabPlan plan_star(const std::vector<std::uint64_t>& rates_mbit, pid_t owner, Duration delay) {
  return Planner({}, owner).star(rates_mbit, delay);
}

std::optional<pid_t> owner_of(std::string_view network) {
  if (!network.starts_with(kPrefix)) return std::nullopt;
  network.remove_prefix(kPrefix.size());
  pid_t owner = 0;
  const char* end = network.data() + network.size();
  const auto [stop, error] = std::from_chars(network.data(), end, owner);
  if (error != std::errc() || stop == end || *stop != '-' || owner <= 0) return std::nullopt;
  return owner;
}

}  // namespace stretto::bench
