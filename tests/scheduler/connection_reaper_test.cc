// SPDX-License-Identifier: Apache-2.0
// The page's connections that complete neither a request nor a response in time are closed.
#include "scheduler/dashboard/connection_reaper.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace stretto {
namespace {

constexpr int kPatienceMs = 60'000;  // A timeout of the test, far longer than it takes.

/// A loopback connection with both ends in this process.
class Connection {
 public:
  Connection() {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    socklen_t length = sizeof address;
    EXPECT_EQ(bind(listener, any, length), 0);
    EXPECT_EQ(listen(listener, 1), 0);
    EXPECT_EQ(getsockname(listener, any, &length), 0);
    port_ = ntohs(address.sin_port);
    client_ = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(connect(client_, any, length), 0);
    server_ = accept(listener, nullptr, nullptr);
    EXPECT_GE(server_, 0);
    close(listener);
  }
  ~Connection() {
    close(client_);
    close(server_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  std::uint16_t port() const { return port_; }
  /// The client's port, by which the server's side identifies the connection.
  int client_port() const {
    sockaddr_in address{};
    socklen_t length = sizeof address;
    EXPECT_EQ(getsockname(client_, reinterpret_cast<sockaddr*>(&address), &length), 0);
    return ntohs(address.sin_port);
  }
  /// Waits until the client reads the end of the connection.
  bool ends() const {
    pollfd look{.fd = client_, .events = POLLIN, .revents = 0};
    char byte = 0;
    return poll(&look, 1, kPatienceMs) == 1 && recv(client_, &byte, 1, MSG_DONTWAIT) == 0;
  }

 private:
  std::uint16_t port_ = 0;
  int client_ = -1;
  int server_ = -1;
};

// Waits until every other thread of this process sleeps: the reaper's waits for a connection.
void let_the_others_come_to_rest() {
  const std::string own = std::to_string(gettid());
  for (bool rest = false; !rest; std::this_thread::yield()) {
    rest = true;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      if (task.path().filename() == own) continue;
      std::ifstream file(task.path() / "stat");
      std::string stat;
      std::getline(file, stat);
      rest = rest && stat.find(") S ") != std::string::npos;
    }
  }
}

TEST(ConnectionReaper, ClosesSoleSilentConnection) {
  Connection connection;
  ConnectionReaper visitors({.ask = 1ms, .answer = 1h, .at_once = 1});
  visitors.watch(connection.port());
  let_the_others_come_to_rest();
  visitors.came();
  EXPECT_TRUE(connection.ends());
}

TEST(ConnectionReaper, ClosesConnectionAwaitingAnswerTooLong) {
  Connection connection;
  ConnectionReaper visitors({.ask = 1h, .answer = 1ms, .at_once = 1});
  visitors.watch(connection.port());
  visitors.asked("127.0.0.1", connection.client_port());
  visitors.came();
  EXPECT_TRUE(connection.ends());
}

TEST(ConnectionReaper, AllAreShownOutAtTheEnd) {
  Connection connection;
  ConnectionReaper visitors({.ask = 1h, .answer = 1h, .at_once = 1});
  visitors.watch(connection.port());
  visitors.came();
  visitors.end();
  EXPECT_TRUE(connection.ends());
}

}  // namespace
}  // namespace stretto
