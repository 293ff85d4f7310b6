// SPDX-License-Identifier: Apache-2.0
// getaddrinfo, for IPv4.
#include "van/zmq/name_lookup.h"

#include <fmt/core.h>
#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

#include "common/check.h"
#include "common/failure.h"

namespace stretto::zmq {
namespace {

Result<in_addr> look_up(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &found); error != 0) {
    const std::string wanted = fmt::format("host '{}' cannot be resolved", host);
    if (error == EAI_SYSTEM) return failure(wanted, errno);
    if (error == EAI_MEMORY) return failure(wanted, ENOMEM);
    return Status(Code::kNetwork, fmt::format("{}: {}", wanted, ::gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  return reinterpret_cast<const sockaddr_in*>(found->ai_addr)->sin_addr;
}

}  // namespace

NameLookup::NameLookup(const std::string& host, std::function<void()> done)
    : outcome_(Status(Code::kCancelled, "not looked up yet")),
      thread_([this, host, done = std::move(done)] {
        outcome_ = look_up(host);
        done_.store(true, std::memory_order_release);
        done();
      }) {}

Result<std::unique_ptr<NameLookup>> NameLookup::begin(const std::string& host,
                                                      std::function<void()> done) {
  try {
    return std::unique_ptr<NameLookup>(new NameLookup(host, std::move(done)));
  } catch (const std::system_error& refused) {
    return Status(Code::kResource,
                  fmt::format("wanted a thread to look host '{}' up: {}; allow more (ulimit -u, a "
                              "container's limit of processes), or give digits",
                              host, std::strerror(refused.code().value())));
  }
}

const Result<in_addr>& NameLookup::outcome() const {
  STRETTO_CHECK(done());
  return outcome_;
}

}  // namespace stretto::zmq
