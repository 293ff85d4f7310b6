// SPDX-License-Identifier: Apache-2.0
// What the tuner must reach on every kind of modelled device, over many seeds, in virtual time.
#include "tools/bench/io_tuning.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/common/effort.h"

namespace stretto::bench {
namespace {

using input::TunerLimits;

constexpr std::uint64_t kSeeds = 100;
constexpr double kShare = 0.95;

TunerLimits limits() {
  TunerLimits limits;
  limits.window = 50ms;
  return limits;
}

class Kinds : public testing::TestWithParam<std::string> {
 protected:
  const DeviceModel model_ = *find_device_model(GetParam());
};

TEST_P(Kinds, TunerComesWithinFivePercentOfTheBestInFifteenProbes) {
  const GridCell best = best_of(exhaustive_grid(model_, limits()), limits());
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> known;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Tuned tuned = tune("tuner", model_, limits(), seed);
    const auto setting = std::make_pair(tuned.knobs.depth, tuned.knobs.read_bytes);
    if (known.count(setting) == 0) known[setting] = long_run(model_, tuned.knobs).bytes_per_s;
    EXPECT_GE(known[setting], kShare * best.bytes_per_s)
        << "seed " << seed << ": " << setting.first << " x " << setting.second;
    EXPECT_LE(tuned.probes, 15U) << "seed " << seed;
  }
}

// The numbers of the kinds are arbitrary, so it must not depend on them.
class SteadyKinds : public Kinds {};
TEST_P(SteadyKinds, AlsoOnVariations) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const DeviceModel other = varied(model_, 2, seed);
    const GridCell best = best_of(exhaustive_grid(other, limits()), limits());
    const Tuned tuned = tune("tuner", other, limits(), seed);
    EXPECT_GE(long_run(other, tuned.knobs).bytes_per_s, kShare * best.bytes_per_s) << seed;
    EXPECT_LE(tuned.probes, 15U) << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Io, Kinds,
                         testing::Values("sata", "nvme", "network", "one_channel", "noisy",
                                         "saturating", "cloud", "shared"),
                         [](const auto& kind) { return kind.param; });
// Of "shared" some variations fail: docs/results/0011-input-tuning.md.
INSTANTIATE_TEST_SUITE_P(Io, SteadyKinds,
                         testing::Values("sata", "nvme", "network", "one_channel", "noisy",
                                         "saturating", "cloud"),
                         [](const auto& kind) { return kind.param; });

void expect_retuned(const DeviceModel& before, const DeviceModel& after, const char* what) {
  const GridCell best = best_of(exhaustive_grid(after, limits()), limits());
  for (std::uint64_t seed = 1; seed <= repeated(10U); ++seed) {
    const Retuning retuning = retune(before, after, best.bytes_per_s, limits(), seed);
    EXPECT_LE(retuning.windows, 10U) << what << ", seed " << seed;
    EXPECT_EQ(retuning.false_searches, 0U) << what << ", seed " << seed;
  }
}

TEST(IoRetuning, TenWindowsAfterAStepItIsBackAtTheBest) {
  const DeviceModel network = *find_device_model("network");
  DeviceModel far = network;
  far.round_trip_s *= 4;
  expect_retuned(network, far, "four times as far");
  expect_retuned(far, network, "near again");
  DeviceModel narrow = network;
  narrow.link_bytes_per_s /= 4;
  expect_retuned(network, narrow, "a quarter of the link");
  DeviceModel flash = *find_device_model("nvme");
  flash.piece_s *= 4;
  flash.channel_bytes_per_s /= 4;
  expect_retuned(*find_device_model("nvme"), flash, "flash four times as slow");
  const DeviceModel sata = *find_device_model("sata");
  expect_retuned(sata, network, "a file system far away");
  expect_retuned(sata, *find_device_model("one_channel"), "a disk");
  expect_retuned(sata, *find_device_model("saturating"), "a file server");
  expect_retuned(network, sata, "back again");
}

TEST(IoTuning, OthersDoWithTheSameNumberOfProbes) {
  const DeviceModel model = *find_device_model("network");
  for (const std::string_view way : ways_of_tuning()) {
    const Tuned tuned = tune(way, model, limits(), 1);
    EXPECT_LE(tuned.probes, limits().probes) << way;
    EXPECT_GT(tuned.knobs.depth, 0U) << way;
  }
  EXPECT_EQ(tune("default", model, limits(), 1).knobs, (input::Knobs{1, 128 * 1024}));
  EXPECT_EQ(tune("start", model, limits(), 1).knobs, (input::Knobs{8, 256 * 1024}));
}

// A control that begins further away than the tuner would be beaten by its probes alone. With one
// probe all are where they begin; with two the climb is one step from there.
TEST(IoTuning, OthersBeginWhereTheTunerBegins) {
  const DeviceModel model = *find_device_model("network");
  TunerLimits one = limits();
  one.probes = 1;
  for (const std::string_view way : {"tuner", "start", "random", "tf_data"}) {
    EXPECT_EQ(tune(way, model, one, 1).knobs, (input::Knobs{8, 256 * 1024})) << way;
  }
  TunerLimits two = limits();
  two.probes = 2;
  EXPECT_EQ(tune("tf_data", model, two, 1).knobs, (input::Knobs{16, 256 * 1024}));
}

}  // namespace
}  // namespace stretto::bench
