// SPDX-License-Identifier: Apache-2.0
// PageServer: cpp-httplib's server with a bound on the size of a request. The library reads a line,
// headers and a body without a length into memory without limit (until 0.20.1, which bounds them).
#pragma once

#include <httplib.h>

namespace stretto {

#ifdef CPPHTTPLIB_MAX_LINE_LENGTH

using PageServer = httplib::Server;

#else

/// Thread: user; requests are served by threads of its own.
class PageServer final : public httplib::Server {
 public:
  /// Line, headers and body. A longer request closes the connection.
  static constexpr std::size_t kMostRequest = 32 << 10;

 private:
  bool process_and_close_socket(socket_t socket) override;
};

#endif

}  // namespace stretto
