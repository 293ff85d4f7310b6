// SPDX-License-Identifier: Apache-2.0
// Who writes which bytes of what is attached, and how they are found again.
#include "checkpoint/attachments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "tests/checkpoint/files.h"
#include "tests/sim/random.h"
#include "tests/sim/sim_disk.h"

namespace stretto::checkpoint {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr CheckpointId kMade{.job = 5, .number = 1, .step = 7};

class AttachedTest : public testing::Test {
 protected:
  AttachedTest() {
    folder_.make().or_exit();
    EXPECT_EQ(folder_.begin().or_exit(), 1U);
  }
  Attachment attachment(const std::string& name, std::size_t bytes, Held held) {
    std::vector<std::byte>& memory = memory_.emplace_back(bytes);
    for (std::byte& each : memory) each = static_cast<std::byte>(random_.below(256));
    return {.name = name, .bytes = memory, .held = held};
  }
  // All of these workers write; the checkpoint is complete.
  void write(std::span<const Attachment> attachments, std::uint32_t workers, bool striped = true) {
    CheckpointManifest manifest{.origin = kMade, .workers = workers, .part_bytes = 64};
    for (std::uint32_t position = 0; position < workers; ++position) {
      const WrittenFile file =
          write_pieces(folder_, kMade, position,
                       pieces_to_write(attachments,
                                       {.position = position, .of = workers, .striped = striped}))
              .or_exit();
      if (file.name.empty()) continue;
      manifest.files.push_back({.name = file.name, .seal = file.seal, .entries = file.entries});
    }
    folder_.commit(manifest).or_exit();
  }
  static std::vector<std::byte> bytes_of(AttachedReader& reader, const std::string& name,
                                         std::int64_t rank) {
    const std::size_t index = reader.find(name, rank).value();
    std::vector<std::byte> bytes(reader.all()[index].bytes);
    EXPECT_TRUE(reader.read(index, bytes).ok());
    return bytes;
  }
  static std::vector<std::byte> copy(std::span<const std::byte> bytes) {
    return {bytes.begin(), bytes.end()};
  }

