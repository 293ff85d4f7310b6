// SPDX-License-Identifier: Apache-2.0
// States and system calls, in few groups.
#include "worker/monitoring/thread_state.h"

#include <fmt/core.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

namespace stretto {
namespace {

using Rest = control::Activity::Rest;

/// What a wait in a system call waits for, and whether its first argument is a descriptor.
struct CallSort {
  long number;
  Rest rest;
  const char* name;
  bool on_file;
};

constexpr CallSort kCalls[] = {
    {SYS_futex, Rest::kLock, "futex", false},       {SYS_nanosleep, Rest::kSleep, "", false},
    {SYS_clock_nanosleep, Rest::kSleep, "", false}, {SYS_wait4, Rest::kChild, "", false},
    {SYS_waitid, Rest::kChild, "", false},          {SYS_flock, Rest::kLock, "flock", true},
    {SYS_read, Rest::kRead, "read", true},          {SYS_readv, Rest::kRead, "read", true},
    {SYS_pread64, Rest::kRead, "read", true},       {SYS_recvfrom, Rest::kRead, "recv", true},
    {SYS_recvmsg, Rest::kRead, "recv", true},       {SYS_accept4, Rest::kRead, "accept", true},
    {SYS_openat, Rest::kRead, "open", false},       {SYS_ppoll, Rest::kRead, "poll", false},
    {SYS_pselect6, Rest::kRead, "select", false},   {SYS_epoll_pwait, Rest::kRead, "epoll", false},
#ifdef SYS_poll  // Old calls, which new architectures do not have.
    {SYS_poll, Rest::kRead, "poll", false},         {SYS_select, Rest::kRead, "select", false},
    {SYS_epoll_wait, Rest::kRead, "epoll", false},  {SYS_accept, Rest::kRead, "accept", true},
#endif
};

const CallSort* sort_of(long number) {
  for (const CallSort& each : kCalls) {
    if (each.number == number) return &each;
  }
  return nullptr;
}

// "S" of "14026 (a) b) S 1 ...".
char state_in(std::string_view stat) {
  const std::size_t name_ends = stat.rfind(')');
  if (name_ends == std::string_view::npos || name_ends + 2 >= stat.size()) return '?';
  return stat[name_ends + 2];
}

// "7 0x1 0x2 ...": the number and the arguments; empty if it is "running" or makes no sense.
std::vector<unsigned long> numbers_in(std::string_view syscall) {
  std::vector<unsigned long> numbers;
  while (!syscall.empty()) {
    const std::size_t end = std::min(syscall.find_first_of(" \n"), syscall.size());
    std::string_view word = syscall.substr(0, end);
    const bool hexadecimal = word.starts_with("0x");
    if (hexadecimal) word.remove_prefix(2);
    unsigned long number = 0;
    const auto read =
        std::from_chars(word.data(), word.data() + word.size(), number, hexadecimal ? 16 : 10);
    if (read.ec != std::errc() || read.ptr != word.data() + word.size()) break;
    numbers.push_back(number);
    syscall.remove_prefix(std::min(end + 1, syscall.size()));
  }
  return numbers;
}

bool waits_for_page(std::string_view syscall, std::string_view wchan) {
  return syscall.starts_with("-1") || wchan.find("userfault") != std::string_view::npos ||
         wchan.find("swap") != std::string_view::npos;
}

// A poll of nothing is a sleep.
bool polls_nothing(std::string_view name, const std::vector<unsigned long>& call) {
  if (name == "poll") return call.size() > 2 && call[2] == 0;
  return name == "select" && call.size() > 1 && call[1] == 0;
}

std::string contents_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string file_at(int descriptor) {
  std::array<char, 256> name{};
  const std::string path = fmt::format("/proc/self/fd/{}", descriptor);
  const ssize_t length = ::readlink(path.c_str(), name.data(), name.size());
  return length <= 0 ? "a descriptor" : std::string(name.data(), static_cast<std::size_t>(length));
}

}  // namespace

ThreadState thread_rest_from(std::string_view stat, std::string_view syscall,
                             std::string_view wchan,
                             const std::function<std::string(int)>& name_of_file) {
  const char state = state_in(stat);
  if (state == 'R') return {.rest = Rest::kRuns};
  if (state != 'S' && state != 'D') return {};
  if (waits_for_page(syscall, wchan)) return {.rest = Rest::kMemory};
  const std::vector<unsigned long> call = numbers_in(syscall);
  const CallSort* sort = call.empty() ? nullptr : sort_of(static_cast<long>(call[0]));
  if (sort == nullptr) return {.rest = state == 'D' ? Rest::kDevice : Rest::kUnknown};
  if (polls_nothing(sort->name, call)) return {.rest = Rest::kSleep};
  ThreadState found{.rest = sort->rest, .on = sort->name};
  if (sort->on_file && call.size() > 1) {
    found.on = fmt::format("{} of {}", sort->name, name_of_file(static_cast<int>(call[1])));
  }
  return found;
}

ThreadState rest_of_thread(pid_t thread) {
  const std::string folder = fmt::format("/proc/self/task/{}/", thread);
  return thread_rest_from(contents_of(folder + "stat"), contents_of(folder + "syscall"),
                          contents_of(folder + "wchan"), file_at);
}

}  // namespace stretto
