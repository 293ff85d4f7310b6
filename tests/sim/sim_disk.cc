// SPDX-License-Identifier: Apache-2.0
// A tree of nodes. Each folder keeps its names as programs see them, the names on the device, and
// the changes between the two.
#include "tests/sim/sim_disk.h"

#include <errno.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace stretto::sim {

struct SimDisk::Node {
  bool is_folder = false;
  SimBytes bytes = {};
  std::map<std::string, NodePtr> names = {};
  std::map<std::string, NodePtr> stored_names = {};
  std::vector<Change> unsynced = {};  // Of the names, in order.

  static void apply(std::map<std::string, NodePtr>& names, const Change& change) {
    for (const Named& named : change) {
      if (named.node) {
        names[named.name] = named.node;
      } else {
        names.erase(named.name);
      }
    }
  }
};

/// An open file. Thread: the simulation's.
class SimDisk::OpenFile final : public File {
 public:
  OpenFile(const std::string& path, SimDisk& disk, NodePtr node, bool writes)
      : File(path),
        disk_(disk),
        node_(std::move(node)),
        writes_(writes),
        generation_(disk.generation_) {}

 private:
  Done read_some(std::uint64_t offset, std::span<std::byte> into) override;
  Done write_some(std::uint64_t offset, std::span<const std::byte> bytes) override;
  int sync_all() override;
  Result<std::uint64_t> size_now() override;

  std::uint64_t fitting(std::uint64_t offset, std::uint64_t wanted) const;
  bool is_open() const { return generation_ == disk_.generation_; }

  SimDisk& disk_;
  const NodePtr node_;
  const bool writes_;
  const std::uint64_t generation_;
};

// ---- files

File::Done SimDisk::OpenFile::read_some(std::uint64_t offset, std::span<std::byte> into) {
  if (!is_open()) return {.bytes = 0, .error = EBADF};
  if (int error = disk_.begin(DiskCall::kRead, into.size()); error != 0) return {0, error};
  const std::vector<std::byte>& seen = node_->bytes.seen();
  std::uint64_t count = std::min<std::uint64_t>(
      into.size(), seen.size() - std::min<std::uint64_t>(seen.size(), offset));
  if (count > 0 && disk_.random_.chance(disk_.options_.short_chance)) {
    count = disk_.random_.below(count + 1);
    if (count == 0) return {.bytes = 0, .error = EINTR};
  }
  std::copy_n(
      seen.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(offset, seen.size())),
      count, into.begin());
  return {.bytes = count, .error = 0};
}

File::Done SimDisk::OpenFile::write_some(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (!is_open() || !writes_) return {.bytes = 0, .error = EBADF};
  Random& random = disk_.random_;
  int error = disk_.begin(DiskCall::kWrite, bytes.size());
  if (error == 0 && disk_.crashes_now()) error = EIO;
  const std::uint64_t fits = fitting(offset, bytes.size());
  if (error != 0) {  // An unspecified part was written.
    node_->bytes.write(offset, bytes.first(random.below(fits + 1)));
    return {.bytes = 0, .error = error};
  }
  if (fits == 0) {
    const bool quota = disk_.options_.quota_bytes < disk_.options_.capacity_bytes;
    return {.bytes = 0, .error = quota ? EDQUOT : ENOSPC};
  }
  const std::uint64_t count =
      random.chance(disk_.options_.short_chance) ? random.below(fits + 1) : fits;
  if (count == 0) return {.bytes = 0, .error = EINTR};
  node_->bytes.write(offset, bytes.first(count));
  return {.bytes = count, .error = 0};
}

// The number of bytes that fit. Gaps take space too.
std::uint64_t SimDisk::OpenFile::fitting(std::uint64_t offset, std::uint64_t wanted) const {
  const std::uint64_t most = std::min(disk_.options_.capacity_bytes, disk_.options_.quota_bytes);
  const std::uint64_t end =
      node_->bytes.seen().size() + most - std::min(most, disk_.used(*disk_.root_));
  return std::min(wanted, end - std::min(end, offset));
}

int SimDisk::OpenFile::sync_all() {
  if (!is_open()) return EBADF;
  int error = disk_.begin(DiskCall::kSync);
  if (error == EINTR) return error;
  if (error != 0) {
    Luck luck(disk_.random_);
    node_->bytes.lose(luck, disk_.options_.sector_bytes);
    return error;
  }
  if (disk_.crashes_now()) error = EIO;
  if (error == 0 || disk_.random_.chance(0.5)) node_->bytes.sync();
  return error;
}

Result<std::uint64_t> SimDisk::OpenFile::size_now() {
  const int error = is_open() ? disk_.begin(DiskCall::kLook) : EBADF;
  if (error != 0) return disk_error("look at", path(), error);
  return node_->bytes.seen().size();
}

// ---- names

