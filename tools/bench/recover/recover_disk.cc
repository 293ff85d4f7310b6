// SPDX-License-Identifier: Apache-2.0
// Plain file I/O: one thread for each file, blocks of 4 MiB, only read(), write() and fsync().
#include "tools/bench/recover/recover_disk.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <thread>

#include "tools/bench/support/now.h"
#include "tools/bench/support/system.h"

namespace stretto::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBlockBytes = 4 << 20;

// Not zeros: some disks do not store them.
std::vector<std::byte> block() {
  std::vector<std::byte> bytes(kBlockBytes);
  std::minstd_rand random(1);
  for (std::byte& each : bytes) each = static_cast<std::byte>(random() >> 8);
  return bytes;
}

Status write_whole_file(const std::string& path, std::uint64_t bytes,
                        const std::vector<std::byte>& block) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file.is_open()) return refused(Code::kResource, path);
  for (std::uint64_t left = bytes; left > 0;) {
    const ssize_t wrote =
        ::write(file.get(), block.data(), std::min<std::uint64_t>(left, block.size()));
    if (wrote <= 0) return refused(Code::kResource, path);
    left -= static_cast<std::uint64_t>(wrote);
  }
  return ::fsync(file.get()) == 0 ? Status() : refused(Code::kResource, path);
}

Status read_whole_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return refused(Code::kResource, path);
  std::vector<std::byte> bytes(kBlockBytes);
  ssize_t got = 1;
  while (got > 0) got = ::read(file.get(), bytes.data(), bytes.size());
  return got == 0 ? Status() : refused(Code::kResource, path);
}

// The time of `work` for all paths in parallel.
Result<double> seconds_of_all(const std::vector<std::string>& paths,
                              const std::function<Status(const std::string& path)>& work) {
  std::vector<Status> ends(paths.size());
  const Time begun = now();
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      threads.emplace_back([&, i] { ends[i] = work(paths[i]); });
    }
  }
  const double took = seconds(now() - begun);
  for (const Status& end : ends) {
    if (!end.ok()) return end;
  }
  return took;
}

}  // namespace

Result<Scratch> Scratch::make(const std::string& parent) {
  std::error_code error;
  const fs::path above = parent.empty() ? fs::temp_directory_path(error) : fs::path(parent);
  std::string path = (fs::absolute(above, error) / "stretto-bench-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr) return refused(Code::kResource, path);
  return Scratch(path);
}

Scratch::Scratch(Scratch&& other) noexcept : path_(std::exchange(other.path_, {})) {}

Scratch::~Scratch() {
  std::error_code error;
  if (!path_.empty()) fs::remove_all(path_, error);
}

Result<FileSet> newest_checkpoint(const std::string& folder) {
  std::ifstream latest(folder + "/LATEST");
  std::string name;
  if (!(latest >> name)) {
    return Status(Code::kResource, "there is no complete checkpoint in " + folder);
  }
  FileSet files;
  std::error_code error;
  for (fs::directory_iterator entry(fs::path(folder) / name, error), none; !error && entry != none;
       entry.increment(error)) {
    files.paths.push_back(entry->path().string());
    files.bytes += entry->file_size(error);
  }
  if (error) return Status(Code::kResource, folder + "/" + name + ": " + error.message());
  return files;
}

Result<double> plain_write_seconds(const std::string& folder, std::uint32_t files,
                                   std::uint64_t bytes) {
  const std::vector<std::byte> content = block();
  std::vector<std::string> paths;
  for (std::uint32_t i = 0; i < files; ++i) {
    paths.push_back(folder + "/plain-" + std::to_string(i));
  }
  Result<double> took = seconds_of_all(
      paths, [&](const std::string& path) { return write_whole_file(path, bytes, content); });
  std::error_code error;
  for (const std::string& path : paths) fs::remove(path, error);
  return took;
}

Result<double> plain_read_seconds(const FileSet& files) {
  return seconds_of_all(files.paths, read_whole_file);
}

Status forget(const FileSet& files) {
  for (const std::string& path : files.paths) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.is_open()) return refused(Code::kResource, path);
    ::fdatasync(file.get());
    ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  }
  return {};
}

}  // namespace stretto::bench
