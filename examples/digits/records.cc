// SPDX-License-Identifier: Apache-2.0
// Writes records under a temporary name and then renames the file.
#include "examples/digits/records.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <any>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <utility>

namespace digits {
namespace {

using stretto::Code;
using stretto::Result;
using stretto::Status;

constexpr float kPixelScale = 16;
constexpr std::size_t kWidth = 8;

// Each pixel is the mean of its magnified square. Thread: the reader's.
Result<std::any> sample_in(std::span<const std::byte> record, std::size_t magnify) {
  std::array<std::uint64_t, kPixels> sums{};
  const std::size_t width = kWidth * magnify;
  for (std::size_t row = 0; row < width; ++row) {
    for (std::size_t x = 0; x < kWidth; ++x) {
      std::uint64_t sum = 0;
      for (const std::byte pixel : record.subspan(row * width + x * magnify, magnify)) {
        sum += std::to_integer<std::uint64_t>(pixel);
      }
      sums[row / magnify * kWidth + x] += sum;
    }
  }
  Sample sample;
  const auto scale = kPixelScale * static_cast<float>(magnify * magnify);
  for (std::size_t i = 0; i < kPixels; ++i) sample.pixels[i] = static_cast<float>(sums[i]) / scale;
  sample.label = std::to_integer<std::size_t>(record.back());
  if (sample.label >= kClasses) {
    return Status(Code::kMalformed,
                  fmt::format("wanted a label from 0 to {}, found {}", kClasses - 1, sample.label));
  }
  return std::any(sample);
}

void write(std::ofstream& file, const Sample& sample, std::size_t magnify) {
  std::string row(kWidth * magnify, 0);
  for (std::size_t y = 0; y < kWidth; ++y) {
    for (std::size_t x = 0; x < kWidth; ++x) {
      const auto pixel =
          static_cast<char>(std::lround(sample.pixels[y * kWidth + x] * kPixelScale));
      std::fill_n(row.begin() + static_cast<std::ptrdiff_t>(x * magnify), magnify, pixel);
    }
    for (std::size_t i = 0; i < magnify; ++i) file.write(row.data(), std::ssize(row));
  }
  file.put(static_cast<char>(sample.label));
}

}  // namespace

Result<std::string> write_records(std::span<const Sample> samples, const std::string& folder,
                                  std::size_t magnify) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::string path = std::filesystem::path(folder) / "digits-train.records";
  const std::string unfinished = fmt::format("{}.{}", path, ::getpid());
  std::ofstream file(unfinished, std::ios::binary);
  for (const Sample& sample : samples) write(file, sample, magnify);
  file.close();
  if (file) std::filesystem::rename(unfinished, path, error);
  if (!file || error) {
    std::filesystem::remove(unfinished, error);
    return Status(Code::kInvalidArgument,
                  fmt::format("cannot write {}; name another folder with --records", path));
  }
  return path;
}

Result<RecordBatches> RecordBatches::open(const std::string& path, std::size_t magnify,
                                          std::size_t batch, std::uint64_t seed, std::uint32_t rank,
                                          std::uint32_t workers) {
  Result<stretto::input::Reader> reader =
      stretto::input::Reader::open({.paths = {path},
                                    .format = stretto::input::Format::kRecords,
                                    .record_bytes = record_bytes(magnify),
                                    .shuffle = true,
                                    .seed = seed,
                                    .shuffle_block_bytes = 1,
                                    .rank = rank,
                                    .world = workers,
                                    .even = true,
                                    .epochs = 0,
                                    .decode = [magnify](const stretto::input::Sample& record) {
                                      return sample_in(record.bytes, magnify);
                                    }});
  if (!reader.ok()) return reader.status();
  if (reader->epoch_samples() < batch) {
    return Status(Code::kInvalidArgument, fmt::format("{} has fewer samples for a worker than the "
                                                      "{} of its batch; lower --batch",
                                                      path, batch));
  }
  return RecordBatches(*std::move(reader), batch, seed + rank);
}

Result<std::span<const Sample>> RecordBatches::next() {
  for (std::size_t filled = 0; filled < batch_.size();) {
    Result<std::optional<stretto::input::Sample>> record = reader_.next();
    if (!record.ok()) return record.status();
    if (!*record) {
      filled = 0;  // Skips an incomplete batch at the end of a pass.
      continue;
    }
    batch_[filled++] = perhaps_moved(std::any_cast<const Sample&>((*record)->decoded), random_);
  }
  return std::span<const Sample>(batch_);
}

}  // namespace digits
