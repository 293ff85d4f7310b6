// SPDX-License-Identifier: Apache-2.0
// Manifests: text and back, and what is refused.
#include "checkpoint/manifest.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/memory/crc32c.h"

namespace stretto::checkpoint {
namespace {

using testing::HasSubstr;

CheckpointManifest example() {
  CheckpointManifest manifest{.origin = {.job = ~std::uint64_t{0}, .number = 12, .step = 500},
                              .made_at = "2026-11-27T15:00:00Z",
                              .release = "0.1.0",
                              .workers = 4,
                              .part_bytes = 1 << 20,
                              .files = {{.name = "server-0.1.parts",
                                         .seal = {.bytes = 4096, .checksum = 0xfedcba98},
                                         .entries = 3}}};
  manifest.tensors.push_back({.name = "plain", .elements = 10, .options = {}});
  TensorSpec adam{.name = "größe/\"w\"", .dtype = Dtype::kBf16, .elements = 7, .options = {}};
  adam.options.update = {
      .rule = Rule::kAdam, .rate = 0.1, .beta2 = 1.0 / 3, .weight_decay = 1e-300};
  adam.options.shape = "7x1";
  adam.options.bulk = true;
  manifest.tensors.push_back(adam);
  TensorSpec coded{.name = "\xff\xfe", .elements = 1, .options = {}};
  coded.options.codec = {.codec = Codec::kDithering,
                         .k = 4,
                         .error_feedback = true,
                         .seed = ~std::uint64_t{0},
                         .levels = DitherLevels::kNatural,
                         .norm = DitherNorm::kL2};
  manifest.tensors.push_back(coded);
  TensorSpec quorum{.name = "quorum", .elements = 5, .options = {}};
  quorum.options.exchange = Exchange::kDirect;
  quorum.options.close = {.quorum = 2, .late = Late::kOwn};
  manifest.tensors.push_back(quorum);
  TensorSpec bounded{.name = "bounded", .elements = 0, .options = {}};
  bounded.options.mode = Mode::kBounded;
  bounded.options.bound = 3;
  manifest.tensors.push_back(bounded);
  for (TensorSpec& spec : manifest.tensors) spec = canonical(spec);
  return manifest;
}

// With a right first line.
std::string sealed(std::string_view body) {
  return fmt::format("stretto checkpoint 1 crc32c {:08x}\n{}",
                     crc32c(std::as_bytes(std::span(body))), body);
}

std::string refusal(std::string_view text) {
  const Result<CheckpointManifest> manifest = decode_manifest(text, "DIR/MANIFEST");
  return manifest.ok() ? "" : manifest.status().cause();
}

TEST(CheckpointManifest, ManifestRoundTrips) {
  const CheckpointManifest manifest = example();
  EXPECT_EQ(decode_manifest(encode(manifest), "m").or_exit(), manifest);
}

TEST(CheckpointManifest, NoFlippedBitAndNoCutIsRead) {
  const std::string right = encode(example());
  for (std::size_t at = 0; at < right.size(); ++at) {
    std::string wrong = right;
    wrong[at] = static_cast<char>(wrong[at] ^ 1);
    EXPECT_NE(refusal(wrong), "") << "byte " << at;
    EXPECT_NE(refusal(right.substr(0, at)), "") << at << " bytes";
  }
}

TEST(CheckpointManifest, ALaterFormatIsSaidToBeOne) {
  const Result<CheckpointManifest> later =
      decode_manifest("stretto checkpoint 2 crc32c 00000000\n{}", "m");
  EXPECT_EQ(later.status().code(), Code::kUnsupported);
}

TEST(CheckpointManifest, RejectsInvalidManifest) {
  EXPECT_THAT(refusal(""), HasSubstr("'DIR/MANIFEST' is no manifest"));
  EXPECT_THAT(refusal("x\n"), HasSubstr("does not begin as one"));
  EXPECT_THAT(refusal("stretto checkpoint 1 crc32c z\n"), HasSubstr("first line"));
  EXPECT_THAT(refusal(sealed("")), HasSubstr("missing"));
  EXPECT_THAT(refusal(sealed("[1]")), HasSubstr("missing"));
  EXPECT_THAT(refusal(sealed("{}")), HasSubstr("missing"));
  EXPECT_THAT(refusal(sealed(std::string(100000, '['))), HasSubstr("missing"));
}

TEST(CheckpointManifest, AFieldOfAnotherTypeOrRangeIsRefused) {
  const std::string right = encode(example());
  const std::string body = right.substr(right.find('\n') + 1);
  ASSERT_EQ(refusal(sealed(body)), "");
  const auto with = [&body](const std::string& from, const std::string& to) {
    std::string changed = body;
    const std::size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return refusal(sealed(changed.replace(at, from.size(), to)));
  };
  EXPECT_NE(with("\"number\": 12", "\"number\": -12"), "");
  EXPECT_NE(with("\"number\": 12", "\"number\": 1.5"), "");
  EXPECT_NE(with("\"number\": 12", "\"number\": \"12\""), "");
  EXPECT_NE(with("\"workers\": 4", "\"workers\": 4294967296"), "");
  EXPECT_NE(with("\"part_bytes\": 1048576", "\"part_bytes\": 0"), "");
  EXPECT_NE(with("server-0.1.parts", "../server-0.1.parts"), "");
  EXPECT_NE(with("server-0.1.parts", "/etc/passwd"), "");
  EXPECT_NE(with("server-0.1.parts", ".."), "");
  EXPECT_NE(with("fedcba98", "1fedcba98"), "");
  EXPECT_NE(with("\"plain\"", "\"quorum\""), "") << "twice";
  EXPECT_NE(with("\"adam\"", "\"adem\""), "");
  EXPECT_NE(with("\"elements\": 10", "\"elements\": 18446744073709551615"), "");
  EXPECT_NE(with("fffe", "ffz"), "");
}

}  // namespace
}  // namespace stretto::checkpoint
