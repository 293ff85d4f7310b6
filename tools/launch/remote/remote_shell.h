// SPDX-License-Identifier: Apache-2.0
// RemoteShell: a running ssh, srun or mpirun that starts agents on other hosts. Its output is for
// the user, and its last line explains a failure.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "tools/launch/process/line_splitter.h"
#include "tools/launch/process/poller.h"
#include "tools/launch/process/spawn.h"

namespace stretto::launch {

/// Thread: loop. The destructor kills its process group.
class RemoteShell {
 public:
  using OnLine = std::function<void(std::string_view line)>;
  using OnEnd = std::function<void()>;

  RemoteShell(Poller& poller, OnLine on_line, OnEnd on_end);
  ~RemoteShell();
  RemoteShell(const RemoteShell&) = delete;
  RemoteShell& operator=(const RemoteShell&) = delete;

  /// `carries`: its stdin and stdout belong to an agent, and the caller takes them; else stdout has
  /// lines as stderr has, and stdin is empty.
  Status start(const Command& command, const SignalState& signals, bool carries);
  /// Once each, and only after start() with `carries`.
  Descriptor take_input() { return std::move(child_.input); }
  Descriptor take_output() { return std::move(child_.output); }
  pid_t process_id() const { return child_.process_id; }
  bool running() const { return child_.handle.is_open() && !exit_; }
  const std::optional<Exit>& exit() const { return exit_; }
  /// Its last line of output; empty: none.
  const std::string& last_words() const { return last_words_; }
  void terminate() const;

 private:
  struct Stream {
    Descriptor* descriptor;
    LineSplitter lines;
  };

  void read(Stream& stream);
  void take_line(std::string_view line);
  void take_end();

  Poller& poller_;
  const OnLine on_line_;
  const OnEnd on_end_;
  ChildProcess child_;
  Stream output_{&child_.output, {}};
  Stream errors_{&child_.errors, {}};
  std::optional<Exit> exit_;
  std::string last_words_;
};

}  // namespace stretto::launch
