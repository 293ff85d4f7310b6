// SPDX-License-Identifier: Apache-2.0
// The tuner in a reader, in virtual time: it measures windows when they are due, turns knobs, and
// stops once the user has turned them.
#include "input/tuning/reader_tuning.h"

#include <gtest/gtest.h>

#include "common/input_account.h"
#include "tests/input/files.h"

namespace stretto::input {
namespace {

// A device with four channels: a `depth` up to 4 helps, and so do large reads.
void serve(Meter& meter, const Controls& controls, Time now, Duration time) {
  const double read_bytes = controls.read_bytes.load();
  const double latency_s = 1e-3 + read_bytes / 200e6;
  const double channels = std::min(controls.depth.load(), 4U);
  const double seconds = std::chrono::duration<double>(time).count();
  const auto requests = static_cast<int>(seconds * channels / latency_s);
  for (int i = 0; i < requests; ++i) {
    meter.request(std::chrono::duration_cast<Duration>(
        std::chrono::duration<double>(latency_s * controls.depth.load() / channels)));
  }
  meter.delivered(static_cast<std::uint64_t>(requests * read_bytes));
  meter.waits(now);
  meter.goes_on(now + time);
}

TEST(ReaderTuning, TurnsKnobsUntilTheUserDoes) {
  Time now{1s};
  Controls controls;
  Meter meter(now);
  ReaderTuning tuning({}, controls, meter);
  EXPECT_EQ(tuning.due(), Time::max());
  tuning.begin(now);
  EXPECT_EQ(tuning.due(), Time::max()) << "not wanted";
  controls.tuned.store(true);
  tuning.begin(now);
  for (int window = 0; window < 400; ++window) {
    ASSERT_LT(now, tuning.due());
    serve(meter, controls, now, tuning.due() - now);
    now = tuning.due();
    tuning.step(now - 1ns);
    EXPECT_EQ(tuning.due(), now) << "nothing before it is due";
    tuning.step(now);
  }
  EXPECT_GE(controls.depth.load(), 4U);
  EXPECT_GT(controls.read_bytes.load(), 256U << 10);
  EXPECT_NE(tuning.log().find("MB/s"), std::string::npos);
  controls.tuned.store(false);
  EXPECT_EQ(tuning.due(), Time::max());
}

TEST(ReaderTuning, LimitsMakeReadsSmallerAndThenFewer) {
  const Knobs wanted{8, 1 << 20};
  EXPECT_EQ(limited(wanted, 0, 1 << 14), wanted);
  EXPECT_EQ(limited(wanted, 8 << 20, 1 << 14), wanted);
  EXPECT_EQ(limited(wanted, 6 << 20, 1 << 14), (Knobs{6, 1 << 20}));
  EXPECT_EQ(limited(wanted, 1 << 20, 1 << 14), (Knobs{1, 1 << 20}));
  EXPECT_EQ(limited(wanted, 100'000, 1 << 14), (Knobs{1, 1 << 16}));
  EXPECT_EQ(limited(wanted, 1, 1 << 14), (Knobs{1, 1 << 14})) << "something is always in flight";
  EXPECT_EQ(limited({2, 4096}, 1, 1 << 14), (Knobs{1, 4096}));
}

class LimitedTuning : public ::testing::Test {
 protected:
  void SetUp() override {
    now_ += 1s;
    feed_->delivered(1);
    account_.totals(now_);
  }
  /// Sets a new limit, as the scheduler does.
  void obey(std::uint64_t bytes) {
    account_.set_limit(bytes);
    tuning_.obey(now_);
  }

  Time now_{1s};
  InputAccount account_;
  std::shared_ptr<InputFeed> feed_ = account_.open(now_);
  Controls controls_;
  Meter meter_{now_, feed_};
  ReaderTuning tuning_{{}, controls_, meter_};
};

TEST_F(LimitedTuning, LimitCapsUserSetting) {
  controls_.turn({16, 1 << 18});
  tuning_.obey(now_);
  obey(1 << 20);
  EXPECT_EQ(controls_.in_force(), (Knobs{4, 1 << 18}));
  EXPECT_EQ(controls_.turned(), (Knobs{16, 1 << 18}));
  controls_.turn({2, 1 << 18});
  EXPECT_EQ(controls_.in_force(), (Knobs{2, 1 << 18})) << "less than the limit";
  obey(0);
  controls_.turn({16, 1 << 18});
  EXPECT_EQ(controls_.in_force(), (Knobs{16, 1 << 18}));
}

TEST_F(LimitedTuning, HoldsBackTheTunerWhichDoesNotSearchMeanwhile) {
  controls_.tuned.store(true);
  tuning_.begin(now_);
  EXPECT_EQ(controls_.in_force(), (Knobs{8, 1 << 18}));
  obey(1 << 20);
  EXPECT_EQ(controls_.in_force(), (Knobs{4, 1 << 18}));
  EXPECT_NE(tuning_.log().find("at most 1048576 bytes may be in flight"), std::string::npos);
  for (int window = 0; window < 50; ++window) {
    serve(meter_, controls_, now_, tuning_.due() - now_);
    now_ = tuning_.due();
    tuning_.step(now_);
    EXPECT_EQ(controls_.in_force(), (Knobs{4, 1 << 18}));
  }
  EXPECT_EQ(account_.totals(now_)->in_flight_bytes, 2U << 20) << "what it wants is still told";
  obey(0);
  for (int window = 0; window < 400; ++window) {
    serve(meter_, controls_, now_, tuning_.due() - now_);
    now_ = tuning_.due();
    tuning_.step(now_);
  }
  EXPECT_GT(controls_.in_force().read_bytes, 1U << 18) << "it searches again";
}

TEST(ReaderTuning, MetersForTwo) {
  Meter meter(Time{});
  meter.delivered(5);
  EXPECT_EQ(meter.take(Meter::kUser, Time(1s)).delivered_bytes, 5U);
  meter.delivered(7);
  const Window window = meter.take(Meter::kTuner, Time(2s));
  EXPECT_EQ(window.delivered_bytes, 12U);
  EXPECT_EQ(window.length, 2s);
  EXPECT_EQ(meter.take(Meter::kUser, Time(2s)).delivered_bytes, 7U);
  EXPECT_EQ(meter.take(Meter::kUser, Time(3s)).length, 1s);
}

TEST(ReaderTuning, LimitsSearchToUsefulReadSizes) {
  const testing::Folder folder;
  Options options{.paths = {folder.write("f", std::string(100'000, 'x'))}};
  std::vector<Status> problems;
  const Index files = *Index::build(options, problems);
  EXPECT_EQ(limits_for(options, files).most.read_bytes, 1U << 17);
  EXPECT_EQ(limits_for(options, files).first.read_bytes, 1U << 17);
  options.format = Format::kRecords;
  options.record_bytes = 10;
  const Index records = *Index::build(options, problems);
  EXPECT_EQ(limits_for(options, records).most.read_bytes, 16U << 20);
  options.shuffle = true;
  EXPECT_EQ(limits_for(options, records).most.read_bytes, 256U << 10);
  options.shuffle_block_bytes = 1;
  EXPECT_EQ(limits_for(options, records).most.read_bytes, 16U << 10);
}

TEST(Controls, TheTunerTurnsNothingAfterTheUserHas) {
  Controls controls;
  controls.tuned.store(true);
  controls.tune({4, 1 << 16});
  EXPECT_EQ(controls.turned(), (Knobs{4, 1 << 16}));
  controls.turn({2, 1 << 17});
  controls.tune({4, 1 << 16});
  EXPECT_EQ(controls.turned(), (Knobs{2, 1 << 17}));
  EXPECT_FALSE(controls.tuned.load());
}

}  // namespace
}  // namespace stretto::input
