// SPDX-License-Identifier: Apache-2.0
// HTTP as bytes on a socket, for tests of HTTP endpoints.
#pragma once

#include <string>

namespace stretto {

/// A socket that is connected to HOST:PORT (IPv4), whose reads time out after 15 s; or -1.
int connected_to(const std::string& address);

/// All bytes of the response, until the peer closes the connection.
std::string answer_to(const std::string& address, const std::string& request);

}  // namespace stretto
