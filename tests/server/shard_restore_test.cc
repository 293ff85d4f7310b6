// SPDX-License-Identifier: Apache-2.0
// A shard whose disk is slow during a restore: it stays responsive, and workers get the saved
// values once they are read.
#include "checkpoint/checkpoint_store.h"
#include "server/checkpoint/shard_checkpoint.h"
#include "tests/server/group.h"
#include "tests/server/shard_fixture.h"
#include "tests/sim/disk_queue.h"
#include "tests/sim/sim_disk.h"

namespace stretto::fake {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kSavedElements = 2;

class ShardRestoreTest : public ShardTest {
 protected:
  ShardRestoreTest() {
    config_.checkpoint.folder = "run";
    roster_.settings.restored = 1;
  }

  static TensorSpec saved_spec() {
    return spec("grads", Dtype::kF32, kSavedElements, {.mode = Mode::kAsync});
  }
  /// Saves a checkpoint in which every element is `value`.
  void save(float value) {
    OwnedSlots slots(0, Buffer::allocate);
    slots.begin({.workers = group_of(1), .slots = 1, .since = 1, .part_bytes = 64});
    ASSERT_TRUE(slots.open(1, saved_spec(), 0).ok());
    const OwnedSlots::Place place = slots.place_of(kKey, {}).or_exit();
    auto counted =
        place.slot->count(*place.part, {node_of(0), kKey, 1},
                          {.worker = node_of(0), .round = 1, .bytes = bytes_of({value, value})});
    place.slot->release(place.slot->append(*place.part, *std::move(counted->update)));
    folder_.make().or_exit();
    const control::CheckpointCut cut{.job = 1, .number = folder_.begin().or_exit()};
    ShardCheckpoint checkpoint(work_, folder_, "server-0.0.parts");
    ASSERT_TRUE(checkpoint.begin(cut, slots).ok());
    std::optional<control::CheckpointSaved> saved;
    for (; !saved; saved = checkpoint.step()) work_.run_all();
    ASSERT_TRUE(saved->why.ok());
    folder_
        .commit({.origin = {.job = 1, .number = cut.number},
                 .part_bytes = 64,
                 .files = {{.name = saved->file,
                            .seal = {.bytes = saved->bytes, .checksum = saved->seal},
                            .entries = saved->entries}},
                 .tensors = {saved_spec()}})
        .or_exit();
  }
  void begin_restoring() {
    shard_ = std::make_unique<Shard>(config_, 0, scripted_transport(wire_), clock_,
                                     ShardPersistence::Files{.disk = &disk_, .work = &work_});
    ASSERT_TRUE(shard_->start("127.0.0.1:7000", "").ok());
    say_scheduler(welcome(50, 0));
    say_scheduler(roster_);
    join(first_, 0);
    join(second_, 1);
    for (FarEnd* worker : {&first_, &second_}) open_at(*worker, 1, saved_spec());
    step();
  }
  std::vector<float> value_at(FarEnd& worker) { return floats_of(worker.datum().payload.bytes()); }

  sim::SimDisk disk_{1};
  sim::DiskQueue work_;
  checkpoint::Folder folder_{disk_, "run"};
};

TEST_F(ShardRestoreTest, SlowDiskDelaysPartsAndNotHeartbeats) {
  save(3);
  begin_restoring();
  pull(first_, 0);
  push(second_, 1, {1, 1});
  scheduler_.controls();
  pass(10s);
  EXPECT_GE(scheduler_.controls().size(), 9U) << "heartbeats";
  EXPECT_TRUE(first_.data().empty() && second_.data().empty());
  work_.run_one();  // Opens the checkpoint.
  step();
  EXPECT_TRUE(first_.data().empty());
  work_.run_all();
  step();
  EXPECT_THAT(value_at(first_), ElementsAre(3, 3));
  EXPECT_THAT(value_at(second_), ElementsAre(4, 4)) << "its push, on what was saved";
  EXPECT_TRUE(shard_->status().ok());
}

TEST_F(ShardRestoreTest, PartIsReadOnce) {
  save(3);
  begin_restoring();
  work_.run_all();
  pull(first_, 0);
  EXPECT_FALSE(work_.empty());
  pull(second_, 0);
  work_.run_one();
  EXPECT_TRUE(work_.empty());
  step();
  EXPECT_THAT(value_at(first_), ElementsAre(3, 3));
  EXPECT_THAT(value_at(second_), ElementsAre(3, 3));
  pull(first_, 0);
  EXPECT_TRUE(work_.empty());
  EXPECT_THAT(value_at(first_), ElementsAre(3, 3));
}

TEST_F(ShardRestoreTest, ShardLooksAgainAfterRead) {
  save(3);
  begin_restoring();
  work_.run_all();
  step();
  EXPECT_GT(shard_->next_due(), clock_.now() + 100ms) << "nothing is awaited";
  pull(first_, 0);
  work_.run_all();  // After the loop has looked for completed reads.
  EXPECT_LE(shard_->next_due(), clock_.now() + 2ms);
}

TEST_F(ShardRestoreTest, EndedShardReadsNothing) {
  save(3);
  begin_restoring();
  work_.run_all();
  pull(first_, 0);
  shard_->stop({Code::kInterrupted, "end"});
  pass(5s);
  ASSERT_TRUE(shard_->over());
  EXPECT_FALSE(work_.empty());
  disk_.crash_after(0);  // At the next call.
  work_.run_all();
  EXPECT_FALSE(disk_.crashed());
}

TEST_F(ShardRestoreTest, LostWorkerGetsNoAnswer) {
  save(3);
  begin_restoring();
  pull(first_, 0);
  pull(second_, 0);
  second_.break_link();
  step();
  work_.run_all();
  step();
  work_.run_all();
  step();
  EXPECT_THAT(value_at(first_), ElementsAre(3, 3));
  EXPECT_TRUE(second_.data().empty());
}

TEST_F(ShardRestoreTest, PartBeyondTensorIsRefusedAtOnce) {
  save(3);
  begin_restoring();
  ask(first_, {.key = {1, 7}});
  EXPECT_THAT(fault_at(first_).cause(), HasSubstr("part 7 of tensor 1 is not known here"));
}

TEST_F(ShardRestoreTest, UnreadableCheckpointEndsJob) {
  save(3);
  roster_.settings.restored = 7;
  begin_restoring();
  pull(first_, 0);
  EXPECT_TRUE(shard_->status().ok());
  work_.run_all();
  step();
  EXPECT_FALSE(shard_->status().ok());
  EXPECT_THAT(shard_->status().text(), HasSubstr("ckpt-"));
}

}  // namespace
}  // namespace stretto::fake
