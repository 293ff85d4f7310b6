// SPDX-License-Identifier: Apache-2.0
// Reads whole reports only: each is one write below PIPE_BUF, which is atomic.
#include "tools/bench/support/report_pipe.h"

#include <fmt/core.h>
#include <poll.h>

#include "tools/bench/support/system.h"

namespace stretto::bench {
Result<ReportPipe> ReportPipe::open() {
  Result<Pipe> pipe = Pipe::open();
  if (!pipe.ok()) return pipe.status();
  Descriptor write = inheritable(pipe->write);
  if (!write.is_open() || ::fcntl(pipe->read.get(), F_SETFL, O_NONBLOCK) != 0) {
    return refused(Code::kResource, "no pipe for reports");
  }
  return ReportPipe(std::move(pipe->read), std::move(write));
}

Status ReportPipe::await(std::size_t count, std::vector<Child*> writers, Time deadline) {
  while (true) {
    std::vector<pollfd> looks{{read_.get(), POLLIN, 0}};
    for (const Child* writer : writers) looks.push_back({writer->handle().get(), POLLIN, 0});
    const int ready = ::poll(looks.data(), looks.size(), milliseconds_to(deadline));
    if (ready < 0 && errno != EINTR) return refused(Code::kResource, "no pipe for reports");
    take();  // After poll: a writer that has ended reported before.
    if (reports_.size() >= count) return {};
    const std::string missing =
        fmt::format("{} of {} processes have not reported", count - reports_.size(), count);
    if (ready == 0) return {Code::kTimeout, missing + " in time"};
    for (std::size_t i = looks.size() - 1; ready > 0 && i > 0; --i) {
      if (looks[i].revents == 0) continue;
      const int status = writers[i - 1]->wait(deadline).value_or(0);
      writers.erase(writers.begin() + static_cast<std::ptrdiff_t>(i - 1));
      if (status == 0 && !writers.empty()) continue;
      return {Code::kPeerLost, fmt::format("{}, and a process ended with status {}; what it said "
                                           "is above",
                                           missing, status)};
    }
  }
}

void ReportPipe::take() {
  Report report;
  while (::read(read_.get(), &report, sizeof report) == sizeof report) reports_.push_back(report);
}

Status write_report(int descriptor, const Report& report) {
  if (::write(descriptor, &report, sizeof report) == sizeof report) return {};
  return refused(Code::kCancelled, "nobody takes the report");
}

}  // namespace stretto::bench
