// SPDX-License-Identifier: Apache-2.0
// A folder of /proc for each thread.
#include "common/threads/thread_dump.h"

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "common/text.h"

namespace stretto {
namespace {

constexpr std::size_t kMostThreads = 64;
constexpr std::size_t kMostWordBytes = 64;  // Of a name or a place.

// The file's first line, printable.
std::string line_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return printable(shortened(line, kMostWordBytes));
}

// "S (sleeping)", from the thread's file `status`.
std::string state_of(const std::filesystem::path& thread) {
  constexpr std::string_view kLabel = "State:\t";
  std::ifstream file(thread / "status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kLabel)) return printable(line.substr(kLabel.size()));
  }
  return "gone";
}

}  // namespace

std::string threads_in_words() {
  std::string text;
  std::error_code failed;
  std::size_t told = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", failed)) {
    if (told++ == kMostThreads) return text + "and more\n";
    const std::string place = line_of(thread.path() / "wchan");
    text += fmt::format("thread {} {}: {}{}\n", thread.path().filename().string(),
                        line_of(thread.path() / "comm"), state_of(thread.path()),
                        place.empty() || place == "0" ? "" : " in " + place);
  }
  return text;
}

}  // namespace stretto
