// SPDX-License-Identifier: Apache-2.0
// The transports under test, and the bookkeeping of the suite.
#include "tests/conformance/conformance.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "common/clock.h"
#include "common/network/socket_address.h"
#include "tests/sim/sim_network.h"
#include "van/fabric/fabric_transport.h"
#include "van/inproc/inproc_transport.h"
#include "van/shm/shm_transport.h"
#include "van/tcp/tcp_transport.h"
#include "van/zmq/zmq_transport.h"

namespace stretto::conformance {
namespace {

class InprocWorld final : public World {
 public:
  std::unique_ptr<Transport> endpoint() override { return network_.make_endpoint(); }

 private:
  InprocNetwork network_;
};

class TcpWorld final : public World {
 public:
  std::unique_ptr<Transport> endpoint() override {
    return make_tcp_transport(TcpOptions{}).or_exit();
  }
};

class Ipv6World final : public World {
 public:
  std::unique_ptr<Transport> endpoint() override {
    return make_tcp_transport(TcpOptions{}).or_exit();
  }
  std::string any_address() const override { return "[::1]:0"; }
};

ZmqOptions zmq_options(ZmqMechanism mechanism) {
  ZmqOptions options;
  options.mechanism = mechanism;
  options.keys = std::make_shared<const zmq::JobKeys>(
      zmq::job_keys_from("a secret of the conformance suite").or_exit());
  return options;
}

class ZmqWorld : public World {
 public:
  explicit ZmqWorld(ZmqMechanism mechanism = ZmqMechanism::kPlain)
      : options_(zmq_options(mechanism)) {}
  std::unique_ptr<Transport> endpoint() override { return make_zmq_transport(options_).or_exit(); }

 private:
  const ZmqOptions options_;
};

class ZmqCurveWorld final : public ZmqWorld {
 public:
  ZmqCurveWorld() : ZmqWorld(ZmqMechanism::kCurve) {}
};

class ZmqIpv6World final : public ZmqWorld {
 public:
  ZmqIpv6World() : ZmqWorld(ZmqMechanism::kNull) {}
  std::string any_address() const override { return "[::1]:0"; }
};

class FabricWorld final : public World {
 public:
  std::unique_ptr<Transport> endpoint() override {
    return make_fabric_transport({.provider = kProvider}).or_exit();
  }
  // libfabric's "net" passes the suite too, but leaks (1.17), which would fail the sanitizer build.
  static constexpr const char* kProvider = "tcp;ofi_rxm";
};

class ShmWorld final : public World {
 public:
  std::unique_ptr<Transport> endpoint() override {
    return make_shm_transport(ShmOptions{}).or_exit();
  }
  std::string any_address() const override { return "shm:"; }
};

// As processes are configured: both ends offer both transports, so links use shared memory.
class AutoWorld final : public World {
 public:
  std::unique_ptr<Transport> endpoint() override {
    std::vector<Way> ways;
    ways.push_back(shm_way(ShmOptions{}).or_exit());
    return make_composite_transport(make_tcp_transport(TcpOptions{}).or_exit(), std::move(ways), {})
        .or_exit();
  }
};

class SimulatedWorld final : public World {
 public:
  std::unique_ptr<Transport> endpoint() override {
    return network_.endpoint("end" + std::to_string(next_++));
  }

