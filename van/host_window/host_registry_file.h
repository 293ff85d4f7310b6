// SPDX-License-Identifier: Apache-2.0
// HostRegistryFile: the seats of all endpoints of one user, one network namespace and one
// interface, in a small file in shared memory. Whoever comes first makes it, and the last to leave
// takes it away; what the killed leave behind is taken over by those who come next.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "common/descriptor.h"
#include "stretto/status.h"
#include "van/host_window/host_registry.h"

namespace stretto::host {

/// Where processes of one host find one another: other names lie elsewhere for tests only.
inline constexpr std::string_view kSharedMemory = "/dev/shm";

/// The path for traffic through that interface (its index), of this user and network namespace.
std::string seats_path(std::string_view folder, std::uint32_t interface);

/// Takes away the other files of this user in the folder of `path` if no seat of theirs is
/// anybody's: of networks that are no more, whose processes were killed. Looks at a few hundred.
void remove_abandoned(const std::string& path, const ProcessMark& mine, const LifeOf& life_of,
                      Time now);

/// Thread: loop.
class HostRegistryFile {
 public:
  /// Errors: Resource, with what is wrong with the file or with where it should be; Unsupported,
  /// if it is of another version.
  static Result<HostRegistryFile> open(const std::string& path);

  HostRegistryFile(HostRegistryFile&& other) noexcept;
  HostRegistryFile& operator=(HostRegistryFile&&) = delete;
  ~HostRegistryFile();

  /// Nobody had made it yet.
  bool is_new() const { return is_new_; }
  HostRegistry seats() const { return HostRegistry(*layout_); }
  /// False if the path leads elsewhere by now, or nowhere: others will not find this one.
  bool is_current() const;
  /// Takes the file away if no seat is anybody's. Who comes meanwhile finds all of them taken, and
  /// then is_current() false.
  void remove_if_empty(const ProcessMark& mine, const LifeOf& life_of, Time now);

 private:
  HostRegistryFile(std::string path, const struct stat& file, SeatsLayout* layout)
      : path_(std::move(path)),
        is_new_(file.st_size == 0),
        device_(file.st_dev),
        number_(file.st_ino),
        layout_(layout) {}

  std::string path_;
  bool is_new_;
  dev_t device_;
  ino_t number_;
  SeatsLayout* layout_;
};

}  // namespace stretto::host
