// SPDX-License-Identifier: Apache-2.0
// Searches the process's descriptors for sockets with the page's port: the server does not expose
// the sockets of its clients.
#include "scheduler/dashboard/connection_reaper.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <filesystem>
#include <functional>
#include <set>
#include <vector>

namespace stretto {
namespace {

constexpr Duration kLookEvery = 100ms;  // While clients are connected.

Time now() { return std::chrono::steady_clock::now(); }

std::string visitor_of(const std::string& address, int port) {
  return fmt::format("{} {}", address, port);
}

std::string visitor_of(const sockaddr_storage& peer) {
  char text[INET6_ADDRSTRLEN] = "";
  if (peer.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(peer);
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return visitor_of(text, ntohs(v4.sin_port));
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(peer);
  inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
  return visitor_of(text, ntohs(v6.sin6_port));
}

// Closes the connections at this port for which `is_late` returns true. Works on a copy of each
// descriptor, which no other thread can close and reuse meanwhile.
void end_connections(std::uint16_t port, const std::function<bool(const std::string&)>& is_late) {
  std::error_code error;
  std::filesystem::directory_iterator entry("/proc/self/fd", error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    int number = -1;
    std::from_chars(name.data(), name.data() + name.size(), number);
    struct stat file{};
    if (fstat(number, &file) != 0 || !S_ISSOCK(file.st_mode)) continue;
    const int copy = fcntl(number, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) continue;
    sockaddr_storage here{};  // Both families have the port at the same offset.
    socklen_t length = sizeof here;
    sockaddr_storage there{};
    socklen_t there_length = sizeof there;
    const bool ours = getsockname(copy, reinterpret_cast<sockaddr*>(&here), &length) == 0 &&
                      (here.ss_family == AF_INET || here.ss_family == AF_INET6) &&
                      ntohs(reinterpret_cast<const sockaddr_in&>(here).sin_port) == port &&
                      getpeername(copy, reinterpret_cast<sockaddr*>(&there), &there_length) == 0;
    if (ours && is_late(visitor_of(there))) shutdown(copy, SHUT_RDWR);
    close(copy);
  }
}

}  // namespace

ConnectionReaper::ConnectionReaper(ConnectionDeadlines::Patience patience)
    : book_(patience), thread_([this] { run(); }) {}

ConnectionReaper::~ConnectionReaper() {
  {
    MutexLock lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void ConnectionReaper::watch(std::uint16_t port) {
  MutexLock lock(mutex_);
  port_ = port;
}

void ConnectionReaper::came() {
  MutexLock lock(mutex_);
  if (++here_ == 1) changed_.notify_all();
}

void ConnectionReaper::went() {
  MutexLock lock(mutex_);
  --here_;
}

void ConnectionReaper::asked(const std::string& address, int port) {
  MutexLock lock(mutex_);
  book_.asked(visitor_of(address, port), now());
}

void ConnectionReaper::end() {
  std::uint16_t port = 0;
  {
    MutexLock lock(mutex_);
    port = port_;
  }
  end_connections(port, [](const std::string&) { return true; });
}

void ConnectionReaper::end_late(std::uint16_t port) {
  const Time began = now();
  std::vector<std::string> here;  // Descriptors grow in the order of arrival.
  end_connections(port, [&](const std::string& name) {
    here.push_back(name);
    return false;
  });
  std::set<std::string> late;
  {
    MutexLock lock(mutex_);
    late = book_.late(here, began);
  }
  if (late.empty()) return;
  end_connections(port, [&](const std::string& name) { return late.contains(name); });
}

void ConnectionReaper::run() {
  for (;;) {
    std::uint16_t port = 0;
    {
      MutexLock lock(mutex_);
      while (here_ == 0 && !over_) {
        book_.clear();
        changed_.wait(mutex_);
      }
      if (!over_) changed_.wait_until(mutex_, now() + kLookEvery);
      if (over_) return;
      port = port_;
    }
    end_late(port);
  }
}

}  // namespace stretto
