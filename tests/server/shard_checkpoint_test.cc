// SPDX-License-Identifier: Apache-2.0
// A shard's checkpoint file holds the state at the cut, whatever arrives during the write; other
// shards restore parts from it.
#include "server/checkpoint/shard_checkpoint.h"

#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/checkpoint/restore_reads.h"
#include "tests/server/group.h"
#include "tests/sim/sim_disk.h"
#include "tests/van/far_end.h"

namespace stretto {
namespace {

using checkpoint::CheckpointManifest;
using testing::HasSubstr;

constexpr std::uint32_t kPartBytes = 64;
constexpr std::uint64_t kSavedNumbers = 40;  // Three parts.

TensorOptions by(Rule rule, Mode mode = Mode::kAsync) {
  return {.mode = mode, .update = {.rule = rule}};
}

/// The slots of a shard with all parts of its tensors.
class Slots {
 public:
  explicit Slots(const std::function<Status(Part&)>& restore = {}, std::uint32_t workers = 2) {
    slots_.begin({.workers = fake::group_of(workers),
                  .slots = 4,
                  .since = 1,
                  .part_bytes = kPartBytes,
                  .restore = restore});
  }
  OwnedSlots& operator*() { return slots_; }

  void open(const TensorSpec& spec) {
    ASSERT_TRUE(slots_.open(++tensors_, spec, 0).ok());
    for (std::uint32_t part = 0; part < Cut(spec, kPartBytes).parts(); ++part) {
      if (Status status = slots_.place_of({tensors_, part}, {}).status(); !status.ok()) {
        refused_ = status;
      }
    }
  }
  // A contribution of worker 0 to each part of each tensor; enough for a round with one worker.
  void contribute(float number) {
    slots_.for_each_slot([number](Slot& slot) {
      slot.for_each_part([&](Part& part) {
        const NodeId worker = fake::node_of(0);
        const std::uint64_t round = part.collector.rounds().rounds_of(worker) + 1;
        const std::vector<float> numbers(part.store.bytes() / sizeof(float), number);
        const std::size_t bytes = Cut(part.spec, kPartBytes).bytes_of_part(part.key.part);
        auto counted = slot.count(
            part, {worker, part.key, round},
            {.worker = worker,
             .round = round,
             .bytes = fake::bytes_of(
                 {numbers.begin(),
                  numbers.begin() + static_cast<std::ptrdiff_t>(bytes / sizeof(float))})});
        ASSERT_TRUE(counted.ok()) << counted.status().text();
        ASSERT_TRUE(counted->update.has_value());
        slot.release(slot.append(part, *std::move(counted->update)));
      });
    });
  }
  std::map<wire::Key, std::vector<std::byte>> saved() {
    std::map<wire::Key, std::vector<std::byte>> all;
    slots_.for_each_part([&all](Part& part) {
      std::vector<std::byte>& bytes = all[part.key];
      bytes.resize(part.store.saved_bytes());
      part.store.save(0, bytes);
    });
    return all;
  }
  const Status& refused() const { return refused_; }

 private:
  OwnedSlots slots_{0, Buffer::allocate};
  std::uint32_t tensors_ = 0;
  Status refused_;
};

class ShardCheckpointTest : public testing::Test {
 protected:
  ShardCheckpointTest() {
    folder_.make().or_exit();
    for (const Rule rule : {Rule::kSgd, Rule::kMomentum, Rule::kAdam}) {
      specs_.push_back(
          fake::spec(std::string(name_of(rule)), Dtype::kF32, kSavedNumbers, by(rule)));
      slots_.open(specs_.back());
    }
  }
  control::CheckpointCut cut() { return {.job = 1, .number = folder_.begin().or_exit()}; }
  control::CheckpointSaved rest_of(ShardCheckpoint& checkpoint) {
    while (true) {
      if (auto saved = checkpoint.step()) return *saved;
    }
  }
  void commit(const control::CheckpointSaved& saved) {
    ASSERT_TRUE(saved.why.ok()) << saved.why.text();
    CheckpointManifest manifest{.origin = {.job = 1, .number = saved.number},
                                .part_bytes = kPartBytes,
                                .files = {{.name = saved.file,
                                           .seal = {.bytes = saved.bytes, .checksum = saved.seal},
                                           .entries = saved.entries}},
                                .tensors = specs_};
    folder_.commit(manifest).or_exit();
  }
  RestoreReads restored() { return {work_, folder_, 1}; }

