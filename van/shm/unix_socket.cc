// SPDX-License-Identifier: Apache-2.0
// SOCK_SEQPACKET keeps message boundaries and reports the end of a connection. Every call passes
// MSG_DONTWAIT: peers do not share our ends of sockets and cannot make them block.
#include "van/shm/unix_socket.h"

#include <fmt/core.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "common/system_error.h"

namespace stretto::shm {
namespace {

constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::string_view kPrefix = "stretto-";
constexpr int kBacklog = 4096;
constexpr int kType = SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC;

struct Address {
  sockaddr_un text{};
  socklen_t size = 0;
};

// A name that begins with a zero byte is abstract.
Address address_of(std::string_view name) {
  Address address;
  address.text.sun_family = AF_UNIX;
  std::ranges::copy(kPrefix, address.text.sun_path + 1);
  std::ranges::copy(name, address.text.sun_path + 1 + kPrefix.size());
  address.size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + kPrefix.size() + name.size());
  return address;
}

const sockaddr* as_generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

// Requires the same user, also for root. So both ends get the same result, and the connecting end
// can use another transport immediately.
bool is_of_our_user(const Descriptor& socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == ::geteuid();
}

}  // namespace

Result<std::string> random_name() {
  std::array<unsigned char, kNameLength> random{};
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    return failure("wanted a random name", errno);
  }
  std::string name;
  for (const unsigned char one : random) name += kLetters[one % kLetters.size()];
  return name;
}

bool is_name(std::string_view text) {
  return text.size() == kNameLength && text.find_first_not_of(kLetters) == std::string_view::npos;
}

Result<Descriptor> listen_at(std::string_view name) {
  const auto wanted = [name] { return fmt::format("wanted to listen at 'shm:{}'", name); };
  Descriptor socket(::socket(AF_UNIX, kType, 0));
  if (!socket.is_open()) return failure(wanted(), errno);
  const Address address = address_of(name);
  if (::bind(socket.get(), as_generic(address.text), address.size) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    return failure(wanted(), errno);
  }
  return socket;
}

Result<Descriptor> connect_to(std::string_view name) {
  const auto wanted = [name] { return fmt::format("wanted to connect to 'shm:{}'", name); };
  Descriptor socket(::socket(AF_UNIX, kType, 0));
  if (!socket.is_open()) return failure(wanted(), errno);
  const Address address = address_of(name);
  if (::connect(socket.get(), as_generic(address.text), address.size) != 0) {
    return failure(wanted(), errno);
  }
  if (!is_of_our_user(socket)) {
    return Status(Code::kRefused, wanted() + ": who listens there is another user");
  }
  return socket;
}

Accepted accept_from(const Descriptor& listener) {
  using What = Accepted::What;
  Descriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket.is_open()) {
    const bool ours = is_of_our_user(socket);
    return ours ? Accepted{What::kPeer, std::move(socket)} : Accepted{What::kGone, {}};
  }
  if (errno == EAGAIN) return {What::kNobody, {}};
  const bool gone = errno == ECONNABORTED || errno == EINTR;
  if (gone) return {What::kGone, {}};
  return {What::kNoDescriptor, {}, errno};
}

Told tell(const Descriptor& socket, const SocketMessage& note, const Descriptor* memory) {
  iovec part{.iov_base = const_cast<SocketMessage*>(&note), .iov_len = sizeof note};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  if (memory != nullptr) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    const int number = memory->get();
    std::memcpy(CMSG_DATA(rights), &number, sizeof number);
  }
  while (::sendmsg(socket.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
    if (errno == EINTR) continue;
    // ETOOMANYREFS: too many descriptors are in flight.
    const bool later = errno == EAGAIN || errno == ENOBUFS || errno == ETOOMANYREFS;
    return later ? Told::kNotNow : Told::kGone;
  }
  return Told::kYes;
}

Received hear(const Descriptor& socket) {
  using What = Received::What;
  Received heard;
  iovec part{.iov_base = &heard.note, .iov_len = sizeof heard.note};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_LEN(sizeof(int));  // Room for one; the kernel closes the others.
  ssize_t size = -1;
  // ECONNRESET: the peer closed before it read everything; its messages still follow.
  while (size < 0) {
    size = ::recvmsg(socket.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size < 0 && errno != EINTR && errno != ECONNRESET) {
      heard.what = errno == EAGAIN ? What::kNothing : What::kEnd;
      return heard;
    }
  }
  const cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  if (rights != nullptr && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS &&
      rights->cmsg_len == CMSG_LEN(sizeof(int))) {
    int number = -1;
    std::memcpy(&number, CMSG_DATA(rights), sizeof number);
    heard.memory = Descriptor(number);
  }
  const bool whole = size == sizeof heard.note && (message.msg_flags & MSG_TRUNC) == 0;
  // An empty message cannot be told from the end, and is treated like it.
  heard.what = size == 0 ? What::kEnd : whole ? What::kNote : What::kGarbage;
  return heard;
}

}  // namespace stretto::shm