SimDisk::SimDisk(std::uint64_t seed, const DiskOptions& options)
    : random_(seed), options_(options), root_(std::make_shared<Node>(Node{.is_folder = true})) {}

SimDisk::~SimDisk() = default;

SimDisk::Place SimDisk::find(const std::string& path) const {
  if (path.empty()) return {.error = ENOENT};
  Place place{.node = root_};
  std::size_t at = 0;
  while (at < path.size()) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string name = path.substr(at, end - at);
    at = end + 1;
    if (name.empty() || name == ".") continue;
    if (!place.node) return {.error = ENOENT};
    if (!place.node->is_folder) return {.error = ENOTDIR};
    const auto found = place.node->names.find(name);
    const NodePtr node = found == place.node->names.end() ? nullptr : found->second;
    place = {.folder = place.node, .name = name, .node = node};
  }
  return place;
}

int SimDisk::change(Node& folder, Change change) {
  const bool crash = crashes_now();
  if (crash && random_.chance(0.5)) return EIO;
  Node::apply(folder.names, change);
  folder.unsynced.push_back(std::move(change));
  return crash ? EIO : 0;
}

Result<std::unique_ptr<File>> SimDisk::open(const std::string& path, Open how) {
  const bool create = how == Open::kCreate;
  Place place = find(path);
  int error = place.error;
  if (error == 0) error = begin(create ? DiskCall::kName : DiskCall::kLook);
  if (error == 0 && !create && !place.node) error = ENOENT;
  if (error == 0 && create && place.node) error = EEXIST;
  if (error == 0 && !create && place.node->is_folder) error = EISDIR;
  if (error == 0 && create) {
    place.node = std::make_shared<Node>();
    error = change(*place.folder, {{place.name, place.node}});
  }
  if (error != 0) return disk_error(create ? "make" : "open", path, error);
  return std::unique_ptr<File>(
      std::make_unique<OpenFile>(path, *this, place.node, how != Open::kRead));
}

Status SimDisk::rename(const std::string& from, const std::string& to) {
  if (Status status = check_rename(from, to); !status.ok()) return status;
  const Place old_place = find(from);
  const Place new_place = find(to);
  int error = begin(DiskCall::kName);
  if (error == 0) error = old_place.error;
  if (error == 0 && !old_place.node) error = ENOENT;
  if (error == 0 && new_place.node && new_place.node != old_place.node) {
    const bool onto_folder = new_place.node->is_folder;
    if (old_place.node->is_folder && !onto_folder) error = ENOTDIR;
    if (!old_place.node->is_folder && onto_folder) error = EISDIR;
    if (onto_folder && error == 0 && !new_place.node->names.empty()) error = ENOTEMPTY;
  }
  if (error == 0 && new_place.node != old_place.node) {
    error =
        change(*old_place.folder, {{new_place.name, old_place.node}, {old_place.name, nullptr}});
  }
  if (error == 0) return {};
  return disk_error(fmt::format("rename '{}' to", from), to, error);
}

Status SimDisk::remove(const std::string& path) {
  const Place place = find(path);
  int error = begin(DiskCall::kName);
  if (error == 0 && place.error != ENOENT) error = place.error;
  if (error == 0 && place.node) {
    if (!place.folder) error = EBUSY;
    if (!place.node->names.empty()) error = ENOTEMPTY;
    if (error == 0) error = change(*place.folder, {{place.name, nullptr}});
  }
  return error == 0 ? Status() : disk_error("remove", path, error);
}

Status SimDisk::make_folder(const std::string& path) {
  const Place place = find(path);
  int error = begin(DiskCall::kName);
  if (error == 0) error = place.error;
  if (error == 0 && place.node && !place.node->is_folder) error = EEXIST;
  if (error == 0 && !place.node) {
    const auto made = std::make_shared<Node>(Node{.is_folder = true});
    error = change(*place.folder, {{place.name, made}});
  }
  return error == 0 ? Status() : disk_error("make the folder", path, error);
}

Status SimDisk::sync_folder(const std::string& path) {
  const Place place = find(path);
  int error = place.error;
  if (error == 0 && !place.node) error = ENOENT;
  if (error == 0 && !place.node->is_folder) error = ENOTDIR;
  const bool is_folder = error == 0;
  if (is_folder) error = begin(DiskCall::kSync);
  if (is_folder && error != 0) lose_names(*place.node);
  const bool crash = error == 0 && crashes_now();
  if (crash) error = EIO;
  if (error == 0 || (crash && random_.chance(0.5))) {
    for (const Change& change : place.node->unsynced) Node::apply(place.node->stored_names, change);
    place.node->unsynced.clear();
  }
  return error == 0 ? Status() : disk_error("sync the folder", path, error);
}

