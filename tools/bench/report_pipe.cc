// SPDX-License-Identifier: Apache-2.0
// Reads whole reports only: each was written at once, and is smaller than a pipe takes at once.
#include "tools/bench/report_pipe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <cerrno>

namespace stretto::bench {
namespace {

// Programs that stretto-launch starts may use lower numbers.
constexpr int kLeastPipe = 100;

Status no_pipe() {
  return {Code::kResource, fmt::format("no pipe for reports: {}", ::strerror(errno))};
}

}  // namespace

Result<ReportPipe> ReportPipe::open() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return no_pipe();
  Descriptor read(ends[0]);
  const Descriptor low(ends[1]);
  Descriptor write(::fcntl(low.get(), F_DUPFD, kLeastPipe));
  if (!write.is_open() || ::fcntl(read.get(), F_SETFL, O_NONBLOCK) != 0) return no_pipe();
  return ReportPipe(std::move(read), std::move(write));
}

Status ReportPipe::await(std::size_t count, std::vector<Child*> writers, Time deadline) {
  while (true) {
    std::vector<pollfd> looks{{read_.get(), POLLIN, 0}};
    for (const Child* writer : writers) looks.push_back({writer->handle().get(), POLLIN, 0});
    const int ready = ::poll(looks.data(), looks.size(), milliseconds_to(deadline));
    if (ready < 0 && errno != EINTR) return no_pipe();
    take();  // After poll: who has ended has reported before.
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
  return {Code::kCancelled, fmt::format("nobody takes the report: {}", ::strerror(errno))};
}

}  // namespace stretto::bench
