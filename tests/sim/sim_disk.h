// SPDX-License-Identifier: Apache-2.0
// SimDisk: a disk in memory that passes the conformance suite of disks, with seeded faults. A crash
// loses and tears unsynced data, and space runs out in the middle of a write. Calls fail, are cut
// short, are interrupted, and take time.
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/files/disk.h"
#include "tests/sim/random.h"
#include "tests/sim/sim_bytes.h"

namespace stretto::sim {

struct DiskOptions {
  std::uint64_t capacity_bytes = std::uint64_t{1} << 30;
  std::uint64_t quota_bytes = std::numeric_limits<std::uint64_t>::max();  ///< space() ignores it.
  std::uint64_t sector_bytes = 512;
  double short_chance = 0;        ///< Of reads and writes: fewer bytes than requested, or EINTR.
  Duration latency = 0ns;         ///< Of each call.
  Duration sync_latency = 0ns;    ///< In addition for syncs.
  double bytes_per_second = 1e9;  ///< Of reads and writes.
};

/// The scope of a crash, which closes all open files.
enum class Crash : std::uint8_t {
  kProcess,  ///< The process ends: its writes stay.
  kMachine,  ///< The machine ends: unsynced data stays in part.
};

/// Kinds of calls that can be made to fail. kLook reads names or sizes; kName changes names.
enum class DiskCall : std::uint8_t { kLook, kRead, kWrite, kSync, kName };
inline constexpr int kDiskCalls = 5;

/// Thread: the simulation's.
class SimDisk final : public Disk {
 public:
  explicit SimDisk(std::uint64_t seed, const DiskOptions& options = {});
  ~SimDisk() override;

  Result<std::unique_ptr<File>> open(const std::string& path, Open how) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status make_folder(const std::string& path) override;
  Status sync_folder(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& path, std::size_t most) override;
  Result<bool> exists(const std::string& path) override;
  Result<Space> space(const std::string& path) override;
  Result<std::unique_ptr<FileHold>> hold(const std::string& path) override;

  /// After `calls` more modifying calls, the next one happens in part or not at all. From then on
  /// all calls fail until restart().
  void crash_after(std::uint64_t calls) { calls_left_ = calls; }
  bool crashed() const { return crashed_; }
  /// Restores the disk as found after the crash, without faults. Open files stay unusable.
  void restart(Crash crash);
  /// The call of this kind after `after` more fails with an error of <errno.h>. A failed sync loses
  /// some unsynced data, and later syncs do not report that.
  void fail(DiskCall call, int error, std::uint64_t after = 0);
  /// The duration of all calls. Calls do not wait: the driver of the caller advances the clock.
  Duration spent() const { return spent_; }

 private:
  class OpenFile;
  struct Node;
  using NodePtr = std::shared_ptr<Node>;
  struct Place {  // A resolved path.
    NodePtr folder = nullptr;
    std::string name = {};
    NodePtr node = nullptr;  // Null: the name does not exist.
    int error = 0;           // The errno if the folder does not exist.
  };
  struct Named {
    std::string name;
    NodePtr node;  // Null: the name was removed.
  };
  using Change = std::vector<Named>;  // One atomic step.
  struct Planned {
    int error = 0;
    std::uint64_t after = 0;
  };

  int begin(DiskCall call, std::uint64_t bytes = 0);
  bool crashes_now();
  Place find(const std::string& path) const;
  int change(Node& folder, Change change);
  void lose_names(Node& folder);
  void settle(Node& node);
  std::uint64_t used(const Node& node) const;

  Random random_;
  DiskOptions options_;
  NodePtr root_;
  std::uint64_t generation_ = 1;  // Of the machine that has files open.
  std::uint64_t calls_left_ = std::numeric_limits<std::uint64_t>::max();
  bool crashed_ = false;
  std::map<DiskCall, Planned> planned_;
  Duration spent_{};
  std::shared_ptr<std::set<std::string>> held_ = std::make_shared<std::set<std::string>>();
};

}  // namespace stretto::sim
