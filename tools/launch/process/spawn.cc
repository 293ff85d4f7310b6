// SPDX-License-Identifier: Apache-2.0
// fork, a few system calls in the child, exec; an error of exec comes back through a pipe.
#include "tools/launch/process/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/process/parent_process.h"
#include "tools/launch/process/pidfd.h"

namespace stretto::launch {
namespace {

constexpr int kPatienceMs = 1000;

struct PipeEnds {
  Descriptor read;
  Descriptor write;
};

Status no_resource(std::string_view what, int error) {
  return {Code::kResource, fmt::format("{}: {}", what, ::strerror(error))};
}

// A read end of /dev/null, without a write end.
Result<PipeEnds> no_input() {
  Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!nothing.is_open()) return no_resource("cannot open /dev/null", errno);
  return PipeEnds{std::move(nothing), {}};
}

Result<PipeEnds> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return no_resource("no pipe for a process's output", errno);
  return PipeEnds{Descriptor(ends[0]), Descriptor(ends[1])};
}

// All that the child needs, prepared before fork: after it, only system calls are safe.
struct Image {
  const char* path;
  std::vector<char*> arguments;
  std::vector<char*> environment;
  const SignalState* signals;
  pid_t launcher;
  int input, output, errors, ready, failure;
};

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

bool place(int from, int to) {
  if (from == to) return ::fcntl(to, F_SETFD, 0) == 0;
  return ::dup2(from, to) == to;
}

// In the child. Ends in exec, or in an errno for the launcher.
[[noreturn]] void become(const Image& image) {
  int failure = ::fcntl(image.failure, F_DUPFD_CLOEXEC, 16);  // Above the descriptors set below.
  bool fine = failure >= 0 && ::setpgid(0, 0) == 0 && ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
  // If the launcher died before prctl() above, the kernel will not kill this child.
  if (::getppid() != image.launcher) ::_exit(127);
  fine = fine && place(image.input, 0) && place(image.output, 1) && place(image.errors, 2);
  fine = fine && (image.ready < 0 || place(image.ready, kReadyDescriptor));
  ::signal(SIGPIPE, image.signals->pipe_ignored ? SIG_IGN : SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &image.signals->mask, nullptr);
  // execvpe and not execve, for scripts without a first line that names their interpreter.
  if (fine) ::execvpe(image.path, image.arguments.data(), image.environment.data());
  const int error = errno;
  const ssize_t told = ::write(failure, &error, sizeof error);
  ::_exit(told == sizeof error ? 127 : 126);
}

// The child's errno before exec; 0: exec succeeded.
int failure_of(const Descriptor& failure) {
  int error = 0;
  ssize_t got = 0;
  do {
    got = ::read(failure.get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  return got == sizeof error ? error : 0;
}

// Sets STRETTO_STARTED_BY to this process's unique name. Child processes use the name to check
// whether this process is running.
Variables with_starter(Variables variables) {
  variables["STRETTO_STARTED_BY"] = ParentProcess::own_name();
  return variables;
}

std::vector<std::string> texts_of(const Variables& variables) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : variables) texts.push_back(fmt::format("{}={}", name, value));
  return texts;
}

}  // namespace

Result<ChildProcess> spawn(const Command& command, const Ends& ends, const SignalState& signals) {
  Result<PipeEnds> output = make_pipe();
  if (!output.ok()) return output.status();
  Result<PipeEnds> errors = make_pipe();
  if (!errors.ok()) return errors.status();
  Result<PipeEnds> failure = make_pipe();
  if (!failure.ok()) return failure.status();
  Result<PipeEnds> input = ends.wants_input ? make_pipe() : no_input();
  if (!input.ok()) return input.status();

  std::vector<std::string> arguments = command.arguments;
  std::vector<std::string> environment = texts_of(with_starter(command.environment));
  const Image image{
      command.path.c_str(), pointers_to(arguments), pointers_to(environment), &signals,
      ::getpid(),           input->read.get(),      output->write.get(),      errors->write.get(),
      ends.ready,           failure->write.get()};
  const pid_t process_id = ::fork();
  if (process_id < 0) return no_resource("no new process", errno);
  if (process_id == 0) become(image);

  failure->write.close();
  if (const int error = failure_of(failure->read); error != 0) {
    ::waitpid(process_id, nullptr, 0);
    return Status(Code::kInvalidArgument,
                  fmt::format("cannot execute '{}': {}", command.path, ::strerror(error)));
  }
  ChildProcess child{process_id, process_handle(process_id), std::move(output->read),
                     std::move(errors->read), std::move(input->write)};
  if (!child.handle.is_open()) {
    const Status status = no_resource("no pidfd (Linux 5.3 has them)", errno);
    ::kill(process_id, SIGKILL);
    ::waitpid(process_id, nullptr, 0);
    return status;
  }
  ::fcntl(child.output.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(child.errors.get(), F_SETFL, O_NONBLOCK);
  return child;
}

std::optional<Exit> exit_of(const ChildProcess& child) {
  siginfo_t found{};
  const auto id = static_cast<id_t>(child.process_id);
  if (::waitid(P_PID, id, &found, WEXITED | WNOHANG | WNOWAIT) != 0 || found.si_pid == 0) {
    return std::nullopt;
  }
  return Exit{found.si_code != CLD_EXITED, found.si_status};
}

std::optional<int> terminal_stop_of(const ChildProcess& child) {
  siginfo_t found{};
  const auto id = static_cast<id_t>(child.process_id);
  if (::waitid(P_PID, id, &found, WSTOPPED | WNOHANG) != 0 || found.si_pid == 0) {
    return std::nullopt;
  }
  const bool by_terminal = found.si_status == SIGTTIN || found.si_status == SIGTTOU;
  return by_terminal ? std::optional(found.si_status) : std::nullopt;
}

void send_signal(const ChildProcess& child, int signal, SignalOrder::Scope scope) {
  ::kill(scope == SignalOrder::Scope::kGroup ? -child.process_id : child.process_id, signal);
}

void kill_and_reap(const ChildProcess& child) {
  send_signal(child, SIGKILL, SignalOrder::Scope::kGroup);
  // Exit takes a moment, and longer if the process hangs in the kernel.
  pollfd gone{.fd = child.handle.get(), .events = POLLIN, .revents = 0};
  if (child.handle.is_open()) (void)::poll(&gone, 1, kPatienceMs);
  ::waitpid(child.process_id, nullptr, WNOHANG);
}

}  // namespace stretto::launch