  sim::Random random_{1};
  sim::SimDisk disk_{1};
  Folder folder_{disk_, "run"};
  std::deque<std::vector<std::byte>> memory_;
};

TEST_F(AttachedTest, StripesCoverAttachmentsForAnyWorkerCount) {
  for (int round = 0; round < 200; ++round) {
    std::vector<Attachment> attachments;
    const std::uint64_t count = random_.below(6);
    for (std::uint64_t i = 0; i < count; ++i) {
      attachments.push_back(
          attachment(std::to_string(i), random_.below(40),
                     random_.chance(0.7) ? Held::kAlike : static_cast<Held>(random_.below(3))));
    }
    const auto workers = static_cast<std::uint32_t>(1 + random_.below(9));
    std::map<EntryKey, AttachmentRange> pieces;
    std::uint64_t least = ~std::uint64_t{0};
    std::uint64_t most = 0;
    for (std::uint32_t position = 0; position < workers; ++position) {
      std::uint64_t stripe = 0;
      for (const AttachmentRange& piece :
           pieces_of(attachments, {.position = position, .of = workers})) {
        EXPECT_TRUE(pieces.emplace(piece.key, piece).second) << describe(piece.key);
        if (attachments[piece.item].held == Held::kAlike) stripe += piece.bytes;
      }
      least = std::min(least, stripe);
      most = std::max(most, stripe);
    }
    EXPECT_LE(most, least + 1) << "each has an equal share";
    for (const Attachment& each : attachments) {
      const bool own = each.held == Held::kByEach;
      std::uint64_t end = 0;
      std::uint32_t part = 0;
      for (const auto& [key, piece] : pieces) {
        if (key.name != each.name || own) continue;
        EXPECT_EQ(key.part, part++);
        EXPECT_EQ(piece.first, end);
        end += piece.bytes;
      }
      EXPECT_EQ(end, own ? 0 : each.bytes.size());
      const auto of_each = std::ranges::count_if(
          pieces, [&](const auto& piece) { return piece.first.name == each.name; });
      EXPECT_GE(of_each, own ? workers : 1);
    }
  }
}

TEST_F(AttachedTest, AreFoundByNameAndRank) {
  const std::vector<Attachment> attachments = {attachment("model", 100, Held::kAlike),
                                               attachment("mine", 10, Held::kByEach),
                                               attachment("mean", 10, Held::kByFirst)};
  write(attachments, 3);
  AttachedReader reader = AttachedReader::open(folder_, 1).or_exit();
  EXPECT_EQ(reader.all().size(), 5U);
  EXPECT_EQ(bytes_of(reader, "model", -1), copy(attachments[0].bytes));
  EXPECT_EQ(bytes_of(reader, "mine", 2), copy(attachments[1].bytes));
  EXPECT_EQ(bytes_of(reader, "mean", -1), copy(attachments[2].bytes));
  EXPECT_FALSE(reader.find("mine", 3));
  EXPECT_FALSE(reader.find("mine", -1));
}

TEST_F(AttachedTest, FirstWorkerWritesUnstripedAttachments) {
  const std::vector<Attachment> attachments = {attachment("model", 100, Held::kAlike),
                                               attachment("bias", 7, Held::kAlike)};
  write(attachments, 3, false);
  AttachedReader reader = AttachedReader::open(folder_, 1).or_exit();
  EXPECT_EQ(bytes_of(reader, "model", -1), copy(attachments[0].bytes));
  EXPECT_EQ(bytes_of(reader, "bias", -1), copy(attachments[1].bytes));
  EXPECT_THAT(folder_.open(1).or_exit().files, testing::SizeIs(1));
}

TEST_F(AttachedTest, WritingEndsWhenItIsToldTo) {
  const std::vector<Attachment> attachments = {attachment("a", 9, Held::kByEach),
                                               attachment("b", 9, Held::kByEach)};
  int asked = 0;
  const Result<WrittenFile> file = write_pieces(folder_, kMade, 0, pieces_to_write(attachments, {}),
                                                [&asked] { return ++asked < 2; });
  EXPECT_EQ(file.status().code(), Code::kCancelled);
}

TEST_F(AttachedTest, DigestCoversOnlyReplicatedAttachments) {
  const Attachment model = attachment("model", 100, Held::kAlike);
  const Attachment other = attachment("model", 100, Held::kAlike);
  const Attachment own = attachment("own", 100, Held::kByEach);
  const auto digest = [](std::vector<Attachment> all) { return digest_of_alike(all); };
  EXPECT_EQ(digest({own}), 0U);
  EXPECT_NE(digest({model}), 0U);
  EXPECT_EQ(digest({model}), digest({own, model}));
  EXPECT_NE(digest({model}), digest({other}));
  Attachment renamed = model;
  renamed.name = "mobel";
  EXPECT_NE(digest({model}), digest({renamed}));
}

TEST_F(AttachedTest, StripesThatLackOrDisagreeAreMalformed) {
  const auto open = [this](const SavedEntry& entry, const SavedEntry& next) {
    CheckpointManifest manifest{.origin = kMade, .part_bytes = 64};
    for (const auto& [name, each] :
         {std::pair("worker-0.parts", entry), {"worker-1.parts", next}}) {
      PartsWriter writer = folder_.write(manifest.origin, name).or_exit();
      const std::byte bytes[4] = {};
      writer.add(each, {bytes}).or_exit();
      manifest.files.push_back({.name = name, .seal = writer.finish().or_exit(), .entries = 1});
    }
    folder_.commit(manifest).or_exit();
    const Result<AttachedReader> reader = AttachedReader::open(folder_, manifest.origin.number);
    folder_.abandon(1).or_exit();
    folder_.begin().or_exit();
    return reader.status();
  };
  const auto stripe = [](std::uint32_t part, std::uint64_t total) {
    return SavedEntry{.key = {.kind = Kind::kAttached, .name = "model", .part = part},
                      .total = total};
  };
  EXPECT_TRUE(open(stripe(0, 8), stripe(1, 8)).ok());
  EXPECT_EQ(open(stripe(0, 12), stripe(1, 12)).code(), Code::kMalformed) << "one lacks";
  EXPECT_EQ(open(stripe(0, 8), stripe(2, 8)).code(), Code::kMalformed) << "one between lacks";
  EXPECT_EQ(open(stripe(0, 8), stripe(1, 9)).code(), Code::kMalformed) << "they disagree";
  EXPECT_EQ(open(stripe(0, 0), stripe(1, 0)).code(), Code::kMalformed) << "they say no total";
  EXPECT_THAT(open(stripe(0, 8), stripe(0, 8)).cause(), HasSubstr("twice"));
}

TEST_F(AttachedTest, NamesThatCannotBeAreRefused) {
  const Attachment model = attachment("model", 8, Held::kAlike);
  const Attachment own = attachment("model", 8, Held::kByEach);
  const auto check = [](std::vector<Attachment> all) { return check_attachments(all); };
  EXPECT_TRUE(check({model, own}).ok()) << "one is of all, one each worker's";
  EXPECT_EQ(check({model, model}).code(), Code::kInvalidArgument);
  const auto shaped = [&](const std::string& shape) {
    Attachment floats = model;
    floats.dtype = Dtype::kF32;
    floats.shape = shape;
    return check({floats}).ok();
  };
  EXPECT_TRUE(shaped("2"));
  EXPECT_TRUE(shaped("1x2x1"));
  for (const char* wrong :
       {"3", "2x", "x2", "2x1x", "0x2", "2 x1", "-2", "two", "2x18446744073709551615"}) {
    EXPECT_FALSE(shaped(wrong)) << wrong;
  }
  EXPECT_EQ(check({attachment(std::string(1101, 'x'), 1, Held::kAlike)}).code(),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace stretto::checkpoint
