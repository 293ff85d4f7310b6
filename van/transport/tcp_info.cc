// SPDX-License-Identifier: Apache-2.0
// Reads TCP_INFO. linux/tcp.h has more of it than netinet/tcp.h, and the two exclude each other.
#include "van/transport/tcp_info.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>

namespace stretto {
namespace {

constexpr std::uint8_t kEstablished = 1;  // TCP_ESTABLISHED.

std::optional<tcp_info> info_of(int descriptor, socklen_t& size) {
  tcp_info info{};
  size = sizeof info;
  if (::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  return info;
}

}  // namespace

std::optional<PathSample> path_signs(int descriptor) {
  socklen_t size = 0;
  const std::optional<tcp_info> found = info_of(descriptor, size);
  if (!found) return std::nullopt;
  const tcp_info& info = *found;
  PathSample signs;
  if (info.tcpi_state != kEstablished) return signs;  // Its end is in flight, and will be reported.
  signs.acked_bytes = info.tcpi_bytes_acked;
  signs.silence =
      std::chrono::milliseconds(std::min(info.tcpi_last_ack_recv, info.tcpi_last_data_recv));
  // A peer that does not read has closed its window. Its kernel then answers probes without
  // acknowledging bytes; each retransmission may be answered.
  const bool tells_window = size >= offsetof(tcp_info, tcpi_snd_wnd) + sizeof info.tcpi_snd_wnd;
  const bool shut = tells_window && info.tcpi_snd_wnd == 0;
  signs.unacked = info.tcpi_unacked > 0 && !shut;
  signs.unanswered = info.tcpi_probes;
  if (!shut) {
    signs.unanswered = std::max<std::uint32_t>(info.tcpi_probes, info.tcpi_retransmits);
  }
  return signs;
}

std::optional<Transport::RoundTrips> round_trips_of(int descriptor) {
  socklen_t size = 0;
  const std::optional<tcp_info> info = info_of(descriptor, size);
  const bool tells = info && size >= offsetof(tcp_info, tcpi_min_rtt) + sizeof info->tcpi_min_rtt;
  constexpr std::uint32_t kUnknown = ~0U;
  if (!tells || info->tcpi_min_rtt == kUnknown || info->tcpi_rtt == 0) return std::nullopt;
  return Transport::RoundTrips{.least = std::chrono::microseconds(info->tcpi_min_rtt),
                               .smoothed = std::chrono::microseconds(info->tcpi_rtt)};
}

std::optional<std::uint64_t> received_bytes_of(int descriptor) {
  socklen_t size = 0;
  const std::optional<tcp_info> info = info_of(descriptor, size);
  const bool tells =
      info && size >= offsetof(tcp_info, tcpi_bytes_received) + sizeof info->tcpi_bytes_received;
  if (!tells) return std::nullopt;
  return info->tcpi_bytes_received;
}

std::uint64_t unread_bytes_of(int descriptor) {
  int bytes = 0;
  return ::ioctl(descriptor, FIONREAD, &bytes) == 0 && bytes > 0 ? static_cast<std::uint64_t>(bytes)
                                                                 : 0;
}

void keep_alive(int descriptor) {
  const auto set = [descriptor](int level, int option, int value) {
    ::setsockopt(descriptor, level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdle);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveInterval);
  set(IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveTries);
}

void reset_when_closed(int descriptor) {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

}  // namespace stretto
