// SPDX-License-Identifier: Apache-2.0
// The launcher's process, its files and its FIFO.
#include "tests/tools/launch_fixture.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

#include "common/config/config.h"
#include "tools/launch/process/pidfd.h"

namespace stretto::launch {
namespace {

constexpr const char* kPrelude = R"(
note() { echo "$1" >>"$HERE/notes"; }
tell() { echo "$1" >"$HERE/fifo"; }
# Between these two a script sets its traps: its child must not inherit them.
nap() { sleep 1000 & }
forever() { while test -z "$done"; do wait $!; done; }
await_go() { read x <"$HERE/go"; }
remember() { echo $$ >>"$HERE/ids"; }
)";

// True once there is something to read, false after `patience`.
bool readable(const Descriptor& descriptor, Duration patience) {
  pollfd look{descriptor.get(), POLLIN, 0};
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(patience).count();
  return ::poll(&look, 1, static_cast<int>(std::max<std::int64_t>(wait, 0))) > 0;
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace

std::vector<std::string> Outcome::sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::string Outcome::last_error() const {
  std::string text = errors;
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

void LaunchFixture::SetUp() {
  std::string pattern = std::filesystem::temp_directory_path() / "stretto-launch-XXXXXX";
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  folder_ = pattern;
  const auto directory = process_environment()("STRETTO_BIN_DIR");
  ASSERT_TRUE(directory) << "STRETTO_BIN_DIR must say where stretto-launch is; ctest sets it";
  launcher_path_ = *directory + "/stretto-launch";
  ASSERT_EQ(::access(launcher_path_.c_str(), X_OK), 0) << launcher_path_;
  for (auto [name, descriptor] : {std::pair("fifo", &fifo_), std::pair("go", &go_fifo_)}) {
    ASSERT_EQ(::mkfifo((folder_ / name).c_str(), 0600), 0);
    *descriptor = Descriptor(::open((folder_ / name).c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    ASSERT_TRUE(descriptor->is_open());
  }
  // Orphans of a killed launcher become children of this process, which can then await their end.
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  script("stretto-scheduler", "echo 127.0.0.1:45678 >&3; echo all are here >&3");
  script("stretto-server", "exit 0");
}

void LaunchFixture::TearDown() {
  if (launcher_ > 0) finish();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string LaunchFixture::script(const std::string& name, const std::string& text) const {
  const std::filesystem::path path = folder_ / name;
  std::ofstream(path) << "#!/bin/sh\nHERE=" << folder_.string() << kPrelude << text << '\n';
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

void LaunchFixture::start(const std::vector<std::string>& words, int output) {
  std::vector<std::string> arguments{launcher_path_, "--bin-dir", folder_};
  arguments.insert(arguments.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  // The launcher would warn of STRETTO_ variables that ctest or a shell sets for the tests.
  std::vector<char*> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("STRETTO_")) variables.push_back(*entry);
  }
  variables.push_back(nullptr);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  const Descriptor out(output >= 0 ? ::dup(output)
                                   : ::open((folder_ / "output").c_str(), kFlags, 0600));
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  errors_ = Descriptor(ends[0]);
  errors_text_.clear();
  const Descriptor errors(ends[1]);
  launcher_ = ::fork();
  ASSERT_GE(launcher_, 0);
  if (launcher_ > 0) return;
  ::dup2(out.get(), STDOUT_FILENO);
  ::dup2(errors.get(), STDERR_FILENO);
  ::execve(pointers[0], pointers.data(), variables.data());
  ::_exit(125);
}

Outcome LaunchFixture::finish() {
  Outcome outcome;
  const pid_t launcher = std::exchange(launcher_, -1);
  const Time until = clock_.now() + kPatience;
  while (read_more(errors_, errors_text_, until)) {
  }
  if (!readable(process_handle(launcher), until - clock_.now())) ::kill(launcher, SIGKILL);
  int status = 0;
  EXPECT_EQ(::waitpid(launcher, &status, 0), launcher);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.output = file("output");
  outcome.errors = errors_text_;
  return outcome;
}

bool LaunchFixture::read_more(const Descriptor& from, std::string& text, Time until) const {
  if (!readable(from, until - clock_.now())) return false;
  std::array<char, 4096> bytes;
  const ssize_t got = ::read(from.get(), bytes.data(), bytes.size());
  if (got > 0) text.append(bytes.data(), static_cast<std::size_t>(got));
  return got > 0;
}

std::string LaunchFixture::told() {
  const Time until = clock_.now() + kPatience;
  while (told_.find('\n') == std::string::npos) {
    if (!read_more(fifo_, told_, until)) return "nothing was told";
  }
  const std::size_t end = told_.find('\n');
  std::string line = told_.substr(0, end);
  told_.erase(0, end + 1);
  return line;
}

void LaunchFixture::let_go() { ASSERT_EQ(::write(go_fifo_.get(), "\n", 1), 1); }

bool LaunchFixture::await_error(const std::string& text) {
  const Time until = clock_.now() + kPatience;
  while (errors_text_.find(text) == std::string::npos) {
    if (!read_more(errors_, errors_text_, until)) return false;
  }
  return true;
}

std::string LaunchFixture::file(const std::string& name) const { return contents(folder_ / name); }

std::vector<pid_t> LaunchFixture::remembered() const {
  std::ifstream stream(folder_ / "ids");
  return {std::istream_iterator<pid_t>(stream), std::istream_iterator<pid_t>()};
}

bool LaunchFixture::gone(pid_t process_id) const {
  const Descriptor handle = process_handle(process_id);
  if (!handle.is_open()) return true;
  if (!readable(handle, kPatience)) return false;
  return ::waitpid(process_id, nullptr, 0) == process_id || ::kill(process_id, 0) != 0;
}

}  // namespace stretto::launch
