// SPDX-License-Identifier: Apache-2.0
// Reads /proc, and the kernel's CPU clocks, which have nanoseconds where /proc has hundredths.
#include "tools/bench/support/processes.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "common/config/config.h"

namespace stretto::bench {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The value of `name` in a process's environment, as it was when the program started.
std::string variable_of(pid_t process_id, const std::string& name) {
  const std::string all =
      std::string(1, '\0') + read_file(fmt::format("/proc/{}/environ", process_id));
  const std::string wanted = std::string(1, '\0') + name + "=";
  const std::size_t found = all.find(wanted);
  if (found == std::string::npos) return {};
  const std::size_t start = found + wanted.size();
  return all.substr(start, all.find('\0', start) - start);
}

Status ended(pid_t process_id) {
  return {Code::kPeerLost, fmt::format("process {} has ended", process_id)};
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

std::vector<pid_t> children_of(pid_t process_id) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/children", process_id, process_id));
  return {std::istream_iterator<pid_t>(file), std::istream_iterator<pid_t>()};
}

std::string role_of(pid_t process_id) {
  std::string role = variable_of(process_id, "STRETTO_ROLE");
  if (role.empty() || role == "scheduler") return role;
  return fmt::format("{} {}", role, variable_of(process_id, "STRETTO_RANK"));
}

std::vector<pid_t> servers_of(pid_t launcher) {
  std::vector<pid_t> servers = children_of(launcher);
  std::erase_if(servers,
                [](pid_t process_id) { return !role_of(process_id).starts_with("server"); });
  return servers;
}

Result<double> cpu_seconds_of(pid_t process_id) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(process_id, &clock) != 0 || ::clock_gettime(clock, &time) != 0) {
    return ended(process_id);
  }
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double cpu_seconds_of(std::span<const pid_t> process_ids) {
  double sum = 0;
  for (const pid_t process_id : process_ids) {
    if (const Result<double> one = cpu_seconds_of(process_id); one.ok()) sum += *one;
  }
  return sum;
}

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
}

// The first line: cpu, then user, nice, system, idle, iowait, irq, softirq.
double interrupt_seconds() {
  std::ifstream file("/proc/stat");
  std::string name;
  file >> name;
  std::array<double, 7> ticks{};
  for (double& each : ticks) file >> each;
  return (ticks[5] + ticks[6]) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

Result<Footprint> footprint_of(pid_t process_id) {
  std::ifstream file(fmt::format("/proc/{}/statm", process_id));
  std::uint64_t pages_of_size = 0;
  std::uint64_t pages_in_memory = 0;
  if (!(file >> pages_of_size >> pages_in_memory)) return ended(process_id);
  Footprint footprint;
  footprint.rss_mb =
      static_cast<double>(pages_in_memory) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e6;
  std::error_code error;
  const std::string tasks = fmt::format("/proc/{}/task", process_id);
  for (std::filesystem::directory_iterator task(tasks, error), none; !error && task != none;
       task.increment(error)) {
    ++footprint.threads;
  }
  if (error) return ended(process_id);
  return footprint;
}

Result<std::string> own_path() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    return Status(Code::kResource, "cannot read /proc/self/exe: " + error.message());
  }
  return path.string();
}

Result<std::string> program_path(const std::string& name) {
  if (const auto folder = process_environment()("STRETTO_BIN_DIR")) return *folder + "/" + name;
  Result<std::string> own = own_path();
  if (!own.ok()) return own;
  return std::filesystem::path(*own).replace_filename(name).string();
}

}  // namespace stretto::bench
