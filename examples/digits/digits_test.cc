// SPDX-License-Identifier: Apache-2.0
// Tests of the digits example without a network: errors of the CSV reader, split and shards, the
// gradient against finite differences, and that training succeeds.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "examples/digits/dataset.h"
#include "examples/digits/model.h"
#include "examples/digits/records.h"

namespace digits {
namespace {

/// A line of the CSV: 63 blank pixels after the one given, and the label.
std::string line_of(const std::string& pixel, const std::string& label) {
  std::string line = pixel;
  for (std::size_t i = 1; i < kPixels; ++i) line += ",0";
  return line + "," + label + "\n";
}

/// Four valid lines, then `line`: its error must name line 5.
std::string refusal_of(const std::string& line) {
  std::string text;
  for (int i = 0; i < 4; ++i) text += line_of("16", "7");
  const stretto::Result<Dataset> dataset = parse_digits(text + line);
  if (dataset.ok()) return "";
  EXPECT_EQ(dataset.status().code(), stretto::Code::kMalformed);
  return dataset.status().cause();
}

Sample sample_of(std::size_t label) {
  Sample sample{.pixels = {}, .label = label};
  for (std::size_t i = 0; i < kPixels; ++i) {
    sample.pixels[i] = static_cast<float>((i * (label + 3)) % 17) / 16;
  }
  return sample;
}

TEST(Dataset, ReadsPixelsAndLabelAndKeepsEveryFifthForTesting) {
  std::string text;
  for (int i = 0; i < 10; ++i) text += line_of("8", std::to_string(i));
  const Dataset dataset = *parse_digits(text);
  ASSERT_EQ(dataset.train.size(), 8U);
  ASSERT_EQ(dataset.test.size(), 2U);
  EXPECT_EQ(dataset.test[0].label, 4U);
  EXPECT_EQ(dataset.test[1].label, 9U);
  EXPECT_EQ(dataset.train[4].label, 5U);
  EXPECT_FLOAT_EQ(dataset.train[4].pixels[0], 0.5F);
  EXPECT_FLOAT_EQ(dataset.train[4].pixels[1], 0.0F);
}

TEST(Dataset, TakesLinesThatEndAsOnWindowsOrNotAtAll) {
  EXPECT_EQ(refusal_of(line_of("16", "9\r")), "");
  const std::string line = line_of("16", "9");
  EXPECT_EQ(refusal_of(line.substr(0, line.size() - 1)), "");
}

TEST(Dataset, RefusesTheWrongNumberOfFields) {
  EXPECT_EQ(refusal_of("1,2,3\n"),
            "line 5: wanted 64 pixels and a label, 65 numbers with commas between, found 3");
  EXPECT_NE(refusal_of("\n").find("found 0"), std::string::npos);
  EXPECT_NE(refusal_of(line_of("0,0", "1")).find("found 66"), std::string::npos);
}

TEST(Dataset, RefusesWhatIsNoPixelOrLabel) {
  EXPECT_EQ(refusal_of(line_of("17", "1")),
            "line 5: wanted a pixel from 0 to 16 in column 1, found '17'");
  EXPECT_EQ(refusal_of(line_of("0", "10")),
            "line 5: wanted a label from 0 to 9 in column 65, found '10'");
  for (const char* bad : {"", "x", "-1", "1.5", " 1", "1 ", "0x1", "99999999999999999999"}) {
    EXPECT_NE(refusal_of(line_of(bad, "1")).find("line 5: wanted a pixel"), std::string::npos)
        << bad;
    EXPECT_NE(refusal_of(line_of("1", bad)).find("line 5: wanted a label"), std::string::npos)
        << bad;
  }
}

TEST(Dataset, QuotesWhatItFoundInPrintableAndShort) {
  const std::string binary(1000, '\x01');
  EXPECT_EQ(refusal_of(line_of(binary, "1")),
            "line 5: wanted a pixel from 0 to 16 in column 1, found '????????????????????...'");
}

TEST(Dataset, RefusesTooFewSamples) {
  const stretto::Result<Dataset> empty = parse_digits("");
  ASSERT_FALSE(empty.ok());
  EXPECT_NE(empty.status().cause().find("at least 5 samples"), std::string::npos);
  EXPECT_FALSE(parse_digits(line_of("1", "1")).ok());
}

TEST(Dataset, NamesTheFileThatIsNotThere) {
  const stretto::Result<Dataset> missing = read_digits("/no/such/digits.csv");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.status().code(), stretto::Code::kInvalidArgument);
  EXPECT_EQ(missing.status().cause(),
            "/no/such/digits.csv: no such file, or not a plain one; give one with --data");
  EXPECT_FALSE(read_digits("/dev/zero").ok());
  EXPECT_FALSE(read_digits("/").ok());
}

TEST(Dataset, ReadsTheFileThatComesWithTheExample) {
  const stretto::Result<Dataset> dataset = read_digits(STRETTO_DIGITS_DATA);
  ASSERT_TRUE(dataset.ok()) << dataset.status().text();
  EXPECT_EQ(dataset->train.size(), 1438U);
  EXPECT_EQ(dataset->test.size(), 359U);
}

TEST(Shard, SharesEverySampleOnce) {
  std::vector<Sample> samples(11);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i].label = i;
  std::multiset<std::size_t> seen;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const std::vector<Sample> mine = shard(samples, rank, 3);
    EXPECT_GE(mine.size(), samples.size() / 3);
    for (const Sample& sample : mine) seen.insert(sample.label);
  }
  ASSERT_EQ(seen.size(), samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) EXPECT_EQ(seen.count(i), 1U);
}

