// SPDX-License-Identifier: Apache-2.0
// Crashes at any call, disks that fill up and syncs that fail, for every seed. The recovered state
// must be the last complete checkpoint, or the one being completed, bit by bit. The variables
// STRETTO_SIM_SEEDS and STRETTO_SIM_FIRST_SEED apply, with ten crashes per seed.
#include <errno.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>

#include "checkpoint/checkpoint_store.h"
#include "tests/checkpoint/files.h"
#include "tests/sim/seeds.h"
#include "tests/sim/sim_disk.h"

namespace stretto::checkpoint {
namespace {

using sim::Random;
using sim::SimDisk;

constexpr int kCrashes = 10;
constexpr std::uint64_t kMostCalls = 120;  // About three checkpoints.

using Files = std::map<std::string, Contents>;

class CrashingWriter {
 public:
  explicit CrashingWriter(std::uint64_t seed)
      : random_(seed), disk_(seed, {.short_chance = 0.05}), folder_(disk_, "run") {}

  /// Returns the violation, or an empty string.
  std::string run() {
    folder_.make().or_exit();
    for (int i = 0; i < kCrashes; ++i) {
      disk_.crash_after(random_.below(kMostCalls));
      if (random_.chance(0.3)) disk_.fail(sim::DiskCall::kSync, EIO, random_.below(8));
      if (random_.chance(0.3)) disk_.fail(sim::DiskCall::kWrite, ENOSPC, random_.below(12));
      while (!disk_.crashed()) write_one();
      // After the end of a process its writes persist.
      disk_.restart(random_.chance(0.5) ? sim::Crash::kMachine : sim::Crash::kProcess);
      std::string wrong = check();
      if (!wrong.empty()) return fmt::format("after crash {}: {}", i + 1, wrong);
    }
    return {};
  }

 private:
  Contents contents_from_seed() {
    Contents contents;
    const std::uint64_t parts = random_.below(4);
    for (std::uint32_t part = 0; part < parts; ++part) {
      std::string& text = contents[part_key("w", part)];
      text.resize(random_.below(3000));
      for (char& c : text) c = static_cast<char>(random_.below(256));
    }
    return contents;
  }

  // As in a job: an error costs this checkpoint only, and the next one is started.
  void write_one() {
    const Result<std::uint64_t> number = folder_.begin();
    if (!number.ok()) return;
    const CheckpointId origin{.job = 1, .number = *number, .step = random_.below(100)};
    CheckpointManifest manifest{.origin = origin, .part_bytes = 1};
    Files files;
    for (const char* name : {"server-0.0.parts", "server-1.0.parts"}) {
      files[name] = contents_from_seed();
      const Result<FileDigest> seal =
          write_file(disk_, folder_.path_of(*number, name), origin, files[name]);
      if (!seal.ok()) return;
      manifest.files.push_back({.name = name, .seal = *seal, .entries = files[name].size()});
    }
    made_[*number] = files;
    if (!folder_.commit(manifest).ok()) return;
    complete_ = *number;
    static_cast<void>(folder_.prune());
  }

  std::string check() {
    const Result<Folder::Found> found = folder_.newest();
    if (!found.ok()) return found.status().cause();
    if (!found->newest) return complete_ ? "no complete one is left" : "";
    const std::uint64_t number = found->newest->origin.number;
    if (complete_ && number < *complete_) {
      return fmt::format("{} was complete, and {} is the newest", *complete_, number);
    }
    const auto made = made_.find(number);
    if (made == made_.end()) return fmt::format("{} was never whole", number);
    for (const CheckpointManifest::File& file : found->newest->files) {
      const Result<Contents> contents =
          read_file(disk_, folder_.path_of(number, file.name), file.seal);
      if (!contents.ok()) return contents.status().cause();
      if (*contents != made->second[file.name]) return file.name + " holds something else";
    }
    return {};
  }

  Random random_;
  SimDisk disk_;
  Folder folder_;
  std::map<std::uint64_t, Files> made_;    // All with complete files.
  std::optional<std::uint64_t> complete_;  // The newest with an ok commit().
};

TEST(CheckpointCrashes, FindsLastCompleteCheckpointOrSuccessor) {
  const sim::Seeds seeds = sim::seeds_from_environment();
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    const std::string wrong = CrashingWriter(seed).run();
    ASSERT_EQ(wrong, "") << "STRETTO_SIM_FIRST_SEED=" << seed << " STRETTO_SIM_SEEDS=1";
  }
}

}  // namespace
}  // namespace stretto::checkpoint
