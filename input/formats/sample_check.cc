// SPDX-License-Identifier: Apache-2.0
// Dispatches by the format; the parsers do the work.
#include "input/formats/sample_check.h"

#include <fmt/core.h>

#include <utility>

#include "input/formats/tar.h"
#include "input/formats/tfrecord.h"

namespace stretto::input {
namespace {

Status check_tar(const Rules& rules, std::span<const std::byte> bytes, Sample& sample) {
  Result<TarSample> read = tar_sample(bytes, rules.max_bytes);
  if (!read.ok()) return read.status();
  sample.bytes = bytes;
  sample.key = read->key;
  for (const auto& [name, content] : read->members) sample.members.push_back({name, content});
  // Names may come from a pax header and not from the sample's bytes, so the lease keeps both.
  sample.lease = std::make_shared<
      std::pair<std::shared_ptr<const void>, std::shared_ptr<const std::vector<std::string>>>>(
      std::move(sample.lease), read->names);
  return {};
}

}  // namespace

Status check(const Rules& rules, std::span<const std::byte> bytes, Sample& sample) {
  if (rules.format == Format::kTar) return check_tar(rules, bytes, sample);
  if (rules.format == Format::kTfRecord) {
    Result<std::span<const std::byte>> payload =
        tfrecord_payload(bytes, rules.max_bytes, rules.check_crc);
    if (!payload.ok()) return payload.status();
    sample.bytes = *payload;
    return {};
  }
  if (rules.format == Format::kRecords && bytes.size() < rules.record_bytes) {
    return {Code::kMalformed, fmt::format("the file ends {} bytes into a record of {}: it is "
                                          "truncated, or record_bytes is wrong",
                                          bytes.size(), rules.record_bytes)};
  }
  sample.bytes = bytes;
  return {};
}

}  // namespace stretto::input
