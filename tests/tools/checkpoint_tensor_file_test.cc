// SPDX-License-Identifier: Apache-2.0
// Shapes, names, and heads of exported files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tools/checkpoint/tensor_file.h"

namespace stretto::checkpoint {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

std::vector<std::uint64_t> shape(const std::string& text, std::uint64_t elements = 6) {
  return shape_of({"w", Dtype::kF32, elements, {.shape = text}});
}

TEST(ExportedShape, IsTheTensorsOwnWhereItHasOne) {
  EXPECT_THAT(shape("2x3"), ElementsAre(2, 3));
  EXPECT_THAT(shape("2x3 complex64"), ElementsAre(2, 3));
  EXPECT_THAT(shape("bool 2x3"), ElementsAre(2, 3));
  EXPECT_THAT(shape("1", 1), ElementsAre(1));
  EXPECT_THAT(shape("5x0", 0), ElementsAre(5, 0));
  EXPECT_THAT(shape("", 0), ElementsAre(0));
}

TEST(ExportedShape, IsOneDimensionWhereItHasNone) {
  for (const std::string text : {"", " ", "2x2", "2x3x", "x2x3", "2x-3", "2x 3", "-2x-3",
                                 "3 dimensions 0123", "0x6", "2.0x3", "99999999999999999999x1",
                                 "6x0", "4294967296x4294967296x6", "2x9223372036854775811"}) {
    EXPECT_THAT(shape(text), ElementsAre(6)) << text;
  }
  std::string ones = "6";
  for (int i = 0; i < 31; ++i) ones += "x1";
  EXPECT_THAT(shape(ones), SizeIs(32));
  EXPECT_THAT(shape(ones + "x1"), ElementsAre(6)) << "numpy takes no more";
}

TEST(ExportedShape, FitsAnyDimensionsOfSameElementCount) {
  EXPECT_TRUE(shape_fits("", 6));
  EXPECT_TRUE(shape_fits("2x3", 6));
  EXPECT_TRUE(shape_fits("bool 2x3", 6));
  EXPECT_TRUE(shape_fits("0x0", 0));
  std::string ones = "6";
  for (int i = 0; i < 40; ++i) ones += "x1";
  EXPECT_TRUE(shape_fits(ones, 6));
  for (const std::string text : {"0x0", "x", "2x2", " ", "4294967296x4294967296x6"}) {
    EXPECT_FALSE(shape_fits(text, 6)) << text;
  }
}

TEST(NpyNames, LeadNowhereElse) {
  EXPECT_EQ(percent_encoded("fc1.weight"), "fc1.weight");
  EXPECT_EQ(percent_encoded("."), "%2E");
  EXPECT_EQ(percent_encoded(".."), "%2E.");
  EXPECT_EQ(percent_encoded("../a"), "%2E.%2Fa");
  EXPECT_EQ(percent_encoded(std::string("a\0b\xff~", 5)), "a%00b%FF%7E");
  EXPECT_EQ(percent_encoded("100%"), "100%25");
}

TEST(NpyNames, AreDifferentAndNotTooLong) {
  std::vector<std::string> tensors = {"a", "a.npy", "%61", "registry.json"};
  for (const char last : {'1', '2', '/'}) {
    for (const std::size_t length : {66U, 67U, 199U, 200U, 201U, 1023U}) {
      tensors.push_back(std::string(length, 'n') + last);
      tensors.push_back(std::string(length, '\xff') + last);
    }
  }
  const std::vector<std::string> names = npy_names({tensors.begin(), tensors.end()});
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), tensors.size());
  for (const std::string& name : names) {
    EXPECT_LT(name.size(), 256U);
    EXPECT_THAT(name, EndsWith(".npy"));
  }
  EXPECT_EQ(names[1], "a.npy.npy");
}

TEST(SafetensorsKeys, AreNamesWhereJsonCanHaveThem) {
  EXPECT_THAT(safetensors_keys({"w", "__metadata__", "\xff", "%%FF", "\xc3\xa9", "%%2E"}),
              ElementsAre("w", "%__metadata__", "%%FF~1", "%%FF", "\xc3\xa9", "%%2E"));
}

TEST(SafetensorsHead, IsAsPublished) {
  const std::string head =
      safetensors_head(
          {{.key = "a\"b", .dtype = Dtype::kBf16, .shape = {2, 3}, .begin = 8, .end = 20}},
          {{"step", "7"}})
          .or_exit();
  EXPECT_EQ(head.size() % 8, 0U);
  EXPECT_THAT(
      head, StartsWith(std::string{static_cast<char>(head.size() - 8), 0, 0, 0, 0, 0, 0, 0, '{'}));
  EXPECT_THAT(head, HasSubstr(R"("__metadata__":{"step":"7"})"));
  EXPECT_THAT(head, HasSubstr(R"("a\"b":{"data_offsets":[8,20],"dtype":"BF16","shape":[2,3]})"));
}

TEST(SafetensorsHead, IsNotLongerThanReadersTake) {
  const std::vector<SafetensorsItem> items(
      100, {.key = "", .dtype = Dtype::kF32, .shape = {1}, .begin = 0, .end = 4});
  std::vector<SafetensorsItem> long_ones = items;
  for (std::size_t i = 0; i < long_ones.size(); ++i) {
    long_ones[i].key = std::to_string(i) + std::string(1'000'000, 'k');
  }
  EXPECT_THAT(safetensors_head(long_ones, {}).status().cause(), HasSubstr("use --format npy"));
}

TEST(NpyHead, HeaderIsAlignedAndDescribesArray) {
  for (const auto& sizes : std::vector<std::vector<std::uint64_t>>{
           {0}, {7}, {3, 7}, std::vector<std::uint64_t>(32, 12345)}) {
    const std::string head = npy_head(Dtype::kF16, sizes);
    EXPECT_EQ(head.size() % 64, 0U);
    EXPECT_THAT(head, StartsWith(std::string("\x93NUMPY\x01\x00", 8)));
    EXPECT_EQ(head.back(), '\n');
  }
  EXPECT_THAT(npy_head(Dtype::kF16, {3, 7}),
              HasSubstr("{'descr': '<f2', 'fortran_order': False, 'shape': (3, 7), }"));
  EXPECT_THAT(npy_head(Dtype::kU8, {7}), HasSubstr("'|u1', 'fortran_order': False, 'shape': (7,)"));
  EXPECT_THAT(npy_head(Dtype::kBf16, {7}), HasSubstr("'<f4'"));
}

TEST(NpyHead, Bf16IsWidened) {
  const std::string bf16 = "\x80\x3f\xc0\x7f";  // 1 and a NaN.
  const std::vector<std::byte> f32 = widened(std::as_bytes(std::span(bf16)));
  const std::string_view bytes(reinterpret_cast<const char*>(f32.data()), f32.size());
  EXPECT_EQ(bytes, std::string_view("\0\0\x80\x3f\0\0\xc0\x7f", 8));
  for (std::size_t cut = 0; cut <= 4; ++cut) {
    const auto narrow = std::as_bytes(std::span(bf16));
    std::vector<std::byte> joined = widened(narrow.first(cut));
    const std::vector<std::byte> rest = widened(narrow.subspan(cut), cut % 2 != 0);
    joined.insert(joined.end(), rest.begin(), rest.end());
    EXPECT_EQ(joined, f32) << cut;
  }
}

}  // namespace
}  // namespace stretto::checkpoint
