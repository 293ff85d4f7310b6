// SPDX-License-Identifier: Apache-2.0
// A small checkpoint that covers every element type, tensors of one and of several parts, state of
// rules, encoded values, awkward names and attachments. tests/checkpoint/golden/ holds it in the
// first format version; tests/e2e/checkpointing.cc writes it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_store.h"
#include "checkpoint/saved_part.h"
#include "core/cut.h"
#include "tests/checkpoint/files.h"

namespace stretto::checkpoint {

inline constexpr std::uint32_t kGoldenPartBytes = 64;

template <typename T>
std::string text_of(const T& number) {
  std::string text(sizeof number, '\0');
  std::memcpy(text.data(), &number, sizeof number);
  return text;
}

/// A part as a Store saves it.
inline std::string saved_part(std::uint64_t version, const std::string& value,
                              const std::string& owed = "", const std::string& memory = "",
                              Codec codec = Codec::kNone) {
  const SavedPartHead head{.version = version,
                           .value_bytes = value.size(),
                           .owed_bytes = owed.size(),
                           .contributors = version == 0 ? 0U : 2U,
                           .codec = static_cast<std::uint32_t>(codec)};
  return text_of(head) + value + owed + memory;
}

/// Element `index` of tensor number `tensor`; for floating types a quarter of it.
inline int golden_number(std::size_t tensor, std::uint64_t index) {
  return static_cast<int>((7 * index + 3 * tensor) % 101) - 50;
}

inline std::string golden_element(Dtype dtype, int number) {
  const float quarter = static_cast<float>(number) / 4;
  const auto bits = std::bit_cast<std::uint32_t>(quarter);
  // Exact in both halves: a sign, an exponent near 0 and at most 6 bits.
  const std::uint32_t half =
      number == 0 ? 0 : ((bits >> 16) & 0x8000U) | (((bits & 0x7fffffffU) >> 13) - (112U << 10));
  switch (dtype) {
    case Dtype::kF32:
      return text_of(quarter);
    case Dtype::kF64:
      return text_of(static_cast<double>(quarter));
    case Dtype::kF16:
      return text_of(static_cast<std::uint16_t>(half));
    case Dtype::kBf16:
      return text_of(static_cast<std::uint16_t>(bits >> 16));
    case Dtype::kI8:
      return text_of(static_cast<std::int8_t>(number));
    case Dtype::kU8:
      return text_of(static_cast<std::uint8_t>(number + 50));
    case Dtype::kI32:
      return text_of(static_cast<std::int32_t>(number));
    case Dtype::kI64:
      return text_of(static_cast<std::int64_t>(number));
  }
  return {};
}

inline std::vector<TensorSpec> golden_tensors() {
  const auto tensor = [](std::string name, Dtype dtype, std::uint64_t elements,
                         TensorOptions options = {}) {
    return TensorSpec{std::move(name), dtype, elements, std::move(options)};
  };
  return {tensor("fc1.weight", Dtype::kF32, 21,
                 {.mode = Mode::kAsync, .update = {.rule = Rule::kMomentum}, .shape = "3x7"}),
          tensor("fc1.bias", Dtype::kF64, 9, {.mode = Mode::kAsync}),
          tensor("half", Dtype::kF16, 40, {.shape = "bool 4x10"}),
          tensor("brain", Dtype::kBf16, 6, {.shape = "2x3"}),
          tensor("i8", Dtype::kI8, 70),
          tensor("u8", Dtype::kU8, 5),
          tensor("i32", Dtype::kI32, 17),
          tensor("i64", Dtype::kI64, 3, {.shape = "2x2"}),
          tensor("coded", Dtype::kF32, 20, {.codec = CodecSpec{.codec = Codec::kFp16}}),
          tensor("never pushed", Dtype::kF32, 4),
          tensor("empty", Dtype::kF32, 0),
          tensor("../layer/0: \xc3\xa9\n", Dtype::kF32, 2),
          tensor("no text \xff", Dtype::kI32, 2),
          tensor("__metadata__", Dtype::kI32, 1),
          tensor(std::string(300, 'n') + "1", Dtype::kU8, 1),
          tensor(std::string(300, 'n') + "2", Dtype::kU8, 1)};
}

/// All parts of tensor number `tensor`, as saved.
inline Contents golden_parts(const TensorSpec& spec, std::size_t tensor) {
  Contents parts;
  if (spec.name == "never pushed") return parts;
  const Cut cut(spec, kGoldenPartBytes);
  for (std::uint32_t part = 0; part < cut.parts(); ++part) {
    std::string value;
    const std::uint64_t first = part * cut.part_elements;
    for (std::uint64_t i = first; i < first + cut.elements_of(part); ++i) {
      value += golden_element(spec.dtype, golden_number(tensor, i));
    }
    const std::string zeros(value.size(), '\0');
    const bool coded = spec.options.codec.has_value();
    const bool remembers = spec.options.update.rule == Rule::kMomentum;
    parts[part_key(spec.name, part)] =
        coded ? saved_part(7, value.substr(value.size() / 2), zeros, "", Codec::kFp16)
              : saved_part(7, value, "", remembers ? zeros : "");
  }
  return parts;
}

/// The files of the golden checkpoint.
inline std::map<std::string, Contents> golden_files() {
  std::map<std::string, Contents> files;
  const std::vector<TensorSpec> tensors = golden_tensors();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    for (const auto& [key, bytes] : golden_parts(tensors[i], i)) {
      files[key.part % 2 == 0 ? "server-0.0.parts" : "server-1.0.parts"][key] = bytes;
    }
  }
  files["worker-0.parts"] = {
      {{.kind = Kind::kAttached, .name = "progress", .rank = kOfAll}, "epoch 3"},
      {{.kind = Kind::kAttached, .name = "random state", .rank = 0}, std::string(100, 'a')},
      {{.kind = Kind::kAttached, .name = "random state", .rank = 1}, std::string(100, 'b')}};
  return files;
}

