// SPDX-License-Identifier: Apache-2.0
// Checkpoints of jobs over real links and files: a job of another size resumes bit-identically.
#include "stretto/checkpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "checkpoint/checkpoint_store.h"
#include "tests/worker/live_cluster.h"

namespace stretto {
namespace {

using live::Cluster;
using testing::HasSubstr;
using Floats = std::vector<float>;

constexpr std::size_t kKept = 40'000;

struct Kind {
  const char* name;
  TensorOptions options;
};

std::vector<Kind> kinds() {
  const auto rule = [](Rule which, Mode mode) {
    return TensorOptions{
        .mode = mode, .update = {.rule = which, .rate = 0.1}, .deterministic = has_rounds(mode)};
  };
  return {{"sgd", rule(Rule::kSgd, Mode::kSync)},
          {"momentum", rule(Rule::kMomentum, Mode::kSync)},
          {"adam", rule(Rule::kAdam, Mode::kSync)},
          {"adagrad", rule(Rule::kAdagrad, Mode::kSync)},
          {"sums", rule(Rule::kSum, Mode::kEager)}};
}

Floats gradient(Rank rank, std::uint32_t workers, int step) {
  Floats made(kKept, 0);
  // A single worker contributes as rank 0 of two would: the mean and the sum differ.
  for (std::size_t i = 0; i < kKept; ++i) {
    made[i] =
        static_cast<float>((i * 7 + rank * workers + static_cast<std::size_t>(step)) % 13) - 6;
  }
  return made;
}

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest()
      : folder_(testing::TempDir() + "stretto-checkpoints-" + std::to_string(::getpid())) {
    std::filesystem::remove_all(folder_);
  }
  ~CheckpointTest() override { std::filesystem::remove_all(folder_); }

  live::Plan plan(std::uint32_t shards, bool resumes = true) const {
    return {.shards = shards, .checkpoint = {.folder = folder_, .resumes = resumes}};
  }

