// SPDX-License-Identifier: Apache-2.0
// The modelled device against rates that can be worked out by hand.
#include "experiments/io/io_device.h"

#include <gtest/gtest.h>

#include "experiments/io/io_tuning.h"

namespace stretto::bench::experiments {
namespace {

using input::Knobs;
using input::Window;

double rate_of(const Window& window) {
  return static_cast<double>(window.delivered_bytes) /
         std::chrono::duration<double>(window.length).count();
}

/// Four channels, a millisecond for each request of whatever size.
DeviceModel four_channels() {
  return {.channels = 4, .piece_s = 1e-3, .channel_bytes_per_s = 1e15, .link_bytes_per_s = 1e15};
}

double steady(const DeviceModel& model, const std::vector<IoClient>& clients, std::size_t which) {
  IoDevice device(model, 1, clients.size());
  for (std::size_t i = 0; i < clients.size(); ++i) device.set_client(i, clients[i]);
  device.run(2s);
  return rate_of(device.run(4s)[which]);
}

TEST(IoDevice, DepthFillsTheChannelsAndThenWaits) {
  for (const std::uint32_t depth : {1U, 2U, 4U, 16U}) {
    const double expected = 1e6 * std::min(depth, 4U);
    EXPECT_NEAR(steady(four_channels(), {{.knobs = {depth, 1000}}}, 0), expected, 0.01 * expected);
  }
  IoDevice device(four_channels(), 1);
  device.set_client(0, {.knobs = {16, 1000}});
  device.run(1s);
  const Window window = device.run(1s).front();
  EXPECT_NEAR(std::chrono::duration<double>(window.mean_latency).count(), 4e-3, 1e-4)
      << "by Little's law";
}

TEST(IoDevice, LargeRequestsUseSeveralChannels) {
  DeviceModel model = four_channels();
  model.piece_bytes = 1000;
  EXPECT_NEAR(steady(model, {{.knobs = {1, 4000}}}, 0), 4e6, 1e4);
  EXPECT_NEAR(steady(model, {{.knobs = {1, 8000}}}, 0), 4e6, 1e4) << "in two rounds";
}

TEST(IoDevice, TheLinkAndTheWayLimitToo) {
  DeviceModel model = four_channels();
  model.link_bytes_per_s = 2e6;
  EXPECT_NEAR(steady(model, {{.knobs = {16, 1000}}}, 0), 2e6, 1e4);
  model = four_channels();
  model.round_trip_s = 9e-3;
  EXPECT_NEAR(steady(model, {{.knobs = {4, 1000}}}, 0), 4e5, 1e4);
}

TEST(IoDevice, ClientsShareRateByInFlightRequests) {
  const std::vector<IoClient> clients{{.knobs = {4, 1000}}, {.knobs = {12, 1000}}};
  EXPECT_NEAR(steady(four_channels(), clients, 0), 1e6, 2e4);
  EXPECT_NEAR(steady(four_channels(), clients, 1), 3e6, 6e4);
}

TEST(IoDevice, ATokenBucketLimitsItsClientAlone) {
  const std::vector<IoClient> clients{
      {.knobs = {4, 1000}, .limit_bytes_per_s = 0.5e6, .burst_bytes = 10000}, {.knobs = {4, 1000}}};
  EXPECT_NEAR(steady(four_channels(), clients, 0), 0.5e6, 1e4);
  EXPECT_NEAR(steady(four_channels(), clients, 1), 3.5e6, 4e4);
}

TEST(IoDevice, ConsumerStallsWhenDemandExceedsRate) {
  IoDevice device(four_channels(), 1, 1);
  device.set_client(0, {.knobs = {4, 1000}, .demand_bytes_per_s = 1e6});
  device.run(1s);
  Window window = device.run(1s).front();
  EXPECT_NEAR(rate_of(window), 1e6, 1e4);
  EXPECT_EQ(window.consumer_stall, 0s);
  device.set_client(0, {.knobs = {4, 1000}, .demand_bytes_per_s = 8e6});
  device.run(1s);
  window = device.run(1s).front();
  EXPECT_NEAR(rate_of(window), 4e6, 4e4);
  EXPECT_NEAR(std::chrono::duration<double>(window.consumer_stall).count(), 0.5, 0.02);
}

TEST(IoDevice, CrowdingSlowsItDown) {
  DeviceModel model = four_channels();
  model.comfortable = 8;
  model.crowding = 1;
  EXPECT_NEAR(steady(model, {{.knobs = {8, 1000}}}, 0), 4e6, 4e4);
  EXPECT_NEAR(steady(model, {{.knobs = {16, 1000}}}, 0), 2e6, 1e5);
}

TEST(IoDevice, IsTheSameFromTheSameSeedAndBecomesAnother) {
  const DeviceModel noisy = *find_device_model("noisy");
  const auto bytes_of = [&](std::uint64_t seed) {
    IoDevice device(noisy, seed);
    return device.run(1s).front().delivered_bytes;
  };
  EXPECT_EQ(bytes_of(1), bytes_of(1));
  EXPECT_NE(bytes_of(1), bytes_of(2));
  IoDevice device(four_channels(), 1);
  device.set_client(0, {.knobs = {16, 1000}});
  device.run(1s);
  DeviceModel slower = four_channels();
  slower.piece_s *= 2;
  device.become(slower);
  device.run(1s);
  EXPECT_NEAR(rate_of(device.run(1s).front()), 2e6, 2e4);
}

TEST(IoDevice, KindsAreKnownByName) {
  EXPECT_GE(device_models().size(), 6U);
  for (const DeviceModel& model : device_models()) {
    EXPECT_EQ(find_device_model(model.name)->channels, model.channels);
  }
  const Result<DeviceModel> none = find_device_model("tape");
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.status().cause().find("one_channel"), std::string::npos);
}

TEST(IoDevice, VariationsKeepTheKind) {
  const DeviceModel model = *find_device_model("network");
  const DeviceModel other = varied(model, 2, 5);
  EXPECT_NE(other.link_bytes_per_s, model.link_bytes_per_s);
  EXPECT_LE(other.link_bytes_per_s, 2 * model.link_bytes_per_s);
  EXPECT_GE(other.link_bytes_per_s, model.link_bytes_per_s / 2);
  EXPECT_EQ(varied(*find_device_model("one_channel"), 2, 5).channels, 1U);
}

}  // namespace
}  // namespace stretto::bench::experiments
