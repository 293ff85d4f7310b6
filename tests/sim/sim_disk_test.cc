// SPDX-License-Identifier: Apache-2.0
// Each fault of the simulated disk happens, and files that must survive crashes do, for every seed.
// STRETTO_SIM_SEEDS and STRETTO_SIM_FIRST_SEED work as in the simulated jobs.
#include "tests/sim/sim_disk.h"

#include <errno.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "tests/sim/replay.h"
#include "tests/sim/seeds.h"

namespace stretto::sim {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

constexpr std::size_t kMostBytes = 1 << 20;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string text_of(Disk& disk, const std::string& path) {
  const std::unique_ptr<File> file = disk.open(path, Open::kRead).or_exit();
  std::string text(kMostBytes, '\0');
  text.resize(file->read(0, std::as_writable_bytes(std::span(text))).or_exit());
  return text;
}

std::unique_ptr<File> created(Disk& disk, const std::string& path, std::string_view text) {
  std::unique_ptr<File> file = disk.open(path, Open::kCreate).or_exit();
  EXPECT_TRUE(file->write(0, bytes_of(text)).ok());
  return file;
}

// The contents of a file after crashes of many seeds, each of which follows `act` on a new disk.
std::set<std::string> found_after(const std::string& path, const DiskOptions& options,
                                  const std::function<void(SimDisk&)>& act) {
  std::set<std::string> found;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SimDisk disk(seed, options);
    act(disk);
    disk.restart(Crash::kMachine);
    found.insert(*disk.exists(path) ? text_of(disk, path) : "none");
  }
  return found;
}

TEST(SimulatedDisk, CrashLosesAndTearsUnsyncedWrites) {
  const auto overwrite = [](SimDisk& disk) {
    const std::unique_ptr<File> file = created(disk, "a", "aabb");
    ASSERT_TRUE(file->sync().ok());
    ASSERT_TRUE(disk.sync_folder(".").ok());
    ASSERT_TRUE(file->write(0, bytes_of("AABB")).ok());
  };
  const DiskOptions small{.sector_bytes = 2};
  EXPECT_THAT(found_after("a", small, overwrite),
              UnorderedElementsAre("aabb", "AAbb", "aaBB", "AABB"));
  EXPECT_THAT(found_after("a", {}, overwrite), UnorderedElementsAre("aabb", "AABB"));
}

TEST(SimulatedDisk, SizesAndBytesReachTheDeviceApart) {
  const auto append = [](SimDisk& disk) {
    const std::unique_ptr<File> file = created(disk, "a", "");
    ASSERT_TRUE(disk.sync_folder(".").ok());
    ASSERT_TRUE(file->write(0, bytes_of("AB")).ok());
  };
  const std::set<std::string> found = found_after("a", {.sector_bytes = 1}, append);
  EXPECT_EQ(found.count(""), 1U);
  EXPECT_EQ(found.count("A"), 1U);
  EXPECT_EQ(found.count("AB"), 1U);
  EXPECT_EQ(found.count(std::string("\0B", 2)), 1U) << "a sector that was not written is zero";
  EXPECT_GT(found.size(), 8U) << "or garbage";
}

TEST(SimulatedDisk, ACrashLosesNamesUntilTheirFolderIsSynced) {
  const auto rename = [](SimDisk& disk) {
    ASSERT_TRUE(created(disk, "a", "old")->sync().ok());
    ASSERT_TRUE(disk.sync_folder(".").ok());
    ASSERT_TRUE(created(disk, "b", "new")->sync().ok());
    ASSERT_TRUE(disk.rename("b", "a").ok());
  };
  EXPECT_THAT(found_after("a", {}, rename), UnorderedElementsAre("old", "new"));
  EXPECT_THAT(found_after("b", {}, rename), UnorderedElementsAre("none", "new"));
  const auto inside = [](SimDisk& disk) {
    ASSERT_TRUE(disk.make_folder("x").ok());
    ASSERT_TRUE(created(disk, "x/a", "text")->sync().ok());
    ASSERT_TRUE(disk.sync_folder("x").ok());
  };
  EXPECT_THAT(found_after("x/a", {}, inside), UnorderedElementsAre("none", "text"))
      << "the folder itself is lost";
  const auto removed = [](SimDisk& disk) {
    ASSERT_TRUE(created(disk, "a", "text")->sync().ok());
    ASSERT_TRUE(disk.sync_folder(".").ok());
    ASSERT_TRUE(disk.remove("a").ok());
  };
  EXPECT_THAT(found_after("a", {}, removed), UnorderedElementsAre("none", "text"));
}

