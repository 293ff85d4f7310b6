// SPDX-License-Identifier: Apache-2.0
// Calls by the public interface: a thread that makes calls and waits for them, and an echo handler.
#include <signal.h>
#include <unistd.h>

#include "stretto/rpc.h"
#include "tools/bench/rpc/calls.h"

namespace stretto::bench {
namespace {

constexpr const char* kMethod = "echo";
constexpr Duration kOpenPatience = 10s;

Result<rpc::Endpoint> open_endpoint(const std::string& transport) {
  Result<rpc::Options> options = rpc::Options::from_environment();
  if (!options.ok()) return options.status();
  options->transport = transport;
  return rpc::Endpoint::open(*options);
}

// Ends when it is killed.
Status answer(const std::string& transport, const TellAddress& tell) {
  Result<rpc::Endpoint> endpoint = open_endpoint(transport);
  if (!endpoint.ok()) return endpoint.status();
  Status status = endpoint->on(
      kMethod, [](const rpc::Request& request, rpc::Reply reply) { reply.send(request.message); });
  if (!status.ok()) return status;
  const Result<std::string> address = endpoint->listen();
  if (!address.ok()) return address.status();
  if (status = tell(*address); !status.ok()) return status;
  for (;;) ::pause();
}

Result<Report> call(const std::string& transport, const CallShape& shape) {
  const Result<Answerer> answerer =
      Answerer::start([&](const TellAddress& tell) { return answer(transport, tell); });
  if (!answerer.ok()) return answerer.status();
  Result<rpc::Endpoint> endpoint = open_endpoint(transport);
  if (!endpoint.ok()) return endpoint.status();
  const Result<rpc::Peer> peer = endpoint->connect(answerer->address());
  if (!peer.ok()) return peer.status();
  const rpc::Message message(std::vector<std::byte>(shape.bytes, std::byte{1}));
  std::vector<rpc::Call> calls(shape.inflight);
  return keep_calling(
      shape, answerer->process_id(),
      [&](std::size_t slot) {
        calls[slot] = endpoint->call(*peer, kMethod, message);
        return Status();
      },
      [&](std::size_t slot) -> Status {
        const Result<rpc::Message> came = calls[slot].wait();
        if (!came.ok()) return came.status();
        if (came->size() == shape.bytes) return {};
        return {Code::kMalformed, "the answer has another size than the call"};
      });
}

}  // namespace

CallWay stretto_calls(std::string_view transport) {
  return {std::string(transport),
          [name = std::string(transport)](const CallShape& shape, int report_descriptor) {
            return reported(call(name, shape), "rpc by " + name, report_descriptor);
          }};
}

bool has_transport(std::string_view transport) {
  Result<Child> trial = Child::start(
      SIGKILL, [name = std::string(transport)] { return open_endpoint(name).ok() ? 0 : 1; });
  return trial.ok() && trial->wait(now() + kOpenPatience) == 0;
}

}  // namespace stretto::bench
