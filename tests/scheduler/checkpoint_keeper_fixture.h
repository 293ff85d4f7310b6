// SPDX-License-Identifier: Apache-2.0
// CheckpointKeeperTest: a keeper on a simulated disk, and two shards that write valid files.
#pragma once

#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/checkpoint/checkpoint_keeper.h"
#include "tests/checkpoint/files.h"
#include "tests/sim/sim_disk.h"
#include "tests/sim/sim_network.h"

namespace stretto {

class CheckpointKeeperTest : public testing::Test {
 protected:
  CheckpointKeeperTest() {
    config_.checkpoint.folder = "run";
    folder_.make().or_exit();
    TensorSpec spec{.name = "w", .elements = 4, .options = {}};
    spec.options.update.rule = Rule::kSgd;
    tensors_ = {spec};
  }
  CheckpointKeeper& keeper() {
    if (!keeper_) {
      keeper_.emplace(
          config_, clock_,
          CheckpointKeeper::Files{.disk = &disk_, .work = &work_, .restored = restored_},
          CheckpointKeeper::Ways{
              .tell = [this](NodeId node, const auto& cut) { cuts_[node] = cut; },
              .open = [this](const auto& barrier) { opened_.push_back(barrier); },
              .tell_workers = [this](const auto& ended) { ended_.push_back(ended); },
              .workers = [this] { return workers_; },
              .ask = [this](NodeId node, const auto& said) { asked_[node] = said; },
              .tell_worker = [this](NodeId node, const auto& ended) { told_[node] = ended; },
              .cut = [this](const control::Barrier& barrier,
                            const auto& cut) { journal_[barrier.checkpoint] = cut; },
              .dropped = [this](std::uint64_t attempt) { journal_.erase(attempt); },
              .saved = [this](std::uint64_t, std::uint64_t step) { saved_ = step; },
              .tensors = [this] { return tensors_; }});
    }
    return *keeper_;
  }
  void begin(std::uint64_t barrier = 1, std::uint64_t step = 7) {
    keeper().begin({.number = barrier, .checkpoint = step + 1}, step,
                   {.id = 5, .shards = shards_, .workers = workers_});
  }
  // Each shard has a part of its own.
  control::CheckpointSaved saved(NodeId shard) {
    return saved(shard, {{checkpoint::part_key("w", shard), "bytes"}});
  }
  control::CheckpointSaved saved(NodeId shard, const checkpoint::Contents& contents) {
    const control::CheckpointCut& cut = cuts_.at(shard);
    const std::string name = "server-" + std::to_string(shard) + ".parts";
    const checkpoint::CheckpointId origin{.job = cut.job, .number = cut.number, .step = cut.step};
    const checkpoint::FileDigest seal =
        write_file(disk_, folder_.path_of(cut.number, name), origin, contents).or_exit();
    return {.number = cut.number,
            .file = name,
            .bytes = seal.bytes,
            .seal = seal.checksum,
            .entries = contents.size()};
  }
  // Restarts the job in the same folder.
  void go_on() {
    keeper_.reset();
    go_on_from_newest(config_, disk_, restored_).or_exit();
  }
  // As a user would, with rm -r.
  void remove_checkpoint(std::uint64_t number) {
    const std::string path = folder_.path_of(number);
    for (const std::string& name : disk_.list(path, 100).or_exit()) {
      disk_.remove(path + "/" + name).or_exit();
    }
    disk_.remove(path).or_exit();
  }
  void damage(const std::string& path) {
    const std::unique_ptr<File> file = disk_.open(path, Open::kWrite).or_exit();
    const std::byte wrong{0xa5};
    ASSERT_TRUE(file->write(64, {&wrong, 1}).ok());
  }
  // Restarts the job in a folder of its own, from `source`.
  void go_on_elsewhere(const std::string& source) {
    config_.checkpoint = {.folder = "new", .source = source};
    checkpoint::Folder(disk_, "new").make().or_exit();
    go_on();
  }
  void make(std::uint64_t barrier = 1, std::uint64_t step = 7) {
    begin(barrier, step);
    for (const NodeId shard : shards_) keeper().on_cut(shard, cuts_[shard]);
    for (const NodeId shard : shards_) keeper().on_saved(shard, saved(shard));
  }

  Config config_;
  sim::VirtualClock clock_;
  sim::SimDisk disk_{1};
  checkpoint::InlineDiskExecutor work_;
  checkpoint::Folder folder_{disk_, "run"};
  std::set<NodeId> shards_ = {50, 51};
  std::vector<NodeId> workers_;
  std::vector<TensorSpec> tensors_;
  std::set<std::string> restored_;
  std::optional<CheckpointKeeper> keeper_;
  std::map<NodeId, control::CheckpointCut> cuts_;
  std::map<NodeId, control::AtStep> asked_;
  std::vector<control::Barrier> opened_;
  std::vector<control::CheckpointEnded> ended_;
  std::map<NodeId, control::CheckpointEnded> told_;
  std::map<std::uint64_t, control::CheckpointCut> journal_;  // Attempts in progress.
  std::optional<std::uint64_t> saved_;
};

}  // namespace stretto
