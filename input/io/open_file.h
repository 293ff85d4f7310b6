// SPDX-License-Identifier: Apache-2.0
// A file for reads: opened on its first read, with O_DIRECT if requested and supported; and the
// cache of open files.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "common/descriptor.h"

namespace stretto::input {

/// Alignment of offsets, lengths and memory for O_DIRECT reads.
inline constexpr std::size_t kAlignment = 4096;

/// Thread: any. The first open wins; a second descriptor is closed.
class OpenFile {
 public:
  OpenFile(std::string path, bool direct) : path_(std::move(path)), direct_(direct) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile();

  const std::string& path() const { return path_; }
  /// The descriptor, or -1 if it is not open.
  int number() const { return number_.load(std::memory_order_acquire); }
  /// Flags to open it with.
  int flags() const;
  /// Opens it on this thread if it is not open. 0, or an errno.
  int open();
  /// Takes ownership of an open descriptor.
  void adopt(int number);
  /// True once if it used O_DIRECT: from now on it is read through the cache.
  bool refuse_direct();

 private:
  std::string path_;
  std::atomic<bool> direct_;
  std::atomic<int> number_{-1};
};

/// The most recently used files; others are reopened. Thread: loop.
class OpenFiles {
 public:
  OpenFiles(std::size_t most, bool direct) : most_(most), direct_(direct) {}
  std::shared_ptr<OpenFile> get(std::uint32_t file, const std::string& path);
  /// The next get() opens it again.
  void forget(std::uint32_t file);

 private:
  struct Entry {
    std::shared_ptr<OpenFile> file;
    std::list<std::uint32_t>::iterator used;
  };

  std::size_t most_;
  bool direct_;
  std::list<std::uint32_t> used_;  // The latest first.
  std::unordered_map<std::uint32_t, Entry> files_;
};

}  // namespace stretto::input
