// SPDX-License-Identifier: Apache-2.0
// One of two RPC endpoints that call each other endlessly: the endpoint with --to connects, its
// peer prints its address and calls back. Each exits with status 1 and an ERROR line as soon as one
// of its calls fails.
#include <fmt/format.h>
#include <gflags/gflags.h>
#include <stretto/rpc.h>

#include <cstdio>
#include <future>
#include <mutex>
#include <string>
#include <vector>

DEFINE_string(to, "", "Address of the other end, if that is there already");
DEFINE_int64(bytes, 100, "Length of each message");
DEFINE_bool(holds, false, "After some calls, one that the other end never answers");
DEFINE_int64(progress, 10, "A line of progress every so many calls");

namespace stretto::rpc {
namespace {

constexpr CallOptions kPatient = {.timeout = std::chrono::minutes(10)};

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

class Calling {
 public:
  void run() {
    endpoint_.on("echo", [this](Request request, Reply reply) { echo(request, reply); }).or_exit();
    endpoint_.on("hold", [this](const Request&, Reply reply) { held_.push_back(std::move(reply)); })
        .or_exit();
    const Peer peer = FLAGS_to.empty() ? come() : endpoint_.connect(FLAGS_to).or_exit();
    for (std::int64_t calls = 1;; ++calls) {
      const Message message = std::string(static_cast<std::size_t>(FLAGS_bytes), '.');
      const Call call = endpoint_.call(peer, "echo", message, kPatient);
      if (call.wait().or_exit().size() != message.size()) return say("another message came back");
      if (calls % FLAGS_progress != 0) continue;
      say(fmt::format("progress round={}", calls));
      if (FLAGS_holds) (void)endpoint_.call(peer, "hold", "", kPatient).wait().or_exit();
    }
  }

 private:
  /// The peer that calls first.
  Peer come() {
    say("listening at " + endpoint_.listen().or_exit());
    return first_.get_future().get();
  }

  void echo(const Request& request, Reply& reply) {
    std::call_once(once_, [&] { first_.set_value(request.from); });
    reply.send(request.message);
  }

  std::once_flag once_;
  std::promise<Peer> first_;
  std::vector<Reply> held_;  // Thread: the endpoint's.
  Endpoint endpoint_ = Endpoint::open().or_exit();
};

}  // namespace
}  // namespace stretto::rpc

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  stretto::rpc::Calling().run();
  return 1;
}
