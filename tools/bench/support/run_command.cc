// SPDX-License-Identifier: Apache-2.0
// posix_spawn, and a pipe for the program's output.
#include "tools/bench/support/run_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <vector>

#include "tools/bench/support/system.h"

namespace stretto::bench {
namespace {

std::string read_all_of(const Descriptor& pipe) {
  std::string text;
  std::array<char, 512> bytes{};
  ssize_t got = 1;
  while (got > 0 || (got < 0 && errno == EINTR)) {
    got = ::read(pipe.get(), bytes.data(), bytes.size());
    if (got > 0) text.append(bytes.data(), static_cast<std::size_t>(got));
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace

Status run_command(std::span<const std::string> words) {
  Result<Pipe> pipe = Pipe::open();
  if (!pipe.ok()) return pipe.status();
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, pipe->write.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, pipe->write.get(), STDERR_FILENO);
  pid_t process_id = -1;
  const int refused =
      ::posix_spawnp(&process_id, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  pipe->write.close();
  if (refused == ENOENT) {
    return {Code::kUnsupported,
            fmt::format("wanted the program {}, found none in PATH", words.front())};
  }
  if (refused != 0) {
    return {Code::kResource, fmt::format("cannot run {}: {}", words.front(), ::strerror(refused))};
  }
  const std::string said = read_all_of(pipe->read);
  int status = 0;
  while (::waitpid(process_id, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return {Code::kNetwork, fmt::format("`{}` failed: {}", fmt::join(words, " "), said)};
}

int become(std::vector<std::string> words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  ::execv(pointers[0], pointers.data());
  std::fprintf(stderr, "cannot execute %s: %s\n", pointers[0], ::strerror(errno));
  return 127;
}

}  // namespace stretto::bench
