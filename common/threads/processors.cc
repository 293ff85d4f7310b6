// SPDX-License-Identifier: Apache-2.0
// Parses the kernel's load, affinity and cgroup quotas.
#include "common/threads/processors.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

namespace stretto {
namespace {

constexpr std::string_view kGroups = "/sys/fs/cgroup";

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || stop == text.data()) return std::nullopt;
  return number;
}

std::string_view field_of(std::string_view text, int index) {
  for (; index > 0; --index) text.remove_prefix(std::min(text.find(' ') + 1, text.size()));
  return text.substr(0, text.find_first_of(" \n"));
}

std::string small_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return {};
  std::string text(4096, '\0');
  const ssize_t bytes = ::read(file.get(), text.data(), text.size());
  text.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  return text;
}

// The path of this process's cgroup, from the line of `controller` in /proc/self/cgroup: "0::/a/b",
// or "4:cpu,cpuacct:/a/b".
std::optional<std::string> group_of(std::string_view lines, std::string_view controller) {
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string names = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    if (names.find(fmt::format(",{},", controller)) == std::string::npos) continue;
    return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

std::optional<double> smaller(std::optional<double> a, std::optional<double> b) {
  if (!a) return b;
  return b ? std::min(*a, *b) : a;
}

// The smallest quota of a cgroup and its ancestors. In a container the path may be the host's and
// not exist here; then the mounted root has the quota.
template <typename Read>
std::optional<double> smallest_quota(std::string path, const Read& read) {
  std::optional<double> quota;
  for (;;) {
    if (path == "/") path.clear();
    quota = smaller(quota, read(path));
    if (path.empty()) return quota;
    path.resize(std::min(path.rfind('/'), path.size() - 1));
  }
}

std::optional<double> quota_of_this_process() {
  const std::string lines = small_file("/proc/self/cgroup");
  std::optional<double> quota;
  if (const auto group = group_of(lines, "")) {
    quota = smallest_quota(*group, [](const std::string& path) {
      return quota_in(small_file(fmt::format("{}{}/cpu.max", kGroups, path)));
    });
  }
  if (const auto group = group_of(lines, "cpu")) {
    const std::optional<double> old = smallest_quota(*group, [](const std::string& path) {
      const std::string folder = fmt::format("{}/cpu{}", kGroups, path);
      return quota_in(small_file(folder + "/cpu.cfs_quota_us"),
                      small_file(folder + "/cpu.cfs_period_us"));
    });
    quota = smaller(quota, old);
  }
  return quota;
}

}  // namespace

std::optional<int> runnable_in(std::string_view loadavg) {
  const std::string_view counts = field_of(loadavg, 3);  // "0.10 0.08 0.05 2/345 6789"
  const std::size_t slash = counts.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::optional<std::int64_t> number = whole_number(counts.substr(0, slash));
  if (!number || *number < 0 || *number > 1 << 22) return std::nullopt;
  return static_cast<int>(*number);
}

std::optional<double> quota_in(std::string_view cpu_max) {
  return quota_in(field_of(cpu_max, 0), field_of(cpu_max, 1));
}

std::optional<double> quota_in(std::string_view quota_us, std::string_view period_us) {
  const std::optional<std::int64_t> quota = whole_number(quota_us);
  const std::optional<std::int64_t> period = whole_number(period_us);
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

Processors::Processors()
    : loadavg_(::open("/proc/loadavg", O_RDONLY | O_CLOEXEC)),
      online_(static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN))),
      quota_(quota_of_this_process()) {}

double Processors::usable() const {
  cpu_set_t set;
  CPU_ZERO(&set);
  // Fails on machines with more processors than a cpu_set_t holds.
  const int allowed = ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : online_;
  return quota_ ? std::min<double>(*quota_, allowed) : allowed;
}

bool Processors::suffice() const {
  std::array<char, 96> text;
  const ssize_t bytes = ::pread(loadavg_.get(), text.data(), text.size(), 0);
  if (bytes <= 0) return false;
  const std::optional<int> runnable =
      runnable_in(std::string_view(text.data(), static_cast<std::size_t>(bytes)));
  return runnable && *runnable <= online_;
}

}  // namespace stretto
