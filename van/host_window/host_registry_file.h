// SPDX-License-Identifier: Apache-2.0
// HostRegistryFile: the seats of all endpoints of one user, network namespace and interface, in a
// small file in shared memory. The first process creates it, and the last one removes it; later
// processes take over what killed ones leave behind.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "common/descriptor.h"
#include "stretto/status.h"
#include "van/host_window/host_registry.h"

namespace stretto::host {

/// Where processes of one host find each other; tests use other folders.
inline constexpr std::string_view kSharedMemory = "/dev/shm";

/// The path for traffic through the interface of that index, of this user and network namespace.
std::string seats_path(std::string_view folder, std::uint32_t interface);

/// Removes this user's other files in the folder of `path` whose seats are all free or abandoned,
/// as after killed processes and removed networks. Checks a few hundred.
void remove_abandoned(const std::string& path, const ProcessMark& mine, const LifeOf& life_of,
                      Time now);

/// Thread: loop.
class HostRegistryFile {
 public:
  /// Errors: Resource, if the file or its folder is unusable; Unsupported, if the file has another
  /// version.
  static Result<HostRegistryFile> open(const std::string& path);

  HostRegistryFile(HostRegistryFile&& other) noexcept;
  HostRegistryFile& operator=(HostRegistryFile&&) = delete;
  ~HostRegistryFile();

  /// The file was created just now.
  bool is_new() const { return is_new_; }
  HostRegistry seats() const { return HostRegistry(*layout_); }
  /// False if the path leads to another file or none: other processes will not find this one.
  bool is_current() const;
  /// Removes the file if all seats are free. A process that opens it meanwhile finds all seats
  /// taken, and then is_current() false.
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
