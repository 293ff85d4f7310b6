// SPDX-License-Identifier: Apache-2.0
// The operating system's files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/files/disk.h"

namespace stretto {

/// What is made is open to others as the process's umask says. Thread: any; it holds nothing.
class RealDisk final : public Disk {
 public:
  Result<std::unique_ptr<File>> open(const std::string& path, Open how) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status make_folder(const std::string& path) override;
  Status sync_folder(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& path, std::size_t most) override;
  Result<bool> exists(const std::string& path) override;
  Result<Space> space(const std::string& path) override;
  Result<std::unique_ptr<FileHold>> hold(const std::string& path) override;
};

}  // namespace stretto
