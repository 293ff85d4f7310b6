// SPDX-License-Identifier: Apache-2.0
// Selects a transport.
#include "van/transports.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/check.h"
#include "common/log.h"
#include "common/network/address.h"
#include "van/fabric/fabric_transport.h"
#include "van/shm/shm_transport.h"
#include "van/tcp/tcp_transport.h"
#include "van/transport/composite.h"
#include "van/zmq/zmq_transport.h"

namespace stretto {
namespace {

constexpr std::size_t kMaxLinks = 2 * std::size_t{kMaxNodes};

std::size_t max_payload(std::size_t part_bytes) {
  return std::max(part_bytes, wire::kMaxControlBytes);
}

Result<std::unique_ptr<Transport>> over_tcp(std::size_t part_bytes) {
  TcpOptions options;
  options.max_payload_bytes = max_payload(part_bytes);
  options.max_links = kMaxLinks;
  return make_tcp_transport(options);
}

// A job without a token is reachable only over loopback, and has no key.
Result<std::unique_ptr<Transport>> over_zmq(std::size_t part_bytes, const LinkSettings& links) {
  ZmqOptions options;
  options.max_payload_bytes = max_payload(part_bytes);
  options.max_links = kMaxLinks;
  if (!links.token.empty()) {
    const Result<zmq::JobKeys> keys = zmq::job_keys_from(links.token);
    if (!keys.ok()) return keys.status();
    options.keys = std::make_shared<const zmq::JobKeys>(*keys);
    options.mechanism = links.encrypts ? ZmqMechanism::kCurve : ZmqMechanism::kPlain;
  }
  return make_zmq_transport(options);
}

}  // namespace

LinkSettings link_settings(const Config& config) {
  return {.zmq = config.links_by_zmq(), .encrypts = config.encrypts, .token = config.token};
}

std::string link_choice(const Config& config) {
  if (config.encrypts) return "zmq, since the job is encrypted";
  if (config.transport == TransportChoice::kZmq) return "zmq, as STRETTO_TRANSPORT says";
  if (config.transport == TransportChoice::kTcp) return "tcp, as STRETTO_TRANSPORT says";
  if (config.transport == TransportChoice::kFabric) return "tcp, and fabric for parts";
  return "tcp, the default";
}

Result<std::unique_ptr<Transport>> make_transport(std::size_t part_bytes,
                                                  const LinkSettings& links) {
  STRETTO_CHECK(!links.encrypts || !links.token.empty());
  return links.zmq || links.encrypts ? over_zmq(part_bytes, links) : over_tcp(part_bytes);
}

namespace {

Result<Way> shared_memory(const Config& config) {
  ShmOptions options;
  options.max_payload_bytes = max_payload(config.job.part_bytes);
  options.max_links = kMaxLinks;
  return shm_way(options);
}

// libfabric uses another port, where addresses are exchanged; the host is the advertised one.
Result<Way> fabric(const Config& config) {
  FabricOptions options;
  options.provider = config.fabric_provider;
  options.max_payload_bytes = max_payload(config.job.part_bytes);
  options.max_links = kMaxLinks;
  Result<std::unique_ptr<Transport>> made = make_fabric_transport(options);
  if (!made.ok()) return made.status();
  Way way;
  way.name = "fabric";
  Transport* const transport = made->get();
  way.reach = [transport](std::string_view where) { return transport->connect(where); };
  way.listen = [transport, bind = config.bind_host,
                told = config.node_host](std::string_view) -> Result<std::string> {
    Result<std::string> address = transport->listen(HostPort{bind, 0}.text());
    if (!address.ok() || told.empty()) return address;
    return with_host(*address, told);
  };
  way.transport = *std::move(made);
  return way;
}

}  // namespace

Result<std::unique_ptr<Transport>> make_transport(const Config& config) {
  Result<std::unique_ptr<Transport>> everywhere =
      make_transport(config.job.part_bytes, link_settings(config));
  const bool alone =
      config.transport == TransportChoice::kTcp || config.transport == TransportChoice::kZmq;
  if (!everywhere.ok() || alone) return everywhere;
  Result<Way> way =
      config.transport == TransportChoice::kFabric ? fabric(config) : shared_memory(config);
  if (!way.ok()) {
    if (config.transport != TransportChoice::kAuto) return way.status();
    log(Level::kDebug, "no shared memory here: {}", way.status().cause());
    return everywhere;
  }
  std::vector<Way> ways;
  ways.push_back(*std::move(way));
  CompositeOptions choice;
  if (config.transport != TransportChoice::kAuto) {
    choice = {.required_way = ways.front().name, .exempt_address = config.scheduler};
  }
  return make_composite_transport(*std::move(everywhere), std::move(ways), std::move(choice));
}

}  // namespace stretto