/// Writes these files and the manifest that names them as the next checkpoint of a folder.
/// `manifest` supplies the manifest's other fields.
inline Result<CheckpointManifest> write_checkpoint(Disk& disk, Folder& folder,
                                                   const std::map<std::string, Contents>& files,
                                                   CheckpointManifest manifest) {
  const Result<std::uint64_t> number = folder.begin();
  if (!number.ok()) return number.status();
  manifest.origin = {.job = 0xabc, .number = *number, .step = 100 * *number};
  for (const auto& [name, contents] : files) {
    const Result<FileDigest> seal =
        write_file(disk, folder.path_of(*number, name), manifest.origin, contents);
    if (!seal.ok()) return seal.status();
    manifest.files.push_back({.name = name, .seal = *seal, .entries = contents.size()});
  }
  if (Status status = folder.commit(manifest); !status.ok()) return status;
  return manifest;
}

inline CheckpointManifest golden_manifest() {
  return {.made_at = "2026-01-02T03:04:05Z",
          .release = "0.1.0",
          .workers = 2,
          .part_bytes = kGoldenPartBytes,
          .tensors = golden_tensors()};
}

/// Checkpoint 1, complete, and the start of checkpoint 2.
inline Status write_golden(Disk& disk, const std::string& path) {
  Folder folder(disk, path);
  Status status = folder.make();
  if (status.ok()) {
    status = write_checkpoint(disk, folder, golden_files(), golden_manifest()).status();
  }
  if (!status.ok()) return status;
  const Result<std::uint64_t> number = folder.begin();
  if (!number.ok()) return number.status();
  const std::string_view begun = "STRTPART";
  return replace_file(disk, folder.path_of(*number, "server-0.0.parts"),
                      std::as_bytes(std::span(begun)), Durability::kProcess);
}

}  // namespace stretto::checkpoint
