// SPDX-License-Identifier: Apache-2.0
// Opens paths without following links and then checks the open descriptor, so that no race remains.
#include "common/files/private_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <string.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>

namespace stretto {
namespace {

constexpr mode_t kOfOthers = S_IRWXG | S_IRWXO;

Status unusable(std::string_view path, std::string_view why) {
  return {Code::kResource, fmt::format("{} {}", path, why)};
}

// The reason not to trust the open file or folder; empty: none.
std::string objection(int descriptor, mode_t type) {
  struct stat found{};
  if (::fstat(descriptor, &found) != 0) return ::strerror(errno);
  if ((found.st_mode & S_IFMT) != type) return "is of the wrong kind";
  if (found.st_uid != ::geteuid()) {
    return fmt::format("belongs to another user (uid {}, wanted {})", found.st_uid, ::geteuid());
  }
  if ((found.st_mode & kOfOthers) != 0) {
    return fmt::format("is open to others (mode {:04o}); remove it, or chmod go= it",
                       found.st_mode & 07777);
  }
  return {};
}

Status write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return {Code::kResource, ::strerror(errno)};
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

Result<Descriptor> open_private_folder(const std::string& path, bool make) {
  if (make && ::mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return unusable(path, fmt::format("cannot be made: {}", ::strerror(errno)));
  }
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.is_open()) {
    return unusable(path, fmt::format("cannot be opened as a folder: {}", ::strerror(errno)));
  }
  if (const std::string why = objection(folder.get(), S_IFDIR); !why.empty()) {
    return unusable(path, why);
  }
  return folder;
}

std::vector<std::string> names_in(const Descriptor& folder, std::size_t most) {
  // A new descriptor, since listing moves the position of an open folder.
  const int copy = ::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(copy < 0 ? nullptr : ::fdopendir(copy),
                                                    ::closedir);
  std::vector<std::string> names;
  while (listing && names.size() < most) {
    const dirent* entry = ::readdir(listing.get());
    if (entry == nullptr) break;
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> read_private_file(const Descriptor& folder, const std::string& name,
                                      std::size_t most) {
  const Descriptor file(
      ::openat(folder.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open()) {
    return unusable(name, fmt::format("cannot be opened: {}", ::strerror(errno)));
  }
  if (const std::string why = objection(file.get(), S_IFREG); !why.empty()) {
    return unusable(name, why);
  }
  std::string text(most + 1, '\0');
  std::size_t length = 0;
  while (length < text.size()) {
    const ssize_t came = ::read(file.get(), text.data() + length, text.size() - length);
    if (came < 0 && errno == EINTR) continue;
    if (came < 0) return unusable(name, fmt::format("cannot be read: {}", ::strerror(errno)));
    if (came == 0) break;
    length += static_cast<std::size_t>(came);
  }
  if (length > most) return unusable(name, fmt::format("is longer than {} bytes", most));
  text.resize(length);
  return text;
}

Status write_private_file(const Descriptor& folder, const std::string& name,
                          const std::string& text) {
  const std::string draft = "." + name;
  ::unlinkat(folder.get(), draft.c_str(), 0);  // From a process that ended while writing.
  const Descriptor file(::openat(folder.get(), draft.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                 S_IRUSR | S_IWUSR));
  if (!file.is_open()) {
    return unusable(name, fmt::format("cannot be made: {}", ::strerror(errno)));
  }
  Status status = write_all(file.get(), text);
  if (status.ok() && ::renameat(folder.get(), draft.c_str(), folder.get(), name.c_str()) != 0) {
    status = Status(Code::kResource, ::strerror(errno));
  }
  if (status.ok()) return {};
  ::unlinkat(folder.get(), draft.c_str(), 0);
  return unusable(name, fmt::format("cannot be written: {}", status.cause()));
}

bool is_own_folder(const std::string& path) {
  struct stat found{};
  return path.starts_with('/') && ::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
         found.st_uid == ::geteuid() && (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace stretto
