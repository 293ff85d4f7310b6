// SPDX-License-Identifier: Apache-2.0
// The resolver's thread.
#include "van/transport/resolver.h"

#include <fmt/core.h>

#include <cstring>
#include <system_error>
#include <utility>

#include "common/check.h"

namespace stretto {

Resolver::Resolver(const HostPort& to, std::function<void()> done)
    : outcome_(Status(Code::kCancelled, "not looked up yet")),
      thread_([this, to, done = std::move(done)] {
        outcome_ = SocketAddress::resolve(to.host, to.port);
        done_.store(true, std::memory_order_release);
        done();
      }) {}

Result<std::unique_ptr<Resolver>> Resolver::begin(const HostPort& to, std::function<void()> done) {
  try {
    return std::unique_ptr<Resolver>(new Resolver(to, std::move(done)));
  } catch (const std::system_error& refused) {
    return Status(Code::kResource,
                  fmt::format("wanted a thread to look host '{}' up: {}; allow more (ulimit -u, a "
                              "container's limit of processes), or give digits",
                              to.host, std::strerror(refused.code().value())));
  }
}

const Result<SocketAddress>& Resolver::outcome() const {
  STRETTO_CHECK(done());
  return outcome_;
}

Status NameLookups::begin(LinkId link, const HostPort& to, std::function<void()> done) {
  Result<std::unique_ptr<Resolver>> name = Resolver::begin(to, std::move(done));
  if (!name.ok()) return name.status();
  names_.emplace_back(link, *std::move(name));
  return {};
}

std::vector<std::pair<LinkId, Result<SocketAddress>>> NameLookups::take_done() {
  std::vector<std::pair<LinkId, Result<SocketAddress>>> found;
  std::erase_if(names_, [&found](const auto& name) {
    if (!name.second->done()) return false;
    found.emplace_back(name.first, name.second->outcome());
    return true;
  });
  return found;
}

}  // namespace stretto
