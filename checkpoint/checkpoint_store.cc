// SPDX-License-Identifier: Apache-2.0
// The order of writes and removals, by which crashes leave complete checkpoints.
#include "checkpoint/checkpoint_store.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "checkpoint/parts_reader.h"
#include "common/text.h"

namespace stretto::checkpoint {
namespace {

constexpr std::string_view kPrefix = "ckpt-";
constexpr const char* kLatest = "LATEST";
constexpr std::uint64_t kMostNumber = std::uint64_t{1} << 62;  // Never reached.
constexpr std::size_t kMostOfHolder = 300;
constexpr std::size_t kMostNames = std::size_t{1} << 20;

std::string name_of(std::uint64_t number) { return fmt::format("{}{}", kPrefix, number); }

std::vector<std::uint64_t> newest_first(std::vector<std::uint64_t> numbers) {
  std::ranges::reverse(numbers);
  return numbers;
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

Result<std::string> text_of(Disk& disk, const std::string& path) {
  const Result<std::unique_ptr<File>> file = disk.open(path, Open::kRead);
  if (!file.ok()) return file.status();
  const Result<std::uint64_t> size = (*file)->size();
  if (!size.ok()) return size.status();
  if (*size > kMostManifestBytes) {
    return Status(Code::kMalformed,
                  fmt::format("'{}' has {} bytes, more than a manifest has", path, *size));
  }
  std::string text(*size, '\0');
  const Result<std::size_t> count =
      (*file)->read(0, std::as_writable_bytes(std::span(text.data(), text.size())));
  if (!count.ok()) return count.status();
  text.resize(*count);
  return text;
}

// The checkpoint that LATEST names, if it can be read.
std::optional<std::uint64_t> latest_in(Disk& disk, const std::string& path) {
  const Result<std::string> text = text_of(disk, fmt::format("{}/{}", path, kLatest));
  if (!text.ok()) return std::nullopt;
  return number_named(std::string_view(*text).substr(0, text->find('\n')));
}

// LATEST is written after a checkpoint is complete, so the checkpoint that it names was complete.
void note_latest(Disk& disk, const std::string& path, Folder::Found& found) {
  const std::optional<std::uint64_t> number = latest_in(disk, path);
  if (!number || (found.newest && *number <= found.newest->origin.number)) return;
  Folder::Refused latest{
      .number = *number,
      .was_complete = true,
      .is_gone = true,
      .why = {Code::kMalformed,
              fmt::format("by '{}/{}' checkpoint {} was complete, and it is not there any more",
                          path, kLatest, *number)}};
  for (Folder::Refused& refused : found.refused) {
    if (refused.number != *number) continue;
    if (!refused.was_complete) refused = std::move(latest);
    return;
  }
  found.refused.insert(found.refused.begin(), std::move(latest));
}

// A failed sync may have lost the name, and the next sync would not report that: make the folder
// again then.
Status make_with_parents(Disk& disk, const std::string& path) {
  const Result<bool> is_there = disk.exists(path);
  if (!is_there.ok()) return is_there.status();
  if (*is_there) return {};
  const std::string parent = folder_of(path);
  Status status = parent == path ? Status() : make_with_parents(disk, parent);
  if (!status.ok()) return status;
  status = disk.make_folder(path);
  if (status.ok()) status = disk.sync_folder(parent);
  if (!status.ok()) static_cast<void>(disk.remove(path));
  return status;
}

// The checkpoint from which the newer, unusable ones were resumed.
class Lineage {
 public:
  void follow(const CheckpointManifest& unusable) {
    if (unusable.from == 0) return;
    from_ = unusable.from;
    job_ = unusable.origin.job;
  }
  bool has(const CheckpointManifest& manifest) const {
    return from_ == 0 || manifest.origin.number <= from_ || manifest.origin.job == job_;
  }
  Status stranger(std::uint64_t number) const {
    return {Code::kInvalidArgument,
            fmt::format("newer ones, which cannot be used, are of a job that went on from "
                        "checkpoint {}, and {} is not one that it had come by",
                        from_, number)};
  }

 private:
  std::uint64_t from_ = 0;  // 0: unknown, or from none in this folder.
  std::uint64_t job_ = 0;
};

}  // namespace

std::optional<std::uint64_t> number_named(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  std::uint64_t number = 0;
  const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool whole = error == std::errc() && stop == name.data() + name.size();
  // "ckpt-007" is not a valid name.
  const bool possible = number != 0 && number < kMostNumber;
  if (!whole || !possible || std::to_string(number) != name) return std::nullopt;
  return number;
}

std::string Folder::path_of(std::uint64_t number) const {
  return fmt::format("{}/{}", path_, name_of(number));
}

std::string Folder::path_of(std::uint64_t number, const std::string& file) const {
  return fmt::format("{}/{}", path_of(number), file);
}

Result<std::vector<std::uint64_t>> Folder::numbers() {
  const Result<std::vector<std::string>> names = disk_.list(path_, kMostNames);
  if (!names.ok()) return names.status();
  std::vector<std::uint64_t> numbers;
  for (const std::string& name : *names) {
    if (const auto number = number_named(name)) numbers.push_back(*number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

Result<std::uint64_t> Folder::begin(std::uint64_t after) {
  const Result<std::vector<std::uint64_t>> there = numbers();
  if (!there.ok()) return there.status();
  const std::uint64_t newest = there->empty() ? 0 : there->back();
  const std::uint64_t number = std::max({after, newest, latest_in(disk_, path_).value_or(0)}) + 1;
  if (Status status = disk_.make_folder(path_of(number)); !status.ok()) return status;
  return number;
}

Status Folder::make() {
  std::string_view path = path_;
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return make_with_parents(disk_, std::string(path));
}

Status Folder::commit(const CheckpointManifest& manifest) {
  const std::uint64_t number = manifest.origin.number;
  // Sync the files' names first, and the folder's own before LATEST, which says it was complete.
  Status status = disk_.sync_folder(path_of(number));
  if (status.ok()) {
    status = replace_file(disk_, path_of(number, kManifestName), bytes_of(encode(manifest)),
                          Durability::kMachine);
  }
  if (status.ok()) status = disk_.sync_folder(path_);
  if (status.ok()) {
    const std::string latest = name_of(number) + "\n";
    status = replace_file(disk_, fmt::format("{}/{}", path_, kLatest), bytes_of(latest),
                          Durability::kMachine);
  }
  return status.ok() ? disk_.sync_folder(folder_of(path_)) : status;
}

Result<CheckpointManifest> Folder::manifest_of(std::uint64_t number) {
  const std::string path = path_of(number, kManifestName);
  const Result<bool> is_there = disk_.exists(path);
  if (!is_there.ok()) return is_there.status();
  if (!*is_there) {
    return Status(Code::kMalformed,
                  fmt::format("'{}' has no manifest: writing was not finished", path_of(number)));
  }
  const Result<std::string> text = text_of(disk_, path);
  if (!text.ok()) return text.status();
  Result<CheckpointManifest> manifest = decode_manifest(*text, path);
  if (!manifest.ok()) return manifest.status();
  if (manifest->origin.number != number) {
    return Status(Code::kMalformed, fmt::format("'{}' is the manifest of checkpoint {}", path,
                                                manifest->origin.number));
  }
  return manifest;
}

Result<CheckpointManifest> Folder::open(std::uint64_t number) {
  Result<CheckpointManifest> manifest = manifest_of(number);
  if (!manifest.ok()) return manifest;
  for (const CheckpointManifest::File& file : manifest->files) {
    const Result<PartsReader> reader = read(manifest->origin, file);
    if (!reader.ok()) return reader.status();
  }
  return manifest;
}

Result<bool> Folder::is_there(std::uint64_t number) {
  Result<bool> has_manifest = disk_.exists(path_of(number, kManifestName));
  if (!has_manifest.ok() || !*has_manifest) return has_manifest;
  const Result<CheckpointManifest> manifest = manifest_of(number);
  if (!manifest.ok()) return true;
  for (const CheckpointManifest::File& file : manifest->files) {
    Result<bool> has_file = disk_.exists(path_of(number, file.name));
    if (!has_file.ok() || !*has_file) return has_file;
  }
  return true;
}

Result<PartsReader> Folder::read(const CheckpointId& origin, const CheckpointManifest::File& file) {
  const std::string path = path_of(origin.number, file.name);
  Result<PartsReader> reader = PartsReader::open(disk_, path, file.seal);
  if (!reader.ok() || reader->origin() == origin) return reader;
  return Status(Code::kMalformed,
                fmt::format("'{}' is of another checkpoint than its manifest", path));
}

Status Folder::verify(const CheckpointManifest& manifest) {
  for (const CheckpointManifest::File& file : manifest.files) {
    Result<PartsReader> reader = read(manifest.origin, file);
    if (!reader.ok()) return reader.status();
    if (Status status = reader->read_all(); !status.ok()) return status;
  }
  return {};
}

Result<PartsWriter> Folder::write(const CheckpointId& origin, const std::string& file) {
  Result<bool> begun = disk_.exists(path_of(origin.number));
  if (!begun.ok()) return begun.status();
  if (*begun) return PartsWriter::create(disk_, path_of(origin.number, file), origin);
  return Status(Code::kInvalidArgument,
                fmt::format("'{}' is not there, where the scheduler has made it: the folder of "
                            "checkpoints has to be the same on all hosts",
                            path_of(origin.number)));
}

Result<Folder::Found> Folder::newest(VerifyDepth depth) {
  const Result<std::vector<std::uint64_t>> there = numbers();
  if (!there.ok()) return there.status();
  Found found;
  Lineage lineage;
  for (const std::uint64_t number : newest_first(*there)) {
    Result<CheckpointManifest> manifest = open(number, depth);
    const bool is_ours = !manifest.ok() || lineage.has(*manifest);
    if (manifest.ok() && is_ours) {
      found.newest = *std::move(manifest);
      break;
    }
    const Result<bool> complete = disk_.exists(path_of(number, kManifestName));
    found.refused.push_back({.number = number,
                             .was_complete = complete.ok() && *complete,
                             .why = is_ours ? manifest.status() : lineage.stranger(number)});
    const Result<CheckpointManifest> readable = manifest_of(number);
    if (readable.ok() && lineage.has(*readable)) lineage.follow(*readable);
  }
  note_latest(disk_, path_, found);
  return found;
}

Result<CheckpointManifest> Folder::open(std::uint64_t number, VerifyDepth depth) {
  Result<CheckpointManifest> manifest = open(number);
  if (!manifest.ok() || depth == VerifyDepth::kFrame) return manifest;
  const Status whole = verify(*manifest);
  return whole.ok() ? std::move(manifest) : Result<CheckpointManifest>(whole);
}

Result<std::unique_ptr<FileHold>> Folder::hold(const std::string& who) {
  const std::string path = path_ + "/.stretto-held";
  Result<std::unique_ptr<FileHold>> hold = disk_.hold(path);
  if (hold.status().code() == Code::kUnsupported) return std::unique_ptr<FileHold>();
  if (!hold.ok()) return hold.status();
  std::string text(kMostOfHolder, '\0');
  if (*hold == nullptr) {
    const Result<std::unique_ptr<File>> file = disk_.open(path, Open::kRead);
    const Result<std::size_t> size =
        file.ok() ? (*file)->read(0, std::as_writable_bytes(std::span(text))) : file.status();
    text.resize(size.ok() ? *size : 0);
    text = text.substr(0, text.find('\n'));
    return Status(Code::kInvalidArgument,
                  fmt::format("the folder of checkpoints '{}' is in use by {}; wait until that has "
                              "ended, or name another folder",
                              path_, text.empty() ? "another process" : printable(text)));
  }
  const std::string line = who.substr(0, kMostOfHolder - 1) + "\n";
  // The holder's name is informative: a failed write does not release the lock.
  if (const auto file = disk_.open(path, Open::kWrite); file.ok()) {
    static_cast<void>((*file)->write(0, std::as_bytes(std::span(line))));
  }
  return hold;
}

Status Folder::probe() {
  const std::string path = path_ + "/.stretto-probe";  // Used only here.
  static_cast<void>(disk_.remove(path));               // A killed process may have left it.
  Status status = disk_.make_folder(path);
  return status.ok() ? disk_.remove(path) : status;
}

Status Folder::prune(std::size_t keep, std::uint64_t spared, VerifyDepth depth) {
  const Result<std::vector<std::uint64_t>> there = numbers();
  if (!there.ok()) return there.status();
  std::size_t complete = 0;
  Status first;
  for (const std::uint64_t number : newest_first(*there)) {
    const Result<bool> finished = disk_.exists(path_of(number, kManifestName));
    if (!finished.ok()) return finished.status();
    if (*finished && complete < std::max<std::size_t>(keep, 1)) {
      // A damaged one stays: its data may still be useful.
      complete += open(number, depth).ok() ? 1 : 0;
      continue;
    }
    if (complete == 0 || number == spared) continue;  // It may be in progress.
    Status status = remove(number);
    if (first.ok()) first = std::move(status);
  }
  return first;
}

// A folder without a manifest is no checkpoint, whatever files remain.
Status Folder::remove(std::uint64_t number) {
  const std::string path = path_of(number);
  // First and durably: the checkpoint that LATEST names must be complete.
  Status status;
  if (latest_in(disk_, path_) == number) {
    status = disk_.remove(fmt::format("{}/{}", path_, kLatest));
    if (status.ok()) status = disk_.sync_folder(path_);
  }
  if (status.ok()) status = disk_.remove(path_of(number, kManifestName));
  if (status.ok()) status = disk_.sync_folder(path);
  if (!status.ok()) return status;
  const Result<std::vector<std::string>> names = disk_.list(path, kMostNames);
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    status = disk_.remove(fmt::format("{}/{}", path, name));
    if (!status.ok()) return status;
  }
  return disk_.remove(path);
}

}  // namespace stretto::checkpoint
