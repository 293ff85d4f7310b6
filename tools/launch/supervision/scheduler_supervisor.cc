// SPDX-License-Identifier: Apache-2.0
// A folder, a count and a watch.
#include "tools/launch/supervision/scheduler_supervisor.h"

#include <errno.h>
#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/files/private_folder.h"
#include "common/launch_protocol/status_lines.h"

namespace stretto::launch {
namespace {

constexpr std::size_t kSchedulerMember = 0;
constexpr const char* kJournal = "journal";
constexpr std::string_view kFolderBegin = "scheduler-";
constexpr Duration kLookEvery = 1s;
constexpr Duration kSleep = 3s;       // A longer time between looks: the launcher stood still.
constexpr Duration kBeginning = 10s;  // For a process to begin, on a host that is busy.

constexpr const char* kFiles[] = {kJournal, "journal.lock"};

void clear(const std::string& folder) {
  for (const char* name : kFiles) {
    ::unlink(fmt::format("{}/{}", folder, name).c_str());
  }
}

// Folders of launchers that have ended, and could not.
void sweep(const Descriptor& folder, const std::string& path) {
  constexpr std::size_t kMost = 1000;
  for (const std::string& name : names_in(folder, kMost)) {
    if (!name.starts_with(kFolderBegin)) continue;
    const auto process =
        whole_number<std::int32_t>(std::string_view(name).substr(kFolderBegin.size()));
    if (!process || *process <= 0 || ::kill(*process, 0) == 0 || errno != ESRCH) continue;
    const std::string left = fmt::format("{}/{}", path, name);
    clear(left);
    ::rmdir(left.c_str());
  }
}

}  // namespace

SchedulerSupervisor::SchedulerSupervisor(const Plan& plan, bool is_here,
                                         const std::vector<std::string>& folders)
    : most_(is_here ? plan.restarts : 0), silence_(plan.limits.word) {
  if (most_ == 0) return;
  refusal_ = {Code::kResource, "there is no folder for its journal"};
  for (const std::string& path : folders) {
    Result<Descriptor> opened = open_private_folder(path, true);
    if (opened.ok()) sweep(*opened, path);
    const std::string folder = fmt::format("{}/{}{}", path, kFolderBegin, ::getpid());
    if (opened.ok()) opened = open_private_folder(folder, true);
    refusal_ = opened.status();
    if (!refusal_.ok()) continue;
    clear(folder);  // Of a process that had this number, and could not.
    folder_ = folder;
    return;
  }
}

std::vector<std::string> SchedulerSupervisor::own_files(const std::vector<std::string>& folders) {
  std::vector<std::string> paths;
  for (const std::string& path : folders) {
    const std::string folder = fmt::format("{}/{}{}", path, kFolderBegin, ::getpid());
    for (const char* name : kFiles) paths.push_back(fmt::format("{}/{}", folder, name));
    paths.push_back(folder);
  }
  return paths;
}

SchedulerSupervisor::~SchedulerSupervisor() {
  if (folder_.empty()) return;
  clear(folder_);
  ::rmdir(folder_.c_str());
}

std::uint32_t SchedulerSupervisor::restarts_left() const {
  return folder_.empty() ? 0 : most_ - std::min(restarts_, most_);
}

SchedulerIncarnation SchedulerSupervisor::begin_life(Time now) {
  heard_at_ = std::max(now, now + kBeginning - silence_);
  looked_at_ = now;
  ++lives_;
  said_ = 0;
  SchedulerIncarnation life{.life = lives_, .restarts = restarts_left()};
  if (!folder_.empty()) life.journal = fmt::format("{}/{}", folder_, kJournal);
  return life;
}

void SchedulerSupervisor::note_end(std::size_t member) {
  if (member == kSchedulerMember) {
    heard_at_.reset();
  } else {
    ended_.insert(member);
  }
}

bool SchedulerSupervisor::is_news() {
  if (++said_ <= heard_) return false;
  heard_ = said_;
  return true;
}

bool SchedulerSupervisor::is_missed(Time now) {
  if (!watches_ || !heard_at_ || restarts_left() == 0) return false;
  if (now - std::exchange(looked_at_, now) > kSleep) heard_at_ = now;
  if (now - *heard_at_ < silence_) return false;
  heard_at_.reset();
  return true;
}

std::optional<Time> SchedulerSupervisor::deadline() const {
  if (!watches_ || !heard_at_ || restarts_left() == 0) return std::nullopt;
  return std::min(looked_at_ + kLookEvery, *heard_at_ + silence_);
}

}  // namespace stretto::launch
