// SPDX-License-Identifier: Apache-2.0
// A single request for each connection, from a stream that counts bytes.
#include "scheduler/dashboard/http_server.h"

#ifndef CPPHTTPLIB_MAX_LINE_LENGTH

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

namespace stretto {
namespace {

// The result of getsockname or getpeername.
void name_of(int (*ask)(int, sockaddr*, socklen_t*), int socket, std::string& host, int& port) {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  if (ask(socket, reinterpret_cast<sockaddr*>(&at), &size) != 0) return;
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (at.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(at);
    ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
    port = ntohs(v4.sin_port);
  } else {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(at);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
    port = ntohs(v6.sin6_port);
  }
  host = text.data();
}

/// A client's connection. Waits at most for the server's timeouts; -1: closed or timed out.
class VisitorStream final : public httplib::Stream {
 public:
  VisitorStream(int socket, int read_ms, int write_ms)
      : socket_(socket), read_ms_(read_ms), write_ms_(write_ms) {}

  bool is_readable() const override { return read_ < came_ || awaits(POLLIN, read_ms_); }
  bool is_writable() const override { return awaits(POLLOUT, write_ms_); }
  ssize_t read(char* to, size_t size) override {
    if (read_ == came_ && !refill()) return -1;
    const std::size_t count = std::min(size, came_ - read_);
    std::memcpy(to, bytes_.data() + read_, count);
    read_ += count;
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* from, size_t size) override {
    return is_writable() ? ::send(socket_, from, size, MSG_NOSIGNAL) : -1;
  }
  void get_remote_ip_and_port(std::string& host, int& port) const override {
    name_of(::getpeername, socket_, host, port);
  }
  void get_local_ip_and_port(std::string& host, int& port) const override {
    name_of(::getsockname, socket_, host, port);
  }
  socket_t socket() const override { return socket_; }

 private:
  bool awaits(int what, int milliseconds) const {
    pollfd look{.fd = socket_, .events = static_cast<short>(what), .revents = 0};
    return ::poll(&look, 1, milliseconds) > 0;
  }
  bool refill() {
    const std::size_t room = std::min(bytes_.size(), PageServer::kMostRequest - heard_);
    if (room == 0 || !awaits(POLLIN, read_ms_)) return false;
    const ssize_t count = ::recv(socket_, bytes_.data(), room, 0);
    if (count <= 0) return false;
    read_ = 0;
    came_ = static_cast<std::size_t>(count);
    heard_ += came_;
    return true;
  }

  const int socket_;
  const int read_ms_;
  const int write_ms_;
  std::array<char, 4096> bytes_{};
  std::size_t came_ = 0;  // Bytes in bytes_,
  std::size_t read_ = 0;  // and those read.
  std::size_t heard_ = 0;
};

int milliseconds(time_t seconds, time_t microseconds) {
  return static_cast<int>(seconds * 1000 + microseconds / 1000);
}

}  // namespace

bool PageServer::process_and_close_socket(socket_t socket) {
  VisitorStream stream(socket, milliseconds(read_timeout_sec_, read_timeout_usec_),
                       milliseconds(write_timeout_sec_, write_timeout_usec_));
  bool closed = false;
  const bool served = process_request(stream, true, closed, nullptr);
  ::shutdown(socket, SHUT_RDWR);
  ::close(socket);
  return served;
}

}  // namespace stretto

#endif
