// SPDX-License-Identifier: Apache-2.0
// host:port. The syntax of other ZeroMQ programs (tcp://, interfaces, source addresses) is not
// ours.
#include "van/tcp/address.h"

#include <fmt/core.h>

#include "common/socket_address.h"

namespace stretto::tcp {
namespace {

Result<HostPort> parse(std::string_view address) {
  Result<HostPort> parsed = parse_host_port(address);
  if (!parsed.ok()) return parsed;
  const auto digits = SocketAddress::from_digits(parsed->host, parsed->port);
  if (digits && digits->is_link_local()) return link_local_refusal(parsed->host);
  if (parsed->host.find_first_of("/;*@ ") == std::string::npos) return parsed;
  return Status(
      Code::kInvalidArgument,
      fmt::format("'{}' is no address, wanted host:port, such as 127.0.0.1:9000", address));
}

}  // namespace

Result<HostPort> to_listen(std::string_view address) {
  Result<HostPort> parsed = parse(address);
  if (parsed.ok() && parsed->host == "localhost") parsed->host = "127.0.0.1";
  return parsed;
}

Result<HostPort> to_connect(std::string_view address) {
  Result<HostPort> parsed = parse(address);
  if (!parsed.ok()) return parsed.status();
  if (parsed->port == 0) {
    return Status(Code::kInvalidArgument,
                  fmt::format("cannot connect to '{}': port 0 is nobody's", address));
  }
  if (parsed->host == "localhost") parsed->host = "127.0.0.1";
  return parsed;
}

}  // namespace stretto::tcp
