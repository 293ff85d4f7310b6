// SPDX-License-Identifier: Apache-2.0
// Reads the digits line by line. Users provide the file, so every error names the line and cause.
#include "examples/digits/dataset.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <utility>

namespace digits {

namespace {

using stretto::Code;
using stretto::Result;
using stretto::Status;

constexpr int kSide = 8;  // Of the picture, in pixels.
static_assert(kSide * kSide == kPixels);
constexpr std::size_t kTestEvery = 5;
constexpr unsigned kPixelMax = 16;
constexpr std::size_t kFields = kPixels + 1;
constexpr std::uintmax_t kFileBytesMax = 64 << 20;

/// Removes and returns the text before the next `separator`, or all of `text`.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

/// The quoted text of an error: short, and in printable characters.
std::string quoted(std::string_view found) {
  constexpr std::size_t kShown = 20;
  std::string shown(found.substr(0, kShown));
  std::replace_if(shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return fmt::format("'{}{}'", shown, found.size() > kShown ? "..." : "");
}

Result<unsigned> parse_number(std::string_view field, unsigned max) {
  unsigned number = 0;
  const char* const end = field.data() + field.size();
  const auto [stop, error] = std::from_chars(field.data(), end, number);
  if (error == std::errc() && stop == end && number <= max) return number;
  return Status(Code::kMalformed, fmt::format("found {}", quoted(field)));
}

Result<Sample> parse_sample(std::string_view line) {
  const auto commas = static_cast<std::size_t>(std::count(line.begin(), line.end(), ','));
  const std::size_t fields = line.empty() ? 0 : commas + 1;
  if (fields != kFields) {
    return Status(Code::kMalformed,
                  fmt::format("wanted {} pixels and a label, {} numbers with commas between, "
                              "found {}",
                              kPixels, kFields, fields));
  }
  Sample sample;
  for (std::size_t i = 0; i < kPixels; ++i) {
    const Result<unsigned> pixel = parse_number(take_until(line, ','), kPixelMax);
    if (!pixel.ok()) {
      return Status(Code::kMalformed, fmt::format("wanted a pixel from 0 to {} in column {}, {}",
                                                  kPixelMax, i + 1, pixel.status().cause()));
    }
    sample.pixels[i] = static_cast<float>(*pixel) / static_cast<float>(kPixelMax);
  }
  const Result<unsigned> label = parse_number(line, kClasses - 1);
  if (!label.ok()) {
    return Status(Code::kMalformed, fmt::format("wanted a label from 0 to {} in column {}, {}",
                                                kClasses - 1, kFields, label.status().cause()));
  }
  sample.label = *label;
  return sample;
}

std::size_t pixel_at(int x, int y) {
  return static_cast<std::size_t>(y) * kSide + static_cast<std::size_t>(x);
}

Result<std::string> read_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return Status(Code::kInvalidArgument, "no such file, or not a plain one; give one with --data");
  }
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  if (error || bytes > kFileBytesMax) {
    return Status(Code::kInvalidArgument,
                  fmt::format("wanted a file of at most {} bytes, found {}", kFileBytesMax, bytes));
  }
  std::string text(bytes, '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file.read(text.data(), static_cast<std::streamsize>(bytes))) {
    return Status(Code::kInvalidArgument, "the file cannot be read");
  }
  return text;
}

}  // namespace

Result<Dataset> parse_digits(std::string_view text) {
  Dataset dataset;
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view line = take_until(text, '\n');
    if (line.ends_with('\r')) line.remove_suffix(1);
    Result<Sample> sample = parse_sample(line);
    if (!sample.ok()) {
      return Status(Code::kMalformed, fmt::format("line {}: {}", number, sample.status().cause()));
    }
    (number % kTestEvery == 0 ? dataset.test : dataset.train).push_back(*sample);
  }
  if (dataset.test.empty()) {
    return Status(Code::kMalformed,
                  fmt::format("wanted at least {} samples, the last of them for testing, found {}",
                              kTestEvery, dataset.train.size()));
  }
  return dataset;
}

Result<Dataset> read_digits(const std::string& path) {
  const Result<std::string> text = read_file(path);
  if (!text.ok()) {
    return Status(text.status().code(), fmt::format("{}: {}", path, text.status().cause()));
  }
  Result<Dataset> dataset = parse_digits(*text);
  if (dataset.ok()) return dataset;
  return Status(dataset.status().code(), fmt::format("{}: {}", path, dataset.status().cause()));
}

std::vector<Sample> shard(std::span<const Sample> samples, std::size_t rank, std::size_t workers) {
  std::vector<Sample> mine;
  for (std::size_t i = rank; i < samples.size(); i += workers) mine.push_back(samples[i]);
  return mine;
}

Sample moved(const Sample& sample, int right, int down) {
  Sample result{.pixels = {}, .label = sample.label};
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const int from_x = x - right;
      const int from_y = y - down;
      if (from_x < 0 || from_x >= kSide || from_y < 0 || from_y >= kSide) continue;
      result.pixels[pixel_at(x, y)] = sample.pixels[pixel_at(from_x, from_y)];
    }
  }
  return result;
}

Batches::Batches(std::vector<Sample> samples, std::size_t batch, std::uint64_t seed)
    : samples_(std::move(samples)), batch_(batch), position_(samples_.size()), random_(seed) {}

std::span<const Sample> Batches::next() {
  if (samples_.size() - position_ < batch_.size()) {
    std::shuffle(samples_.begin(), samples_.end(), random_);
    position_ = 0;
  }
  for (Sample& sample : batch_) sample = perhaps_moved(samples_[position_++], random_);
  return batch_;
}

Sample perhaps_moved(const Sample& sample, std::mt19937_64& random) {
  struct Move {
    int right;
    int down;
  };
  constexpr std::array<Move, 4> kMoves = {{{1, 0}, {-1, 0}, {0, 1}, {0, -1}}};
  const std::size_t choice = random() % (2 * kMoves.size());
  if (choice >= kMoves.size()) return sample;
  return moved(sample, kMoves[choice].right, kMoves[choice].down);
}

}  // namespace digits
