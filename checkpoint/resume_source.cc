// SPDX-License-Identifier: Apache-2.0
// Resolves a path of the user to a checkpoint.
#include "checkpoint/resume_source.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace stretto::checkpoint {
namespace {

std::string plain(const std::string& path) {
  std::filesystem::path whole = std::filesystem::path(path).lexically_normal();
  if (!whole.has_filename() && whole.has_relative_path()) whole = whole.parent_path();
  return whole.string();
}

bool is_one_folder(const std::string& left, const std::string& right) {
  std::error_code error;
  return left == right || (std::filesystem::equivalent(left, right, error) && !error);
}

Status refused(std::string_view path, std::string_view why) {
  return {Code::kInvalidArgument,
          fmt::format("the job is to go on from '{}' (--resume, STRETTO_RESUME), and {}; wanted "
                      "auto, no, a folder of checkpoints, or one of them, such as DIR/ckpt-17",
                      path, why)};
}

// The complete checkpoints, for an error.
std::string complete_ones(Folder& folder) {
  const Result<std::vector<std::uint64_t>> there = folder.numbers();
  std::string names;
  if (!there.ok()) return names;
  for (const std::uint64_t number : *there) {
    if (folder.open(number).ok()) names += fmt::format("{}{}", names.empty() ? "" : ", ", number);
  }
  return names;
}

Result<Folder::Found> find_one(Folder& folder, const ResumeSource& source) {
  Result<CheckpointManifest> manifest = folder.open(source.number);
  Status status = manifest.ok() ? folder.verify(*manifest) : manifest.status();
  if (status.ok()) return Folder::Found{.newest = *std::move(manifest), .refused = {}};
  const std::string others = complete_ones(folder);
  return refused(folder.path_of(source.number),
                 fmt::format("it cannot be used: {} (in '{}' are complete: {})", status.cause(),
                             folder.path(), others.empty() ? "none" : others));
}

}  // namespace

ResumeSource source_of(const CheckpointSettings& settings) {
  if (settings.source.empty()) return {.folder = settings.folder, .is_saved_to = true};
  ResumeSource source{.folder = plain(settings.source), .is_named = true};
  const std::filesystem::path path(source.folder);
  if (const auto number = number_named(path.filename().string())) {
    source.number = *number;
    source.folder = path.has_parent_path() ? path.parent_path().string() : ".";
  }
  source.is_saved_to =
      !settings.folder.empty() && is_one_folder(source.folder, plain(settings.folder));
  if (source.is_saved_to) source.folder = settings.folder;
  return source;
}

Result<Folder::Found> find(Folder& folder, Disk& disk, const ResumeSource& source) {
  if (!source.is_named) return folder.newest(VerifyDepth::kAll);
  const std::string path = source.number == 0 ? folder.path() : folder.path_of(source.number);
  const Result<bool> is_there = disk.exists(path);
  if (!is_there.ok()) return is_there.status();
  if (!*is_there) return refused(path, "nothing is there");
  if (source.number != 0) return find_one(folder, source);
  Result<Folder::Found> found = folder.newest(VerifyDepth::kAll);
  if (!found.ok()) {
    return refused(path, fmt::format("it cannot be read: {}", found.status().cause()));
  }
  if (found->newest) return found;
  const auto damaged = std::ranges::find(found->refused, true, &Folder::Refused::was_complete);
  if (damaged == found->refused.end()) return refused(path, "no complete checkpoint is in it");
  return refused(path, fmt::format("no checkpoint in it can be used, the newest because: {}",
                                   damaged->why.cause()));
}

}  // namespace stretto::checkpoint
