// SPDX-License-Identifier: Apache-2.0
// The factory: each call makes a new transport over which real processes can connect.
#include "van/transports.h"

#include <gtest/gtest.h>

#include "common/network/address.h"
#include "tests/van/far_end.h"
#include "tests/van/recorder.h"
#include "van/engine/van.h"

namespace stretto {
namespace {

TEST(Transports, TwoOfThemMeetOverLoopback) {
  const SteadyClock clock;
  auto first = make_transport(JobSettings().part_bytes);
  auto second = make_transport(JobSettings().part_bytes);
  ASSERT_TRUE(first.ok() && second.ok());
  Van server(std::move(*first), clock);
  Van worker(std::move(*second), clock);
  const Result<std::string> address = server.listen("127.0.0.1:0");
  ASSERT_TRUE(address.ok()) << address.status().text();
  ASSERT_TRUE(parse_host_port(*address).ok());
  EXPECT_NE(parse_host_port(*address)->port, 0);
  ASSERT_TRUE(worker.links().connect(*address, fake::hello(Role::kWorker, 0)).ok());
  fake::Recorder at_server, at_worker;
  const Time deadline = clock.now() + 30s;
  while (at_server.controls.empty() && clock.now() < deadline) {
    worker.step(at_worker, 1ms);
    server.step(at_server, 1ms);
  }
  ASSERT_EQ(at_server.controls.size(), 1U);
  EXPECT_EQ(std::get<control::Hello>(at_server.controls[0].second).token, "secret");
}

TEST(Transports, ServersAndWorkersOfferTheWaysOfTheirChoice) {
  const auto address_by = [](TransportChoice choice) {
    Config config;
    config.transport = choice;
    auto transport = make_transport(config);
    EXPECT_TRUE(transport.ok());
    return *(*transport)->listen("127.0.0.1:0");
  };
  EXPECT_EQ(address_by(TransportChoice::kTcp).find(';'), std::string::npos);
  for (const TransportChoice choice : {TransportChoice::kAuto, TransportChoice::kShm}) {
    const std::string address = address_by(choice);
    EXPECT_EQ(way_in(address, "shm").size(), 16U) << address;
    EXPECT_TRUE(check_address(address).ok()) << address;
  }
}

// A roster of the largest job, with all local transports, fits one control message.
TEST(Transports, AddressesOfTheLargestJobFitARoster) {
  Roster roster;
  for (NodeId node = 1; node <= kMaxNodes; ++node) {
    roster.members.push_back({.node = node,
                              .role = Role::kServer,
                              .rank = node - 1,
                              .address = "255.255.255.255:65535;shm=0123456789abcdef"});
  }
  EXPECT_LT(control::encode(roster).size(), wire::kMaxControlBytes);
}

TEST(Transports, AnAddressThatIsTakenIsRefused) {
  auto first = make_transport(JobSettings().part_bytes);
  auto second = make_transport(JobSettings().part_bytes);
  ASSERT_TRUE(first.ok() && second.ok());
  const Result<std::string> address = (*first)->listen("127.0.0.1:0");
  ASSERT_TRUE(address.ok());
  EXPECT_FALSE((*second)->listen(*address).ok());
}

}  // namespace
}  // namespace stretto