TEST(Moved, LeavesBlankWhereThePictureCameFrom) {
  Sample corner{.pixels = {}, .label = 3};
  corner.pixels[0] = 1;
  corner.pixels[63] = 1;
  Sample right{.pixels = {}, .label = 3};
  right.pixels[1] = 1;
  Sample up{.pixels = {}, .label = 3};
  up.pixels[55] = 1;
  EXPECT_EQ(moved(corner, 1, 0).pixels, right.pixels);
  EXPECT_EQ(moved(corner, 0, -1).pixels, up.pixels);
  EXPECT_EQ(moved(corner, 1, 0).label, 3U);
}

TEST(Batches, AreRepeatedBySeedAndPassOverAllSamples) {
  std::vector<Sample> samples(10);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i].label = i;
  Batches first(samples, 5, 42);
  Batches second(samples, 5, 42);
  for (int pass = 0; pass < 3; ++pass) {
    std::set<std::size_t> seen;
    for (int i = 0; i < 2; ++i) {
      const std::span<const Sample> batch = first.next();
      const std::span<const Sample> same = second.next();
      for (std::size_t j = 0; j < batch.size(); ++j) {
        seen.insert(batch[j].label);
        EXPECT_EQ(batch[j].label, same[j].label);
        EXPECT_EQ(batch[j].pixels, same[j].pixels);
      }
    }
    EXPECT_EQ(seen.size(), samples.size());
  }
}

TEST(Model, GradientAgreesWithFiniteDifferences) {
  const std::vector<Sample> batch = {sample_of(2), sample_of(5), sample_of(9)};
  Tensors parameters = initial_parameters(12, 7);
  Tensors gradient;
  loss_and_gradient(views(parameters), batch, gradient);
  Tensors ignored;
  for (std::size_t layer = 0; layer < kTensors; ++layer) {
    double difference = 0;
    double size = 0;
    for (std::size_t i = 0; i < parameters[layer].size(); ++i) {
      constexpr float kStep = 2e-3F;
      const float before = parameters[layer][i];
      parameters[layer][i] = before + kStep;
      const double above = loss_and_gradient(views(parameters), batch, ignored);
      parameters[layer][i] = before - kStep;
      const double below = loss_and_gradient(views(parameters), batch, ignored);
      parameters[layer][i] = before;
      const double slope = (above - below) / (2 * static_cast<double>(kStep));
      difference += std::pow(slope - static_cast<double>(gradient[layer][i]), 2);
      size += slope * slope;
    }
    EXPECT_GT(size, 0) << kTensorNames[layer];
    EXPECT_LT(std::sqrt(difference / size), 5e-3) << kTensorNames[layer];
  }
}

TEST(Model, LossOfNoOpinionIsTheLogarithmOfTheClasses) {
  Tensors parameters = initial_parameters(4, 1);
  for (std::vector<float>& tensor : parameters) tensor.assign(tensor.size(), 0);
  Tensors gradient;
  EXPECT_NEAR(loss_and_gradient(views(parameters), std::vector<Sample>{sample_of(1)}, gradient),
              std::log(10.0), 1e-6);
}

