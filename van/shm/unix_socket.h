// SPDX-License-Identifier: Apache-2.0
// The Unix socket under a link: how peers of one host find each other, pass memory, ring each
// other's bell, and learn of each other's death. Its name is abstract: random, and nowhere in the
// file system, so names never collide and nothing is left behind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "van/shm/memfd.h"

namespace stretto::shm {

/// What a name is made of: 96 bits, in characters that addresses may have.
inline constexpr std::size_t kNameLength = 16;
Result<std::string> random_name();
bool is_name(std::string_view text);

/// What peers say by the socket. Everything else goes through memory.
struct SocketMessage {
  enum class Kind : std::uint32_t {
    kHello = 0x6D687353,  ///< First from who connects; with the link's memory.
    kChunk = 1,           ///< Memory of ours that frames may name from now on, with it.
    kBell = 2             ///< Look into the link's memory.
  };
  Kind kind = Kind::kBell;
  std::uint32_t number = 0;  ///< kHello: the version of all this. kChunk: which, counted from 0.
  std::uint64_t bytes = 0;   ///< kHello, kChunk: of the memory.
};
static_assert(sizeof(SocketMessage) == 16);

/// Peers of another version are not understood.
inline constexpr std::uint32_t kVersion = 2;

/// Not blocking. The socket of one who listens at `name`.
Result<Descriptor> listen_at(std::string_view name);
/// Connected at once, or an error: nobody listens there on this host, or not with our user id.
Result<Descriptor> connect_to(std::string_view name);
/// Who has connected. Others than our user are hung up on.
struct Accepted {
  enum class What : std::uint8_t {
    kPeer,
    kNobody,
    kGone,         ///< Hung up, by us or by them; there may be more.
    kNoDescriptor  ///< Somebody waits, but no descriptor is left.
  };
  What what = What::kNobody;
  Descriptor socket;
  int error = 0;  ///< Of kNoDescriptor, as errno.
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