TEST(SimulatedDisk, SyncedWritesSurviveCrash) {
  const auto sync_all = [](SimDisk& disk) {
    const std::unique_ptr<File> file = created(disk, "a", "text");
    ASSERT_TRUE(file->write(2, bytes_of("st!")).ok());
    ASSERT_TRUE(file->sync().ok());
    ASSERT_TRUE(disk.sync_folder(".").ok());
  };
  EXPECT_THAT(found_after("a", {.sector_bytes = 1}, sync_all), UnorderedElementsAre("test!"));
}

TEST(SimulatedDisk, TheEndOfAProcessLosesNothing) {
  SimDisk disk(1);
  const std::unique_ptr<File> file = created(disk, "a", "text");
  disk.restart(Crash::kProcess);
  EXPECT_EQ(text_of(disk, "a"), "text");
  EXPECT_FALSE(file->write(0, bytes_of("x")).ok()) << "open files ended with it";
}

TEST(SimulatedDisk, SpaceRunsOutInTheMiddleOfAWrite) {
  SimDisk disk(1, {.capacity_bytes = 10});
  const std::unique_ptr<File> file = created(disk, "a", "123456");
  const Status status = file->write(6, bytes_of("7890123"));
  EXPECT_THAT(status.cause(), HasSubstr("more than 4 of 7 bytes to 'a': No space left on device"));
  EXPECT_EQ(text_of(disk, "a"), "1234567890");
  EXPECT_EQ(disk.space(".").or_exit().available_bytes, 0U);
  EXPECT_TRUE(file->write(0, bytes_of("abc")).ok()) << "that room it has";
  ASSERT_TRUE(disk.remove("a").ok());
  EXPECT_EQ(disk.space(".").or_exit().available_bytes, 10U);
}

TEST(SimulatedDisk, AQuotaIsNotInTheSpaceThatIsTold) {
  SimDisk disk(1, {.capacity_bytes = 100, .quota_bytes = 4});
  const std::unique_ptr<File> file = disk.open("a", Open::kCreate).or_exit();
  EXPECT_EQ(disk.space(".").or_exit().available_bytes, 100U);
  EXPECT_THAT(file->write(0, bytes_of("12345")).cause(), HasSubstr("quota is used up"));
}

TEST(SimulatedDisk, AnyCallMayFail) {
  SimDisk disk(1);
  const std::unique_ptr<File> file = created(disk, "a", "text");
  std::vector<std::byte> into(4);
  disk.fail(DiskCall::kRead, EIO);
  EXPECT_THAT(file->read(0, into).status().cause(), HasSubstr("cannot read 'a': Input/output"));
  EXPECT_TRUE(file->read(0, into).ok());
  disk.fail(DiskCall::kWrite, EIO, 1);
  EXPECT_TRUE(file->write(0, bytes_of("T")).ok());
  EXPECT_EQ(file->write(0, bytes_of("T")).code(), Code::kResource);
  disk.fail(DiskCall::kName, EIO);
  EXPECT_EQ(disk.rename("a", "b").code(), Code::kResource);
  EXPECT_TRUE(*disk.exists("a"));
  disk.fail(DiskCall::kLook, EMFILE);
  EXPECT_THAT(disk.open("a", Open::kRead).status().cause(), HasSubstr("ulimit -n"));
}

TEST(SimulatedDisk, CallsThatAreCutShortOrInterruptedGoOn) {
  SimDisk disk(1, {.short_chance = 0.9});
  std::string text(1000, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i % 127);
  const std::unique_ptr<File> file = created(disk, "a", text);
  disk.fail(DiskCall::kSync, EINTR);
  EXPECT_TRUE(file->sync().ok());
  EXPECT_EQ(text_of(disk, "a"), text);
}

// The kernel drops the bytes of a failed write-back: the next sync succeeds without them.
TEST(SimulatedDisk, FileDiesAfterFailedSync) {
  std::set<std::string> found;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SimDisk disk(seed);
    const std::unique_ptr<File> file = created(disk, "a", "old");
    ASSERT_TRUE(file->sync().ok());
    ASSERT_TRUE(disk.sync_folder(".").ok());
    ASSERT_TRUE(file->write(0, bytes_of("new")).ok());
    disk.fail(DiskCall::kSync, EIO);
    const Status status = file->sync();
    EXPECT_THAT(status.cause(), HasSubstr("write it anew, under another name"));
    EXPECT_EQ(file->sync(), status) << "it is dead";
    EXPECT_EQ(file->write(0, bytes_of("new")), status);
    EXPECT_EQ(file->size().status(), status);
    const std::unique_ptr<File> again = disk.open("a", Open::kWrite).or_exit();
    EXPECT_TRUE(again->sync().ok()) << "whoever opens it again is told a lie";
    EXPECT_EQ(text_of(disk, "a"), "new");
    disk.restart(Crash::kMachine);
    found.insert(text_of(disk, "a"));
  }
  EXPECT_THAT(found, UnorderedElementsAre("old", "new"));
}