TEST(Model, ChecksumSeesOneBit) {
  Tensors parameters = initial_parameters(4, 1);
  const std::uint64_t before = checksum(views(parameters));
  EXPECT_EQ(before, checksum(views(initial_parameters(4, 1))));
  parameters[kOutputBias].back() = -0.0F;
  EXPECT_NE(before, checksum(views(parameters)));
}

TEST(Model, LearnsFromAFewSamples) {
  std::vector<Sample> samples;
  for (std::size_t label = 0; label < kClasses; ++label) samples.push_back(sample_of(label));
  Tensors parameters = initial_parameters(32, 3);
  Tensors gradient;
  const double before = loss_and_gradient(views(parameters), samples, gradient);
  double after = before;
  for (int step = 0; step < 200; ++step) {
    after = loss_and_gradient(views(parameters), samples, gradient);
    for (std::size_t layer = 0; layer < kTensors; ++layer) {
      for (std::size_t i = 0; i < parameters[layer].size(); ++i) {
        parameters[layer][i] -= 0.5F * gradient[layer][i];
      }
    }
  }
  EXPECT_LT(after, before / 10);
  EXPECT_EQ(accuracy(views(parameters), samples), 1.0);
}

TEST(Records, WorkersTakeEachSampleOnceAPass) {
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < 40; ++i) samples.push_back(sample_of(i % kClasses));
  const std::string folder = ::testing::TempDir() + "/digits-records";
  const stretto::Result<std::string> path = write_records(samples, folder, 1);
  ASSERT_TRUE(path.ok());
  EXPECT_EQ(std::filesystem::file_size(*path), samples.size() * record_bytes(1));
  std::vector<int> labels(kClasses);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    RecordBatches batches = *RecordBatches::open(*path, 1, 5, 1, rank, 2);
    for (int batch = 0; batch < 4; ++batch) {
      const std::vector<Sample> taken = [&] {
        const auto next = *batches.next();
        return std::vector<Sample>(next.begin(), next.end());
      }();
      for (const Sample& sample : taken) ++labels[sample.label];
    }
    EXPECT_TRUE(batches.next().ok()) << "another pass";
  }
  EXPECT_EQ(labels, std::vector<int>(kClasses, 4));
  EXPECT_FALSE(RecordBatches::open(*path, 1, 50, 1, 0, 2).ok());
  std::filesystem::resize_file(*path, 2);
  EXPECT_FALSE(RecordBatches::open(*path, 1, 1, 1, 0, 1)->next().ok());
  std::filesystem::remove_all(folder);
  EXPECT_FALSE(write_records(samples, "/proc/nothing", 1).ok());
}

TEST(Records, MagnifiedPicturesAreTheSame) {
  std::vector<Sample> samples(1);
  for (std::size_t i = 0; i < kPixels; ++i) samples[0].pixels[i] = static_cast<float>(i % 17) / 16;
  samples[0].label = 7;
  const std::string folder = ::testing::TempDir() + "/digits-magnified";
  for (const std::size_t magnify : {1U, 3U, 32U}) {
    const std::string path = *write_records(samples, folder, magnify);
    EXPECT_EQ(std::filesystem::file_size(path), record_bytes(magnify));
    RecordBatches batches = *RecordBatches::open(path, magnify, 1, 1, 0, 1);
    bool same = false;  // Half of the samples are shifted.
    for (int i = 0; i < 50 && !same; ++i) {
      const Sample taken = (*batches.next())[0];
      same = taken.pixels == samples[0].pixels && taken.label == 7;
    }
    EXPECT_TRUE(same) << magnify;
  }
  std::filesystem::remove_all(folder);
}

TEST(Records, ALabelThatIsNoneIsNamedWithItsPlace) {
  const std::string folder = ::testing::TempDir() + "/digits-wrong";
  const std::string path =
      *write_records(std::vector<Sample>{sample_of(3), sample_of(11)}, folder, 2);
  RecordBatches batches = *RecordBatches::open(path, 2, 2, 1, 0, 1);
  const auto next = batches.next();
  ASSERT_FALSE(next.ok());
  EXPECT_NE(next.status().cause().find("at offset 257: wanted a label from 0 to 9, found 11"),
            std::string::npos)
      << next.status().cause();
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace digits
