// SPDX-License-Identifier: Apache-2.0
// Reads /proc/PID/stat and /proc/stat; proc(5) has their fields.
#include "examples/converge/usage.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace converge {

namespace {

double seconds(double ticks) { return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK)); }

struct Process {
  int parent = -1;
  double seconds = 0;
};

Process read_process(const std::filesystem::path& folder) {
  std::ifstream file(folder / "stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');  // The name may contain ')'.
  if (name_end == std::string::npos) return {};
  std::istringstream fields(line.substr(name_end + 1));
  std::string state;
  Process process;
  fields >> state >> process.parent;
  std::string skipped;
  for (int i = 0; i < 9; ++i) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  process.seconds = seconds(user + system);
  return process;
}

/// All time except idle and I/O wait (fields 4 and 5 of the first line).
double machine_seconds() {
  std::ifstream file("/proc/stat");
  std::string name;
  file >> name;
  double used = 0;
  double ticks = 0;
  for (int field = 1; field <= 8 && file >> ticks; ++field) {
    if (field != 4 && field != 5) used += ticks;
  }
  return seconds(used);
}

}  // namespace

Usage usage_now() {
  Usage usage{.machine = machine_seconds(),
              .processors = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN))};
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    if (entry.path().filename().string().find_first_not_of("0123456789") != std::string::npos) {
      continue;
    }
    const Process process = read_process(entry.path());
    if (process.parent != ::getppid()) continue;
    usage.job += process.seconds;
    ++usage.processes;
  }
  return usage;
}

}  // namespace converge
