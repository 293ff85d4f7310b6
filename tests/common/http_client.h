// SPDX-License-Identifier: Apache-2.0
// HTTP as bytes on a socket, for tests of those that answer it.
#pragma once

#include <string>

namespace stretto {

/// A socket that is connected to HOST:PORT (IPv4), whose reads give up after 15 s; or -1.
int connected_to(const std::string& address);

/// All that comes back until the far end hangs up.
std::string answer_to(const std::string& address, const std::string& request);

}  // namespace stretto
