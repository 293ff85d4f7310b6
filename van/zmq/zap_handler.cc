// SPDX-License-Identifier: Apache-2.0
// A request has these parts: version, request id, domain, address, routing id, mechanism and
// credentials. The answer repeats the first two and has status 200 or 400.
#include "van/zmq/zap_handler.h"

#include <sodium.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

namespace stretto::zmq {
namespace {

constexpr const char* kZapEndpoint = "inproc://zeromq.zap.01";
constexpr std::size_t kMostParts = 16;

using Request = std::vector<std::string>;

// Blocks. False once the context ends.
bool receive(ZmqSocket& socket, Request& request) {
  request.clear();
  MessagePart part;
  do {
    while (zmq_msg_recv(part.get(), socket.get(), 0) < 0) {
      if (zmq_errno() != EINTR) return false;
    }
    if (request.size() < kMostParts) request.emplace_back(part.text());
  } while (part.more());
  return true;
}

bool is_equal(std::string_view shown, std::string_view wanted) {
  return shown.size() == wanted.size() &&
         sodium_memcmp(shown.data(), wanted.data(), wanted.size()) == 0;
}

bool admits(const Request& request, const JobKeys& keys) {
  const std::string& mechanism = request[5];
  if (request[0] != "1.0" || request[2] != kZapDomain) return false;
  if (mechanism == "CURVE") {
    const Key& dialer = keys.dialer.open;
    return request.size() == 7 &&
           is_equal(request[6], {reinterpret_cast<const char*>(dialer.data()), dialer.size()});
  }
  return mechanism == "PLAIN" && request.size() == 8 && request[6] == kPlainName &&
         is_equal(request[7], keys.plain);
}

void answer(ZmqSocket& socket, const Request& request, bool admitted) {
  const std::array<std::string_view, 6> parts = {
      "1.0", request[1], admitted ? "200" : "400", admitted ? "" : "another key", "", ""};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const int flags = i + 1 < parts.size() ? ZMQ_SNDMORE : 0;
    while (zmq_send(socket.get(), parts[i].data(), parts[i].size(), flags) < 0) {
      if (zmq_errno() != EINTR) return;
    }
  }
}

void serve(ZmqSocket socket, const std::shared_ptr<const JobKeys>& keys) {
  constexpr std::size_t kLeastParts = 6;
  Request request;
  while (receive(socket, request)) {
    // Only libzmq asks; a REP socket must answer before it receives more.
    if (request.size() < kLeastParts) request.resize(kLeastParts);
    answer(socket, request, admits(request, *keys));
  }
}

}  // namespace

Result<std::unique_ptr<ZapHandler>> ZapHandler::start(const ZmqContext& context,
                                                      std::shared_ptr<const JobKeys> keys) {
  Status status = need_descriptors(1, "wanted to check the keys of connections");
  if (!status.ok()) return status;
  Result<ZmqSocket> socket = ZmqSocket::open(context, ZMQ_REP);
  if (!socket.ok()) return socket.status();
  socket->set(ZMQ_LINGER, 0);
  if (zmq_bind(socket->get(), kZapEndpoint) != 0) {
    return zmq_failure("wanted to check the keys of connections", zmq_errno());
  }
  try {
    return std::unique_ptr<ZapHandler>(new ZapHandler(*std::move(socket), std::move(keys)));
  } catch (const std::system_error& error) {
    return Status(Code::kResource,
                  std::string("wanted a thread to check the keys of connections: ") + error.what());
  }
}

ZapHandler::ZapHandler(ZmqSocket socket, std::shared_ptr<const JobKeys> keys)
    : thread_(std::make_unique<std::thread>(serve, std::move(socket), std::move(keys))) {}

// A forked child has no such thread, and does not touch the parent's object.
ZapHandler::~ZapHandler() {
  if (home_.is_here()) {
    thread_->join();
  } else {
    static_cast<void>(thread_.release());  // NOLINT(bugprone-unused-return-value): it leaks.
  }
}

}  // namespace stretto::zmq
