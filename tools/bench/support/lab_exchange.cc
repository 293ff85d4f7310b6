// SPDX-License-Identifier: Apache-2.0
// Forked processes that enter their host and do not exec.
#include "tools/bench/support/lab_exchange.h"

#include <fmt/core.h>

#include <cstdio>
#include <vector>

#include "common/config/config.h"
#include "common/network/address.h"
#include "tools/bench/support/child.h"
#include "tools/bench/support/now.h"
#include "tools/bench/support/report_pipe.h"

namespace stretto::bench {
namespace {

int ended(const Status& status, std::string_view who) {
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s: %s\n", std::string(who).c_str(), status.text().c_str());
  return 1;
}

class Players {
 public:
  ~Players() { children_.kill(); }

  Status add(const LabPlan::Host& host, std::string_view who, const std::function<Status()>& part) {
    return children_.start([&] {
      const Status status = Netlab::enter(host);
      return ended(status.ok() ? part() : status, who);
    });
  }

  std::vector<Child*> all() { return children_.all(); }

 private:
  Children children_;
};

constexpr std::string_view kFabric = "fabric";

}  // namespace

Result<Report> exchange_in(const LabPlan::Host& sender, std::span<const LabPlan::Host> hosts,
                           const LabExchange& exchange, Duration patience) {
  const Time deadline = now() + patience;
  Result<ReportPipe> ports = ReportPipe::open();
  if (!ports.ok()) return ports.status();
  Result<ReportPipe> results = ReportPipe::open();
  if (!results.ok()) return results.status();
  const TellReport report = [&results](const Report& found) {
    return write_report(results->write_end(), found);
  };

  Players players;
  const std::size_t receivers = hosts.size();
  for (std::uint32_t i = 0; i < receivers; ++i) {
    const LabPlan::Host& host = hosts[i];
    const TellAddress tell = [&ports, i](const std::string& address) -> Status {
      const Result<HostPort> parsed = parse_host_port(host_port_of(address));
      if (!parsed.ok()) return parsed.status();
      Report found{.rank = i, .port = parsed->port};
      const std::string_view fabric = way_in(address, kFabric);
      if (!fabric.empty()) found.fabric_port = parse_host_port(fabric)->port;
      return write_report(ports->write_end(), found);
    };
    Status status = players.add(host, exchange.name,
                                [&] { return exchange.receive(host.address, tell, report); });
    if (!status.ok()) return status;
  }
  Status status = ports->await(receivers, players.all(), deadline);
  if (!status.ok()) return std::move(status).with_operation(exchange.name);
  std::vector<std::string> addresses(receivers);
  for (const Report& each : ports->reports()) {
    const std::string& host = hosts[each.rank].address;
    addresses[each.rank] = fmt::format("{}:{}", host, each.port);
    if (each.fabric_port == 0) continue;
    addresses[each.rank] =
        with_way(addresses[each.rank], kFabric, fmt::format("{}:{}", host, each.fabric_port));
  }

  status = players.add(sender, exchange.name, [&] { return exchange.send(addresses, report); });
  if (status.ok()) status = results->await(1, players.all(), deadline);
  if (!status.ok()) return std::move(status).with_operation(exchange.name);
  return results->reports().front();
}

}  // namespace stretto::bench