  std::string folder_;
};

// Runs steps `first` to `end` - 1 of all kinds; returns the values after them.
std::vector<Floats> train(Worker& worker, int first, int end) {
  std::vector<Floats> values;
  for (const Kind& kind : kinds()) {
    const Tensor tensor = worker.declare(kind.name, Dtype::kF32, kKept, kind.options).or_exit();
    Floats& value = values.emplace_back(kKept);
    for (int step = first; step < end; ++step) {
      const Floats mine = gradient(worker.rank(), worker.size(), step);
      EXPECT_TRUE(worker.push_pull(tensor, mine, value).wait().ok());
    }
    EXPECT_TRUE(worker.pull(tensor, value).wait().ok());
  }
  return values;
}

TEST_F(CheckpointTest, JobWithMoreShardsResumesExactly) {
  std::vector<Floats> undisturbed;
  Cluster(plan(2)).run([&](Worker& worker) {
    EXPECT_FALSE(Checkpoints(worker).restored());
    (void)train(worker, 0, 3);
    const Status made = Checkpoints(worker).save(3);
    ASSERT_TRUE(made.ok()) << made.text();
    std::vector<Floats> values = train(worker, 3, 6);
    if (worker.rank() == 0) undisturbed = std::move(values);
  });
  Cluster(plan(3)).run([&](Worker& worker) {
    EXPECT_EQ(Checkpoints(worker).restored().number, 1U);
    EXPECT_EQ(Checkpoints(worker).restored().step, 3U);
    const std::vector<Floats> values = train(worker, 3, 6);
    EXPECT_TRUE(values == undisturbed);
  });
}

TEST_F(CheckpointTest, CheckpointExcludesUpdatesAfterCut) {
  std::vector<Floats> at_the_cut;
  Cluster(plan(1)).run([&](Worker& worker) {
    std::vector<Floats> values = train(worker, 0, 2);
    if (worker.rank() == 0) at_the_cut = std::move(values);
    ASSERT_TRUE(Checkpoints(worker).save(0).ok());
    (void)train(worker, 2, 8);
    ASSERT_TRUE(worker.barrier().ok());
  });
  live::Plan alone = plan(1);
  alone.workers = 1;
  Cluster(alone).run([&](Worker& worker) {
    EXPECT_TRUE(train(worker, 0, 0) == at_the_cut) << "two made it, and one goes on";
  });
}

TEST_F(CheckpointTest, TheNewestTwoStay) {
  Cluster(plan(1)).run([&](Worker& worker) {
    for (int i = 0; i < 4; ++i) {
      (void)train(worker, i, i + 1);
      ASSERT_TRUE(Checkpoints(worker).save(0).ok());
    }
  });
  RealDisk disk;
  checkpoint::Folder folder(disk, folder_);
  EXPECT_THAT(folder.numbers().or_exit(), testing::ElementsAre(3U, 4U));
  Cluster(plan(2)).run(
      [](Worker& worker) { EXPECT_EQ(Checkpoints(worker).restored().number, 4U); });
  Cluster(plan(2, false)).run([](Worker& worker) { EXPECT_FALSE(Checkpoints(worker).restored()); });
}

// A worker's attachments: bytes of its own, and a replicated model.
struct Holdings {
  Holdings(Rank rank, std::uint64_t step) : own(1000 + rank), model(kKept), first(3) {
    for (std::size_t i = 0; i < own.size(); ++i) own[i] = static_cast<std::byte>(rank + i + step);
    for (std::size_t i = 0; i < kKept; ++i) model[i] = static_cast<float>(i * step);
    first[1] = static_cast<float>(rank);  // Like statistics that differ between workers.
  }
  std::vector<Attachment> attachments() const {
    return {{.name = "random state", .bytes = own, .held = Held::kByEach},
            {.name = "nothing", .bytes = {}, .held = Held::kAlike},
            {.name = "model",
             .bytes = std::as_bytes(std::span(model)),
             .held = Held::kAlike,
             .dtype = Dtype::kF32,
             .shape = "200x200"},
            {.name = "mean", .bytes = std::as_bytes(std::span(first)), .held = Held::kByFirst}};
  }
  std::vector<std::byte> own;
  Floats model;
  Floats first;
};

Floats floats_of(const std::vector<std::byte>& bytes) {
  Floats values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST_F(CheckpointTest, AttachmentsBelongToSameCut) {
  live::Plan three = plan(1);
  three.workers = 3;
  Cluster(three).run([&](Worker& worker) {
    EXPECT_TRUE(Checkpoints(worker).attached().or_exit().empty());
    (void)train(worker, 0, 1);
    const Holdings mine(worker.rank(), 4);
    const Status made = Checkpoints(worker).save(4, mine.attachments());
    ASSERT_TRUE(made.ok()) << made.text();
  });
  three.workers = 4;
  three.shards = 2;
  Cluster(three).run([&](Worker& worker) {
    const Checkpoints checkpoints(worker);
    EXPECT_EQ(checkpoints.restored().step, 4U);
    const Holdings saved(worker.rank(), 4);
    EXPECT_EQ(floats_of(checkpoints.read("model").or_exit()), saved.model);
    EXPECT_EQ(floats_of(checkpoints.read("mean").or_exit()), Holdings(0, 4).first);
    EXPECT_TRUE(checkpoints.read("nothing").or_exit().empty());
    const Result<std::vector<std::byte>> own = checkpoints.read("random state");
    EXPECT_EQ(own.ok(), worker.rank() < 3) << "there were three";
    if (own.ok()) {
      EXPECT_EQ(*own, saved.own);
    } else {
      EXPECT_EQ(own.status().code(), Code::kInvalidArgument);
    }
    const std::vector<Attached> all = checkpoints.attached().or_exit();
    ASSERT_EQ(all.size(), 6U);
    EXPECT_EQ(all[1].name, "model");
    EXPECT_EQ(all[1].rank, -1);
    EXPECT_EQ(all[1].dtype, Dtype::kF32);
    EXPECT_EQ(all[1].shape, "200x200");
    EXPECT_EQ(checkpoints.read(all[1], {}).code(), Code::kInvalidArgument) << "no room";
  });
}

TEST_F(CheckpointTest, ServerlessJobSavesAttachments) {
  live::Plan none = plan(0);
  Cluster(none).run([&](Worker& worker) {
    EXPECT_EQ(Checkpoints(worker).save(1).code(), Code::kInvalidArgument) << "nothing is given";
    const Holdings mine(worker.rank(), 2);
    ASSERT_TRUE(Checkpoints(worker).save(2, mine.attachments()).ok());
  });
  Cluster(none).run([&](Worker& worker) {
    EXPECT_EQ(Checkpoints(worker).restored().step, 2U);
    EXPECT_EQ(Checkpoints(worker).read("random state").or_exit(), Holdings(worker.rank(), 2).own);
    EXPECT_EQ(floats_of(Checkpoints(worker).read("model").or_exit()), Holdings(0, 2).model);
  });
}

TEST_F(CheckpointTest, DifferingAttachmentIsFromFirstWorker) {
  Cluster(plan(1)).run([&](Worker& worker) {
    const Holdings mine(worker.rank(), worker.rank() + 5);
    ASSERT_TRUE(Checkpoints(worker).save(1, mine.attachments()).ok());
  });
  Cluster(plan(1)).run([&](Worker& worker) {
    EXPECT_EQ(floats_of(Checkpoints(worker).read("model").or_exit()), Holdings(0, 5).model);
    EXPECT_EQ(Checkpoints(worker).read("random state").or_exit(),
              Holdings(worker.rank(), worker.rank() + 5).own);
  });
}

TEST_F(CheckpointTest, FailedWorkerWriteFailsCheckpointOnly) {
  Cluster cluster(plan(1));
  cluster.run([&](Worker& worker) {
    const Holdings mine(worker.rank(), 1);
    ASSERT_TRUE(Checkpoints(worker).save(1, mine.attachments()).ok());
  });
  Cluster again(plan(1));
  std::vector<std::jthread> workers;
  for (const Rank rank : {0U, 1U}) {
    workers.emplace_back([&, rank] {
      Options options = again.options(rank);
      if (rank == 1) options.checkpoint = folder_ + "/elsewhere";
      Worker worker = Worker::join(options).or_exit();
      const Holdings mine(worker.rank(), 1);
      const Status made = Checkpoints(worker).save(2, mine.attachments());
      EXPECT_THAT(made.text(), HasSubstr("elsewhere")) << "both hear why";
      EXPECT_EQ(Checkpoints(worker).read("mean").ok(), rank == 0);
      const Status without =
          Checkpoints(worker).save(3, rank == 0 ? mine.attachments() : std::vector<Attachment>());
      EXPECT_TRUE(without.ok()) << without.text();
    });
  }
}

TEST_F(CheckpointTest, InvalidAttachmentIsRefusedAtOnce) {
  Cluster(plan(1)).run([](Worker& worker) {
    const std::byte bytes[6] = {};
    Checkpoints checkpoints(worker);
    const auto refused = [&](std::vector<Attachment> attachments) {
      const Status made = checkpoints.save(1, attachments);
      EXPECT_EQ(made.code(), Code::kInvalidArgument);
      return made.text();
    };
    EXPECT_THAT(refused({{.name = "", .bytes = bytes}}), HasSubstr("wanted 1 to 1100"));
    EXPECT_THAT(refused({{.name = "a", .bytes = bytes}, {.name = "a", .bytes = bytes}}),
                HasSubstr("'a' is attached twice"));
    EXPECT_THAT(refused({{.name = "a", .bytes = bytes, .dtype = Dtype::kF32}}),
                HasSubstr("no whole number of elements of 4"));
  });
}

TEST_F(CheckpointTest, BegunCheckpointKeepsItsCut) {
  std::vector<Floats> at_the_cut;
  Cluster(plan(1)).run([&](Worker& worker) {
    std::vector<Floats> values = train(worker, 0, 2);
    if (worker.rank() == 0) at_the_cut = std::move(values);
    Holdings mine(worker.rank(), 4);
    const CheckpointTicket ticket = Checkpoints(worker).begin(4, mine.attachments());
    std::ranges::fill(mine.model, -1.0F);
    std::ranges::fill(mine.own, std::byte{0xff});
    (void)train(worker, 2, 6);
    const Status made = ticket.wait();
    ASSERT_TRUE(made.ok()) << made.text();
    EXPECT_TRUE(ticket.done());
    EXPECT_EQ(Checkpoints(worker).begin(4, {{{.name = "", .bytes = {}}}}).wait().code(),
              Code::kInvalidArgument);
  });
  Cluster(plan(2)).run([&](Worker& worker) {
    const Checkpoints checkpoints(worker);
    EXPECT_EQ(checkpoints.restored().step, 4U);
    EXPECT_EQ(floats_of(checkpoints.read("model").or_exit()), Holdings(0, 4).model);
    EXPECT_EQ(checkpoints.read("random state").or_exit(), Holdings(worker.rank(), 4).own);
    EXPECT_TRUE(train(worker, 0, 0) == at_the_cut);
  });
}

TEST_F(CheckpointTest, LeaveWaitsForCheckpointWrite) {
  std::array<CheckpointTicket, 2> tickets;
  Cluster(plan(1)).run([&](Worker& worker) {
    const Holdings mine(worker.rank(), 4);
    tickets[worker.rank()] = Checkpoints(worker).begin(4, mine.attachments());
    EXPECT_TRUE(worker.leave().ok());
    EXPECT_TRUE(tickets[worker.rank()].done());
  });
  for (const CheckpointTicket& ticket : tickets) EXPECT_TRUE(ticket.wait().ok());
  EXPECT_TRUE(CheckpointTicket().wait().ok());
}

TEST_F(CheckpointTest, ByTheClockAllMakeItAtTheSameStep) {
  live::Plan plan = this->plan(1);
  plan.checkpoint.every = 50ms;
  std::array<std::vector<std::uint64_t>, 2> made;
  Cluster(plan).run([&](Worker& worker) {
    const Rank rank = worker.rank();
    Checkpoints checkpoints(worker);
    const Holdings mine(rank, 1);
    // Each at its own pace, until four are made.
    for (std::uint64_t step = 1; made[rank].size() < 4; ++step) {
      if (!checkpoints.due(step).or_exit()) continue;
      const Status saved = checkpoints.save(step, mine.attachments());
      ASSERT_TRUE(saved.ok()) << saved.text();
      made[rank].push_back(step);
    }
  });
  EXPECT_EQ(made[0], made[1]);
  Cluster(plan).run(
      [&](Worker& worker) { EXPECT_EQ(Checkpoints(worker).restored().step, made[0].back()); });
}

TEST_F(CheckpointTest, AJobWithoutAFolderSaysSo) {
  Cluster cluster;
  cluster.run([](Worker& worker) {
    const Status made = Checkpoints(worker).save(0);
    EXPECT_EQ(made.code(), Code::kUnsupported);
    EXPECT_THAT(made.text(), HasSubstr("--checkpoint DIR"));
    EXPECT_FALSE(Checkpoints(worker).due(1).or_exit());
    EXPECT_TRUE(worker.barrier().ok());
  });
}

TEST_F(CheckpointTest, AllMustMakeIt) {
  // The second worker makes another call; the first one waits until the second has left.
  const auto apart = [this](const std::function<Status(Worker&)>& call) {
    std::atomic<int> mismatches{0};
    Cluster cluster(plan(1));
    cluster.run([&](Worker& worker) {
      const Status status = call(worker);
      if (status.code() == Code::kMismatch) ++mismatches;
      EXPECT_TRUE(status.code() == Code::kMismatch || status.code() == Code::kPeerLost)
          << status.text();
    });
    EXPECT_EQ(mismatches, 1);
  };
  apart([](Worker& worker) {
    return worker.rank() == 0 ? Checkpoints(worker).save(0) : worker.barrier();
  });
  apart([](Worker& worker) { return Checkpoints(worker).save(worker.rank()); });
}

TEST_F(CheckpointTest, RestoredTensorsAreFlaggedAndNotStale) {
  Cluster(plan(1)).run([&](Worker& worker) {
    (void)train(worker, 0, 5);
    ASSERT_TRUE(Checkpoints(worker).save(0).ok());
  });
  Cluster(plan(1)).run([&](Worker& worker) {
    const TensorOptions adam = kinds()[2].options;
    const Tensor old = worker.declare("adam", Dtype::kF32, kKept, adam).or_exit();
    const Tensor fresh = worker.declare("fresh", Dtype::kF32, kKept, adam).or_exit();
    EXPECT_TRUE(old.restored);
    EXPECT_FALSE(fresh.restored);
    EXPECT_TRUE(worker.declare("adam", Dtype::kF32, kKept, adam).or_exit().restored);
    Floats value(kKept);
    const Floats mine = gradient(worker.rank(), 2, 5);
    const Ticket ticket = worker.push_pull(old, mine, value);
    ASSERT_TRUE(ticket.wait().ok());
    EXPECT_EQ(ticket.info().version, 6U);
    EXPECT_EQ(ticket.info().staleness, 0U);
  });
}

TEST_F(CheckpointTest, UnwritableFolderFailsCheckpointOnly) {
  Cluster cluster(plan(1));
  cluster.run([&](Worker& worker) {
    (void)train(worker, 0, 1);
    ASSERT_TRUE(worker.barrier().ok());
    if (worker.rank() == 0) std::filesystem::remove_all(folder_);
    ASSERT_TRUE(worker.barrier().ok());
    const Status made = Checkpoints(worker).save(0);
    EXPECT_EQ(made.code(), Code::kInvalidArgument) << made.text();
    EXPECT_THAT(made.text(), HasSubstr(folder_));
    (void)train(worker, 1, 2);
  });
}

TEST_F(CheckpointTest, AnotherTensorOfThatNameIsRefused) {
  Cluster(plan(1)).run([&](Worker& worker) {
    (void)train(worker, 0, 1);
    ASSERT_TRUE(Checkpoints(worker).save(0).ok());
  });
  Cluster(plan(1)).run([&](Worker& worker) {
    const Tensor tensor =
        worker
            .declare("adam", Dtype::kF32, kKept, {.update = {.rule = Rule::kMomentum, .rate = 0.1}})
            .or_exit();
    Floats value(kKept);
    const Status status = worker.push_pull(tensor, gradient(worker.rank(), 2, 0), value).wait();
    EXPECT_EQ(status.code(), Code::kMismatch);
    EXPECT_THAT(status.text(), HasSubstr("in the checkpoint that the job goes on from"));
  });
}

TEST_F(CheckpointTest, ADamagedOneIsPassedOver) {
  std::vector<Floats> first;
  Cluster(plan(1)).run([&](Worker& worker) {
    std::vector<Floats> values = train(worker, 0, 1);
    if (worker.rank() == 0) first = std::move(values);
    ASSERT_TRUE(Checkpoints(worker).save(0).ok());
    (void)train(worker, 1, 2);
    ASSERT_TRUE(Checkpoints(worker).save(0).ok());
  });
  std::fstream file(std::filesystem::path(folder_) / "ckpt-2" / "server-0.0.parts",
                    std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(5000);
  file.put('x');
  file.close();
  Cluster(plan(1)).run([&](Worker& worker) {
    EXPECT_EQ(Checkpoints(worker).restored().number, 1U);
    EXPECT_TRUE(train(worker, 0, 0) == first);
  });
}

}  // namespace
}  // namespace stretto
