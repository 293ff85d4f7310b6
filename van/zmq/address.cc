// SPDX-License-Identifier: Apache-2.0
// host:port, checked before libzmq reads it.
#include "van/zmq/address.h"

#include <fmt/core.h>

namespace stretto::zmq {
namespace {

Result<HostPort> parse(std::string_view address) {
  Result<HostPort> parsed = parse_host_port(address);
  if (!parsed.ok()) return parsed;
  const auto digits = SocketAddress::from_digits(parsed->host, parsed->port);
  if (digits && digits->is_link_local()) return link_local_refusal(parsed->host);
  if (parsed->host.find_first_of("/;*@ ") != std::string::npos) {
    return Status(
        Code::kInvalidArgument,
        fmt::format("'{}' is no address, wanted host:port, such as 127.0.0.1:9000", address));
  }
  if (parsed->host == "localhost") parsed->host = "127.0.0.1";
  return parsed;
}

}  // namespace

Result<SocketAddress> listening_address(std::string_view address) {
  const Result<HostPort> parsed = parse(address);
  if (!parsed.ok()) return parsed.status();
  if (auto at = SocketAddress::from_digits(parsed->host, parsed->port)) return *at;
  return Status(Code::kInvalidArgument,
                fmt::format("wanted to listen at '{}', but '{}' is no address; give one of this "
                            "host in digits, or 0.0.0.0, or [::]",
                            address, parsed->host));
}

Result<HostPort> far_address(std::string_view address) {
  Result<HostPort> parsed = parse(address);
  if (parsed.ok() && parsed->port == 0) {
    return Status(Code::kInvalidArgument,
                  fmt::format("cannot connect to '{}': port 0 is nobody's", address));
  }
  return parsed;
}

std::string endpoint_of(const HostPort& address) { return "tcp://" + address.text(); }

}  // namespace stretto::zmq