Result<std::vector<std::string>> SimDisk::list(const std::string& path, std::size_t most) {
  const Place place = find(path);
  int error = begin(DiskCall::kLook);
  if (error == 0) error = place.error;
  if (error == 0 && !place.node) error = ENOENT;
  if (error == 0 && !place.node->is_folder) error = ENOTDIR;
  if (error != 0) return disk_error("list", path, error);
  if (place.node->names.size() > most) return too_many(path, most);
  std::vector<std::string> names;
  for (const auto& [name, node] : place.node->names) names.push_back(name);
  return names;
}

Result<bool> SimDisk::exists(const std::string& path) {
  const Place place = find(path);
  int error = begin(DiskCall::kLook);
  if (error == 0 && place.error != ENOENT) error = place.error;
  if (error != 0) return disk_error("look at", path, error);
  return place.node != nullptr;
}

Result<Space> SimDisk::space(const std::string& path) {
  const Place place = find(path);
  int error = begin(DiskCall::kLook);
  if (error == 0) error = place.error;
  if (error == 0 && !place.node) error = ENOENT;
  if (error != 0) return disk_error("find out the space at", path, error);
  const std::uint64_t free =
      options_.capacity_bytes - std::min(options_.capacity_bytes, used(*root_));
  return Space{.available_bytes = free, .total_bytes = options_.capacity_bytes};
}

std::uint64_t SimDisk::used(const Node& node) const {
  std::uint64_t bytes = node.bytes.seen().size();
  for (const auto& [name, inside] : node.names) bytes += used(*inside);
  return bytes;
}

// ---- faults

int SimDisk::begin(DiskCall call, std::uint64_t bytes) {
  const std::chrono::duration<double> carrying(static_cast<double>(bytes) /
                                               options_.bytes_per_second);
  spent_ += options_.latency + std::chrono::duration_cast<Duration>(carrying);
  if (call == DiskCall::kSync) spent_ += options_.sync_latency;
  if (crashed_) return EIO;
  const auto planned = planned_.find(call);
  if (planned != planned_.end() && planned->second.after-- == 0) {
    const int error = planned->second.error;
    planned_.erase(planned);
    return error;
  }
  return 0;
}

bool SimDisk::crashes_now() {
  crashed_ = calls_left_ == 0;
  if (!crashed_) --calls_left_;
  return crashed_;
}

void SimDisk::fail(DiskCall call, int error, std::uint64_t after) {
  planned_[call] = {.error = error, .after = after};
}

namespace {

class SimHold final : public FileHold {
 public:
  SimHold(std::shared_ptr<std::set<std::string>> held, std::string path)
      : held_(std::move(held)), path_(std::move(path)) {}
  ~SimHold() override { held_->erase(path_); }

 private:
  std::shared_ptr<std::set<std::string>> held_;
  const std::string path_;
};

}  // namespace

Result<std::unique_ptr<FileHold>> SimDisk::hold(const std::string& path) {
  const Place place = find(path);
  if (place.node && place.node->is_folder) return disk_error("open", path, EISDIR);
  if (const int error = begin(DiskCall::kLook); error != 0) {
    const Status status = disk_error("lock", path, error);
    return error == ENOLCK ? Status(Code::kUnsupported, status.cause()) : status;
  }
  if (!place.node) {
    const Result<std::unique_ptr<File>> made = open(path, Open::kCreate);
    if (!made.ok()) return made.status();
  }
  if (!held_->insert(path).second) return std::unique_ptr<FileHold>();
  return std::unique_ptr<FileHold>(std::make_unique<SimHold>(held_, path));
}

void SimDisk::restart(Crash crash) {
  held_ = std::make_shared<std::set<std::string>>();  // Releases all holds.
  if (crash == Crash::kMachine) settle(*root_);
  crashed_ = false;
  planned_.clear();
  calls_left_ = std::numeric_limits<std::uint64_t>::max();
  ++generation_;
}

// Each change of names reaches the device or not, but never before an earlier change of the same
// name or file.
void SimDisk::lose_names(Node& folder) {
  Luck luck(random_);
  std::set<std::string> lost_names;
  std::set<NodePtr> lost_nodes;
  for (const Change& change : folder.unsynced) {
    const bool follows = std::any_of(change.begin(), change.end(), [&](const Named& named) {
      return lost_names.count(named.name) != 0 || (named.node && lost_nodes.count(named.node) != 0);
    });
    if (!follows && luck.has()) {
      Node::apply(folder.stored_names, change);
      continue;
    }
    for (const Named& named : change) {
      lost_names.insert(named.name);
      lost_nodes.insert(named.node);
    }
  }
  folder.unsynced.clear();
}

void SimDisk::settle(Node& node) {
  if (!node.is_folder) {
    Luck luck(random_);
    node.bytes.lose(luck, options_.sector_bytes);
    node.bytes.restart();
    return;
  }
  lose_names(node);
  node.names = node.stored_names;
  for (const auto& [name, inside] : node.names) settle(*inside);
}

}  // namespace stretto::sim
