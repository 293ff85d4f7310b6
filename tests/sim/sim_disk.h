// SPDX-License-Identifier: Apache-2.0
// SimDisk: a disk in memory that passes the conformance suite of disks, and on which everything
// that a real one may do happens by a seed: a crash loses and tears what was not synced, space runs
// out in the middle of a write, calls fail, are cut short, are interrupted, and take time.
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
  std::uint64_t quota_bytes = std::numeric_limits<std::uint64_t>::max();  ///< Not told by space().
  std::uint64_t sector_bytes = 512;
  double short_chance = 0;        ///< Of reads and writes: fewer bytes than asked for, or EINTR.
  Duration latency = 0ns;         ///< Of each call.
  Duration sync_latency = 0ns;    ///< And of those that sync.
  double bytes_per_second = 1e9;  ///< Of reads and writes.
};

/// What ends: everything that is open is closed then.
enum class Crash : std::uint8_t {
  kProcess,  ///< The process: what it wrote stays.
  kMachine,  ///< The machine: what was not synced stays in part.
};

/// Calls that can be made to fail: those that look at names or sizes, and those that change names,
/// are one kind each.
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

  /// After `calls` more calls that change something the next one happens in part, or not, and from
  /// then on all fail, until restart().
  void crash_after(std::uint64_t calls) { calls_left_ = calls; }
  bool crashed() const { return crashed_; }
  /// How the disk is found afterwards, and without faults. Files that were open stay unusable.
  void restart(Crash crash);
  /// The next call of the kind, or one of those after it, fails with an error of <errno.h>. A sync
  /// that fails loses some of what it should have synced, and does not know it the next time.
  void fail(DiskCall call, int error, std::uint64_t after = 0);
  /// How long all calls have taken. Nobody waits here: who drives their caller lets it pass.
  Duration spent() const { return spent_; }

 private:
  class OpenFile;
  struct Node;
  using NodePtr = std::shared_ptr<Node>;
  struct Place {  // What a path leads to.
    NodePtr folder = nullptr;
    std::string name = {};
    NodePtr node = nullptr;  // None: nothing has that name.
    int error = 0;           // Why there is no such folder.
  };
  struct Named {
    std::string name;
    NodePtr node;  // None: nothing has that name any more.
  };
  using Change = std::vector<Named>;  // What happens in one step.
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
