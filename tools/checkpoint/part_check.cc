// SPDX-License-Identifier: Apache-2.0
// Checks the same bounds as a server that loads a part; subtracts before adding, so that no number
// of a file overflows.
#include "tools/checkpoint/part_check.h"

#include <fmt/core.h>

#include <cstring>
#include <string_view>

#include "core/cut.h"
#include "ops/codec.h"
#include "ops/update.h"

namespace stretto::checkpoint {
namespace {

Status impossible(const SavedEntry& entry, std::string_view what) {
  return {Code::kMalformed, fmt::format("{} {}", describe(entry.key), what)};
}

// Size of the value of a part with `elements` elements.
std::uint64_t value_bytes_of(const SavedPartHead& head, const TensorSpec& spec,
                             std::uint64_t elements) {
  if (head.version == 0) return 0;
  if (head.codec != 0) return ops::encoded_bytes(*spec.options.codec, elements);
  return elements * bytes_of(spec.dtype);
}

bool codec_fits(const SavedPartHead& head, const TensorSpec& spec) {
  if (head.codec == 0) return true;
  const std::optional<CodecSpec>& codec = spec.options.codec;
  return codec && codec->lossy() && head.codec == static_cast<std::uint32_t>(codec->codec);
}

}  // namespace

Result<std::uint32_t> count_parts(const TensorSpec& spec, std::uint32_t part_bytes) {
  const Cut cut(spec, part_bytes);
  const std::uint64_t parts =
      cut.elements / cut.part_elements + (cut.elements % cut.part_elements != 0 ? 1 : 0);
  if (parts <= kMaxParts) return static_cast<std::uint32_t>(parts);
  return Status(Code::kMalformed,
                fmt::format("tensor '{}' of {} elements in parts of {} bytes has {} parts, and no "
                            "tensor has more than {}",
                            spec.name, spec.elements, part_bytes, parts, kMaxParts));
}

Status check_entry(const SavedEntry& entry, const TensorSpec& spec, std::uint32_t part_bytes) {
  const Result<std::uint32_t> parts = count_parts(spec, part_bytes);
  if (!parts.ok()) return parts.status();
  if (entry.key.part >= *parts) {
    return impossible(entry, fmt::format("cannot be: it has {} parts, from 0 on", *parts));
  }
  if (entry.key.rank != kOfAll) return impossible(entry, "is said to be of a single worker");
  if (entry.bytes >= sizeof(SavedPartHead)) return {};
  return impossible(entry, fmt::format("has {} bytes, and its head alone has {}", entry.bytes,
                                       sizeof(SavedPartHead)));
}

Result<SavedPartHead> head_of(std::span<const std::byte> first, const SavedEntry& entry,
                              const TensorSpec& spec, std::uint32_t part_bytes) {
  SavedPartHead head;
  if (first.size() < sizeof head) return impossible(entry, "ends in its head");
  std::memcpy(&head, first.data(), sizeof head);
  if (head.version != entry.version) {
    return impossible(entry, fmt::format("is version {} by its head, and {} by its file's index",
                                         head.version, entry.version));
  }
  if (!codec_fits(head, spec)) {
    return impossible(entry, fmt::format("has a value of codec {}, and its tensor is {}",
                                         head.codec, spec.describe()));
  }
  const std::uint64_t elements = Cut(spec, part_bytes).elements_of(entry.key.part);
  const std::uint64_t wanted = value_bytes_of(head, spec, elements);
  if (head.value_bytes != wanted) {
    return impossible(entry, fmt::format("has a value of {} bytes, and one of {} elements has {}",
                                         head.value_bytes, elements, wanted));
  }
  if (head.owed_bytes != 0 && head.owed_bytes != elements * sizeof(float)) {
    return impossible(entry, fmt::format("owes {} bytes, and {} elements owe {} or none",
                                         head.owed_bytes, elements, elements * sizeof(float)));
  }
  // All three sizes are bounded here, far below 2^64.
  const std::uint64_t whole = sizeof head + head.value_bytes + head.owed_bytes +
                              ops::remembered_bytes(spec.options.update, spec.dtype, elements);
  if (entry.bytes != whole) {
    return impossible(entry, fmt::format("has {} bytes, and with this head and a tensor of {} it "
                                         "has {}",
                                         entry.bytes, spec.describe(), whole));
  }
  return head;
}

}  // namespace stretto::checkpoint