  sim::SimDisk disk_{1};
  checkpoint::Folder folder_{disk_, "run"};
  checkpoint::InlineDiskExecutor work_;
  std::vector<TensorSpec> specs_;
  Slots slots_;
};

TEST_F(ShardCheckpointTest, SavesStateAtCut) {
  slots_.contribute(1);
  slots_.contribute(2);
  const auto at_the_cut = slots_.saved();
  ShardCheckpoint checkpoint(work_, folder_, "server-0.0.parts");
  ASSERT_TRUE(checkpoint.begin(cut(), *slots_).ok());
  EXPECT_TRUE(checkpoint.active());
  slots_.contribute(3);  // Before any part is written.
  commit(rest_of(checkpoint));
  EXPECT_FALSE(checkpoint.active());
  RestoreReads parts = restored();
  Slots others([&parts](Part& part) { return parts.load(part); }, 5);
  for (const TensorSpec& spec : specs_) others.open(spec);
  EXPECT_EQ(others.saved(), at_the_cut);
  others.contribute(3);
  EXPECT_EQ(others.saved(), slots_.saved()) << "and goes on as that one";
}

TEST_F(ShardCheckpointTest, SkipsPartsWithoutValue) {
  ShardCheckpoint checkpoint(work_, folder_, "server-0.0.parts");
  ASSERT_TRUE(checkpoint.begin(cut(), *slots_).ok());
  const control::CheckpointSaved saved = rest_of(checkpoint);
  EXPECT_TRUE(saved.why.ok());
  EXPECT_EQ(saved.entries, 0U);
}

TEST(SavedTensors, IncludeOnlyStateBeyondOneRound) {
  const auto saved = [](Rule rule, Mode mode, std::optional<CodecSpec> codec = {}) {
    TensorOptions options = by(rule, mode);
    options.codec = codec;
    return is_saved(fake::spec("x", Dtype::kF32, 4, options));
  };
  EXPECT_FALSE(saved(Rule::kSum, Mode::kSync));
  EXPECT_FALSE(saved(Rule::kMean, Mode::kSync));
  EXPECT_TRUE(saved(Rule::kSum, Mode::kAsync));
  EXPECT_TRUE(saved(Rule::kSum, Mode::kEager));
  EXPECT_TRUE(saved(Rule::kAdam, Mode::kSync));
  EXPECT_TRUE(saved(Rule::kSum, Mode::kSync, *codec_from("onebit,ef=vanilla")));
}

TEST_F(ShardCheckpointTest, ATensorOfWhichARoundIsOpenIsRefused) {
  slots_.open(fake::spec("open", Dtype::kF32, 4, by(Rule::kSgd, Mode::kSync)));
  (*slots_).for_each_slot([](Slot& slot) {
    slot.for_each_part([&slot](Part& part) {
      if (part.spec.name != "open") return;
      const NodeId worker = fake::node_of(0);
      ASSERT_TRUE(slot.count(part, {worker, part.key, 1},
                             {.worker = worker, .round = 1, .bytes = fake::bytes_of({1, 2, 3, 4})})
                      .ok());
    });
  });
  ShardCheckpoint checkpoint(work_, folder_, "server-0.0.parts");
  const Status refused = checkpoint.begin(cut(), *slots_);
  EXPECT_EQ(refused.code(), Code::kRefused);
  EXPECT_THAT(refused.cause(), HasSubstr("tensor 'open'"));
  EXPECT_FALSE(checkpoint.active());
}

TEST_F(ShardCheckpointTest, ADiskThatFailsIsTold) {
  slots_.contribute(1);
  disk_.fail(sim::DiskCall::kWrite, ENOSPC);
  ShardCheckpoint checkpoint(work_, folder_, "server-0.0.parts");
  ASSERT_TRUE(checkpoint.begin(cut(), *slots_).ok());
  const control::CheckpointSaved saved = rest_of(checkpoint);
  EXPECT_EQ(saved.why.code(), Code::kResource);
  EXPECT_FALSE(checkpoint.active());
  ASSERT_TRUE(checkpoint.begin(cut(), *slots_).ok());
  EXPECT_TRUE(rest_of(checkpoint).why.ok()) << "the next one is another";
}

TEST_F(ShardCheckpointTest, AFolderThatIsElsewhereIsTold) {
  ShardCheckpoint checkpoint(work_, folder_, "server-0.0.parts");
  ASSERT_TRUE(checkpoint.begin({.job = 1, .number = 9}, *slots_).ok());
  EXPECT_THAT(rest_of(checkpoint).why.cause(), HasSubstr("the same on all hosts"));
}

TEST_F(ShardCheckpointTest, AnotherTensorIsNotRestored) {
  slots_.contribute(1);
  ShardCheckpoint checkpoint(work_, folder_, "server-0.0.parts");
  ASSERT_TRUE(checkpoint.begin(cut(), *slots_).ok());
  commit(rest_of(checkpoint));
  RestoreReads parts = restored();
  Slots others([&parts](Part& part) { return parts.load(part); });
  others.open(fake::spec("adam", Dtype::kF32, kSavedNumbers, by(Rule::kMomentum)));
  EXPECT_EQ(others.refused().code(), Code::kMismatch);
  EXPECT_THAT(others.refused().cause(), HasSubstr("in the checkpoint that the job goes on from"));
  others.open(fake::spec("new", Dtype::kF32, kSavedNumbers, by(Rule::kMomentum)));
  ShardCheckpoint next(work_, folder_, "server-0.0.parts");
  ASSERT_TRUE(next.begin(cut(), *others).ok());
  EXPECT_EQ(rest_of(next).entries, 0U) << "it has no value of its own";
}

}  // namespace
}  // namespace stretto
