// SPDX-License-Identifier: Apache-2.0
// Compares entry keys: the parts that are in new files, and those that are not.
#include "checkpoint/carry_forward.h"

#include <fmt/core.h>

#include <map>
#include <optional>
#include <set>
#include <utility>

namespace stretto::checkpoint {
namespace {

constexpr const char* kFile = "carried.parts";
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;  // Upper limit of valid entries.

Result<std::set<EntryKey>> keys_of(Folder& folder, const CheckpointManifest& manifest) {
  std::set<EntryKey> keys;
  for (const CheckpointManifest::File& file : manifest.files) {
    const Result<PartsReader> reader = folder.read(manifest.origin, file);
    if (!reader.ok()) return reader.status();
    for (const SavedEntry& entry : reader->entries()) keys.insert(entry.key);
  }
  return keys;
}

// The tensors of `to` and those that only `from` has, and which of them are carried forward.
class CarriedTensors {
 public:
  CarriedTensors(const CheckpointManifest& from, const CheckpointManifest& to) {
    for (const TensorSpec& spec : from.tensors) saved_.emplace(spec.name, &spec);
    for (const TensorSpec& spec : to.tensors) now_.emplace(spec.name, &spec);
  }
  bool are_carried(const std::string& name) {
    const auto saved = saved_.find(name);
    if (saved == saved_.end()) return false;
    const auto now = now_.find(name);
    if (now != now_.end()) {
      return holds_the_same(*saved->second, *now->second) &&
             is_of_use(*saved->second, *now->second);
    }
    added_.insert(name);
    return true;
  }
  void add_to(CheckpointManifest& to) const {
    for (const std::string& name : added_) to.tensors.push_back(*saved_.at(name));
  }

 private:
  std::map<std::string, const TensorSpec*> saved_;
  std::map<std::string, const TensorSpec*> now_;
  std::set<std::string> added_;
};

// Copies an entry unchanged.
Status copy(PartsReader& reader, std::size_t index, PartsWriter& writer) {
  SavedEntry entry = reader.entries()[index];
  if (entry.bytes > kMostBytes) {
    return {Code::kMalformed, fmt::format("{} has {} bytes", describe(entry.key), entry.bytes)};
  }
  std::vector<std::byte> all;
  const Status read = reader.read(index, [&all](std::uint64_t, std::span<const std::byte> bytes) {
    all.insert(all.end(), bytes.begin(), bytes.end());
    return Status();
  });
  return read.ok() ? writer.add(std::move(entry), {all}) : read;
}

}  // namespace

bool holds_the_same(const TensorSpec& saved, const TensorSpec& now) {
  return saved.dtype == now.dtype && saved.elements == now.elements &&
         saved.options.update.rule == now.options.update.rule &&
         is_of_its_round(saved.options) == is_of_its_round(now.options);
}

bool is_of_use(const TensorSpec& saved, const TensorSpec& now) {
  return !is_of_its_round(now.options) ||
         canonical(saved).options.codec == canonical(now).options.codec;
}

Status keep_saved_tensors(Folder& folder, CheckpointManifest& manifest) {
  const Result<std::set<EntryKey>> keys = keys_of(folder, manifest);
  if (!keys.ok()) return keys.status();
  std::set<std::string> saved;
  for (const EntryKey& key : *keys) {
    if (key.kind == Kind::kPart) saved.insert(key.name);
  }
  std::erase_if(manifest.tensors,
                [&saved](const TensorSpec& spec) { return !saved.contains(spec.name); });
  return {};
}

Status carry_over(Folder& source, const CheckpointManifest& from, Folder& folder,
                  CheckpointManifest& to) {
  const Result<std::set<EntryKey>> there = keys_of(folder, to);
  if (!there.ok()) return there.status();
  CarriedTensors tensors(from, to);
  std::optional<PartsWriter> writer;
  std::uint64_t entries = 0;
  for (const CheckpointManifest::File& file : from.files) {
    Result<PartsReader> reader = source.read(from.origin, file);
    if (!reader.ok()) return reader.status();
    for (std::size_t i = 0; i < reader->entries().size(); ++i) {
      const EntryKey& key = reader->entries()[i].key;
      const bool lacks = key.kind == Kind::kPart && !there->contains(key);
      if (!lacks || !tensors.are_carried(key.name)) continue;
      if (!writer) {
        Result<PartsWriter> made = folder.write(to.origin, kFile);
        if (!made.ok()) return made.status();
        writer = *std::move(made);
      }
      if (Status status = copy(*reader, i, *writer); !status.ok()) return status;
      ++entries;
    }
  }
  if (!writer) return {};
  const Result<FileDigest> seal = writer->finish();
  if (!seal.ok()) return seal.status();
  tensors.add_to(to);
  to.files.push_back({.name = kFile, .seal = *seal, .entries = entries});
  return {};
}

}  // namespace stretto::checkpoint
