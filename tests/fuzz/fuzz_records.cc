// SPDX-License-Identifier: Apache-2.0
// Arbitrary files of records: the parsers yield extents within the file, samples in order, and from
// each a sample or an error; also if valid records follow the noise. Input: a format, the limit of
// a sample, then the file.
#include <vector>

#include "common/check.h"
#include "input/formats/sample_check.h"
#include "input/formats/tar.h"
#include "input/formats/tfrecord.h"
#include "tests/fuzz/input.h"

namespace stretto::input {
namespace {

constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 30;

std::vector<Extent> scan(Format format, std::span<const std::byte> file, std::uint64_t limit) {
  MemorySource source(file);
  Result<std::vector<Extent>> extents =
      format == Format::kTar ? scan_tar(source, limit) : scan_tfrecord(source, limit);
  STRETTO_CHECK(extents.ok());  // The source has no errors.
  return *std::move(extents);
}

// Counts the valid samples.
std::size_t check_all(const Rules& rules, std::span<const std::byte> file) {
  std::uint64_t next = 0;  // An invalid header may hide a valid one.
  std::size_t right = 0;
  for (const Extent& extent : scan(rules.format, file, rules.max_bytes)) {
    STRETTO_CHECK(extent.offset >= next && extent.bytes > 0);
    STRETTO_CHECK(extent.offset < file.size() && extent.bytes <= file.size() - extent.offset);
    next = extent.offset + 1;
    const Buffer copy = Buffer::copy_of(file.subspan(extent.offset, extent.bytes));
    Sample sample;
    const Status status = check(rules, copy.bytes(), sample);
    STRETTO_CHECK(status.ok() || !status.cause().empty());
    if (status.ok()) {
      next = extent.offset + extent.bytes;
      ++right;
    }
    for (const Member& member : sample.members) {
      STRETTO_CHECK(member.bytes.size() <= sample.bytes.size());
      (void)Buffer::copy_of(member.bytes);
    }
  }
  return right;
}

void run(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  const bool tar = in.flag();
  const std::uint64_t limit = in.flag() ? in.take<std::uint16_t>() : kNoLimit;
  const Buffer noise = in.rest();
  (void)check_all({.format = tar ? Format::kTar : Format::kTfRecord, .max_bytes = limit},
                  noise.bytes());
  if (tar) return;
  std::vector<std::byte> file(noise.bytes().begin(), noise.bytes().end());
  const std::vector<std::byte> record = make_tfrecord(noise.bytes().first(noise.size() % 64));
  constexpr std::size_t kRecords = 4;
  for (std::size_t i = 0; i < kRecords; ++i) file.insert(file.end(), record.begin(), record.end());
  const Rules rules{.format = Format::kTfRecord, .max_bytes = kNoLimit};
  (void)check_all(rules, file);
}

}  // namespace
}  // namespace stretto::input

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stretto::input::run(data, size);
  return 0;
}
