// SPDX-License-Identifier: Apache-2.0
// The two processes of a way of calling, and their reports.
#include "tools/bench/rpc/calls.h"

#include <unistd.h>

#include <cstdio>

#include "tools/bench/support/report_pipe.h"
#include "tools/bench/support/run_command.h"
#include "tools/bench/support/system.h"

namespace stretto::bench {

Result<Answerer> Answerer::start(const std::function<Status(const TellAddress&)>& answer) {
  Result<Pipe> pipe = Pipe::open();
  if (!pipe.ok()) return pipe.status();
  const TellAddress tell = [&pipe](const std::string& address) -> Status {
    const std::string line = address + "\n";
    const ssize_t written = ::write(pipe->write.get(), line.data(), line.size());
    if (written == static_cast<ssize_t>(line.size())) return {};
    return refused(Code::kCancelled, "nobody asks for the address");
  };
  Children process;
  Status status = process.start([&] { return said(answer(tell), "answering"); });
  if (!status.ok()) return status;
  pipe->write.close();
  std::string address;
  for (char next = 0; ::read(pipe->read.get(), &next, 1) == 1 && next != '\n';) address += next;
  if (address.empty()) {
    return Status(Code::kPeerLost, "who should answer has ended; what it said is above");
  }
  return Answerer(std::move(process), std::move(address));
}

int said(const Status& status, std::string_view who) {
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s: %s\n", std::string(who).c_str(), status.text().c_str());
  return 1;
}

int reported(const Result<Report>& found, std::string_view who, int report_descriptor) {
  return said(found.ok() ? write_report(report_descriptor, *found) : found.status(), who);
}

CallWay grpc_calls(const std::string& program) {
  return {
      "grpc", [program](const CallShape& shape, int report_descriptor) {
        return become({program, fmt::format("{}", shape.bytes), fmt::format("{}", shape.inflight),
                       fmt::format("{}", shape.seconds), fmt::format("{}", report_descriptor)});
      }};
}

}  // namespace stretto::bench