 private:
  sim::VirtualClock clock_;
  sim::SimNetwork network_{clock_, 1};
  int next_ = 0;
};

template <typename T>
std::unique_ptr<World> make() {
  return std::make_unique<T>();
}

std::uint32_t word(std::uint32_t seed, std::size_t index) {
  const auto mixed = static_cast<std::uint32_t>(index) * 2654435761U + seed * 40503U;
  return mixed ^ (mixed >> 15);
}

}  // namespace

std::vector<Kind> kinds() {
  std::vector<Kind> all = {
      {.name = "inproc", .make = make<InprocWorld>, .threads = true},
      {.name = "tcp", .make = make<TcpWorld>, .threads = true},
      {.name = "shm", .make = make<ShmWorld>, .threads = true},
      {.name = "auto", .make = make<AutoWorld>, .threads = true},
      {.name = "simulated", .make = make<SimulatedWorld>, .threads = false},
  };
  // A kernel without IPv6 cannot listen at ::1.
  const bool has_ipv6 = listen_at(*SocketAddress::from_digits("::1", 0), 1).is_open();
  if (has_ipv6) all.push_back({.name = "tcp_ipv6", .make = make<Ipv6World>, .threads = true});
  if (has_zmq()) {
    all.push_back({.name = "zmq", .make = make<ZmqWorld>, .threads = true});
    all.push_back({.name = "zmq_curve", .make = make<ZmqCurveWorld>, .threads = true});
    if (has_ipv6) all.push_back({.name = "zmq_ipv6", .make = make<ZmqIpv6World>, .threads = true});
  }
  // A build without libfabric has nothing to test.
  if (make_fabric_transport({.provider = FabricWorld::kProvider}).ok()) {
    all.push_back({.name = "fabric_tcp", .make = make<FabricWorld>, .threads = true});
  }
  return all;
}

std::vector<Kind> threaded_kinds() {
  std::vector<Kind> threaded = kinds();
  std::erase_if(threaded, [](const Kind& kind) { return !kind.threads; });
  return threaded;
}

std::vector<std::byte> pattern(std::size_t size, std::uint32_t seed) {
  std::vector<std::byte> bytes((size + 3) / 4 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 4) {
    const std::uint32_t value = word(seed, i);
    std::memcpy(bytes.data() + i, &value, sizeof value);
  }
  bytes.resize(size);
  return bytes;
}

bool has_pattern(std::span<const std::byte> bytes, std::uint32_t seed) {
  return std::ranges::equal(bytes, pattern(bytes.size(), seed));
}

std::vector<std::uint64_t> numbers(std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> all(last - first + 1);
  std::iota(all.begin(), all.end(), first);
  return all;
}

bool until(const std::vector<End*>& ends, const std::function<bool()>& condition) {
  const SteadyClock clock;
  const Time deadline = clock.now() + 60s;
  const auto calls = [&ends] {
    return std::accumulate(ends.begin(), ends.end(), std::size_t{0},
                           [](std::size_t sum, const End* end) { return sum + end->calls; });
  };
  bool idle = false;
  while (!condition()) {
    if (clock.now() > deadline) return false;
    const std::size_t before = calls();
    for (End* end : ends) {
      if (!end->destroyed()) end->poll(idle ? 1ms : 0ms);
    }
    idle = calls() == before;
  }
  return true;
}

std::string End::listen(const std::string& address) {
  return transport_->listen(address).or_exit();
}

LinkId End::connect(const std::string& address) {
  const LinkId link = transport_->connect(address).or_exit();
  EXPECT_NE(link, 0U);
  EXPECT_TRUE(ever_.insert(link).second) << "link " << link << " had been used";
  open_.insert(link);
  return link;
}

Transport::Sent End::send(LinkId link, std::uint64_t sequence, const Buffer& payload) {
  wire::Header header;
  header.sequence = sequence;
  header.bytes = static_cast<std::uint32_t>(payload.size());
  return transport_->try_send(link, header, payload);
}

void End::close(LinkId link) {
  transport_->close(link);
  open_.erase(link);
}

void End::expect_open(LinkId link) const {
  EXPECT_TRUE(open_.count(link) == 1) << "link " << link << " is not open";
}

void End::on_link(LinkId link) {
  ++calls;
  EXPECT_NE(link, 0U);
  EXPECT_TRUE(ever_.insert(link).second) << "link " << link << " had been used";
  open_.insert(link);
  accepted.push_back(link);
  if (admits) transport_->admit(link);
  if (when_link) when_link(link);
}

void End::on_frame(LinkId link, wire::HeaderView bytes, Buffer payload) {
  ++calls;
  ++frames;
  expect_open(link);
  wire::HeaderBytes copy;
  std::memcpy(copy.data(), bytes.data(), copy.size());
  const auto header = std::bit_cast<wire::Header>(copy);
  EXPECT_EQ(header.bytes, payload.size());
  sequences[link].push_back(header.sequence);
  if (when_frame) when_frame(link, header, std::move(payload));
}

void End::on_broken(LinkId link, Status why) {
  ++calls;
  expect_open(link);
  EXPECT_FALSE(why.ok());
  EXPECT_FALSE(why.cause().empty());
  EXPECT_TRUE(broken.emplace(link, std::move(why)).second);
  open_.erase(link);
  EXPECT_EQ(send(link, 0), Transport::Sent::kBroken);
  if (when_broken) when_broken(link);
}

void End::on_writable(LinkId link) {
  ++calls;
  expect_open(link);
  writable.insert(link);
}

Conformance::Conformance()
    : world_(GetParam().make()), server_(world_->endpoint()), worker_(world_->endpoint()) {
  address_ = server_.listen(world_->any_address());
  link_ = worker_.connect(address_);
}

void Conformance::send_all(End& from, LinkId link, End& to, std::uint64_t count,
                           std::uint64_t first) {
  std::uint64_t next = first;
  EXPECT_TRUE(until({&from, &to}, [&] {
    while (next < first + count && from.send(link, next) == Transport::Sent::kTaken) ++next;
    return next == first + count;
  }));
}

LinkId Conformance::accepted_link() {
  if (server_.accepted.empty()) {
    send_all(worker_, link_, server_, 1, 0);
    EXPECT_TRUE(until({&worker_, &server_}, [&] { return server_.frames >= 1; }));
    server_.sequences.clear();
    server_.frames = 0;
  }
  return server_.accepted.empty() ? 0 : server_.accepted.front();
}

std::string Conformance::address_of_nobody() {
  End gone(world_->endpoint());
  return gone.listen(world_->any_address());
}

}  // namespace stretto::conformance