TEST(SimulatedDisk, CallsTakeTime) {
  SimDisk disk(1, {.latency = 1ms, .sync_latency = 20ms, .bytes_per_second = 1000});
  const std::unique_ptr<File> file = disk.open("a", Open::kCreate).or_exit();
  EXPECT_EQ(disk.spent(), 1ms);
  ASSERT_TRUE(file->write(0, std::vector<std::byte>(100)).ok());
  EXPECT_EQ(disk.spent(), 102ms);
  ASSERT_TRUE(file->sync().ok());
  EXPECT_EQ(disk.spent(), 123ms);
}

TEST(SimulatedDisk, ASeedAlwaysTellsTheSameStory) {
  const auto story = [](std::uint64_t seed) {
    SimDisk disk(seed, {.sector_bytes = 1, .short_chance = 0.3});
    disk.fail(DiskCall::kSync, EIO, 5);
    for (char c = 'a'; c < 'k'; ++c) {
      static_cast<void>(replace_file(disk, "a", bytes_of(std::string(9, c)), Durability::kMachine));
    }
    disk.restart(Crash::kMachine);
    return *disk.exists("a") ? text_of(disk, "a") : "";
  };
  for (std::uint64_t seed = 1; seed <= 100; ++seed) EXPECT_EQ(story(seed), story(seed));
}

// Replaces a file repeatedly until the disk crashes during a call.
struct Replacements {
  explicit Replacements(std::uint64_t seed)
      : random(seed),
        disk(seed, {.sector_bytes = random.chance(0.5) ? 512U : 4096U,
                    .short_chance = random.chance(0.3) ? 0.2 : 0.0}),
        crash(random.chance(0.7) ? Crash::kMachine : Crash::kProcess) {
    disk.crash_after(random.below(40));
    while (!disk.crashed()) replace();
    disk.restart(crash);
  }

  void replace() {
    if (random.chance(0.2)) {
      disk.fail(static_cast<DiskCall>(random.below(kDiskCalls)), EIO, random.below(4));
    }
    std::string text(random.below(20'000), static_cast<char>('a' + random.below(26)));
    text += fmt::format("end of {}", tried.size());
    tried.push_back(text);
    const Durability durability =
        crash == Crash::kMachine ? Durability::kMachine : Durability::kProcess;
    if (replace_file(disk, "state", bytes_of(text), durability).ok()) told = tried.size();
  }

  /// The violated invariant and the details; empty: all hold.
  std::pair<std::string, std::string> violation() {
    if (!disk.exists("state").or_exit()) {
      if (told == 0) return {};
      return {"told is durable", fmt::format("none is there, {} was told", told)};
    }
    const std::string text = text_of(disk, "state");
    const auto found = std::find(tried.begin(), tried.end(), text);
    if (found == tried.end()) {
      return {"old or new", fmt::format("a file of {} bytes that nobody wrote", text.size())};
    }
    const auto which = static_cast<std::size_t>(found - tried.begin()) + 1;
    if (which >= told) return {};
    return {"told is durable", fmt::format("number {} is there, {} was told", which, told)};
  }

  Random random;
  SimDisk disk;
  Crash crash;
  std::vector<std::string> tried;
  std::size_t told = 0;  // The number of attempts at the last success.
};

TEST(SimulatedDisk, EveryReplacedFileIsCompleteAfterCrash) {
  std::set<std::size_t> told;
  const Seeds seeds = seeds_from_environment();
  Replay replay("SimulatedDisk.Every*");
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    replay.at(seed);
    Replacements replacements(seed);
    const auto [invariant, text] = replacements.violation();
    told.insert(replacements.told);
    ASSERT_EQ(invariant, "") << "invariant: " << invariant << "\n"
                             << text << "\n"
                             << replay.command();
  }
  EXPECT_TRUE(seeds.count < 100 || told.size() > 4) << "crashes came early and late";
}

}  // namespace
}  // namespace stretto::sim
