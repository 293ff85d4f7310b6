// SPDX-License-Identifier: Apache-2.0
// The Unix socket under a link: peers of one host use it to find each other, to pass memory, to
// ring doorbells and to detect a peer's death. Its name is abstract and random, not in the file
// system: names never collide and no file is left behind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "van/shm/memfd.h"

namespace stretto::shm {

/// A name has 96 bits, in characters that addresses may have.
inline constexpr std::size_t kNameLength = 16;
Result<std::string> random_name();
bool is_name(std::string_view text);

/// The messages on the socket. Everything else goes through memory.
struct SocketMessage {
  enum class Kind : std::uint32_t {
    kHello = 0x6D687353,  ///< First, from the connecting end, with the link's memory.
    kChunk = 1,           ///< Memory of ours that later frames may name, passed along.
    kBell = 2             ///< Read the link's memory.
  };
  Kind kind = Kind::kBell;
  std::uint32_t number = 0;  ///< kHello: the protocol version. kChunk: its index, from 0.
  std::uint64_t bytes = 0;   ///< kHello, kChunk: the size of the memory.
};
static_assert(sizeof(SocketMessage) == 16);

/// Peers of other versions are rejected.
inline constexpr std::uint32_t kVersion = 2;

/// A non-blocking socket that listens at `name`.
Result<Descriptor> listen_at(std::string_view name);
/// A connected socket, or an error: no listener on this host, or one of another user.
Result<Descriptor> connect_to(std::string_view name);
/// A new connection. Connections of other users are closed.
struct Accepted {
  enum class What : std::uint8_t {
    kPeer,
    kNobody,
    kGone,         ///< Closed by either end; there may be more.
    kNoDescriptor  ///< A connection waits, but no descriptor is left.
  };
  What what = What::kNobody;
  Descriptor socket;
  int error = 0;  ///< The errno of kNoDescriptor.
};
Accepted accept_from(const Descriptor& listener);

enum class Told : std::uint8_t { kYes, kNotNow, kGone };
/// Never blocks. Thread: any.
Told tell(const Descriptor& socket, const SocketMessage& note, const Descriptor* memory = nullptr);

struct Received {
  enum class What : std::uint8_t { kNote, kNothing, kEnd, kGarbage };
  What what = What::kNothing;
  SocketMessage note;
  Descriptor memory;
};
/// Never blocks.
Received hear(const Descriptor& socket);

}  // namespace stretto::shm
