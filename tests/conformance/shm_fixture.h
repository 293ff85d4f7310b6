// SPDX-License-Identifier: Apache-2.0
// Rogue peers of a shared memory endpoint: sockets with arbitrary messages, rings written against
// the rules, and an innocent link that must work throughout.
#pragma once

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <fstream>
#include <string>

#include "tests/conformance/innocent.h"
#include "van/shm/shared_rings.h"
#include "van/shm/shm_transport.h"

namespace stretto::conformance {

/// With small limits.
inline std::unique_ptr<Transport> make_shm_endpoint() {
  ShmOptions options;
  options.max_payload_bytes = kMostPayload;
  options.max_copied_bytes = 1 << 20;
  options.chunk_bytes = 1 << 20;
  options.max_silent = 16;
  return make_shm_transport(options).or_exit();
}

inline std::string name_of_address(const std::string& address) {
  return address.substr(std::string_view("shm:").size());
}

/// Bytes of stretto's shared memory that this process has mapped.
inline std::size_t mapped_bytes() {
  std::ifstream maps("/proc/self/maps");
  std::size_t sum = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:stretto") == std::string::npos) continue;
    const std::size_t dash = line.find('-');
    sum += std::stoull(line.substr(dash + 1), nullptr, 16) - std::stoull(line, nullptr, 16);
  }
  return sum;
}

/// True once the peer has closed the socket, or has sent an end on it.
inline bool hung_up(const Descriptor& socket) {
  for (;;) {
    const shm::Received heard = shm::hear(socket);
    if (heard.what == shm::Received::What::kEnd) return true;
    if (heard.what == shm::Received::What::kNothing) return false;
  }
}

/// A peer with a valid hello and its own chunk to send from; its later behaviour is up to the test.
class RogueLine {
 public:
  static constexpr std::size_t kChunkBytes = 256 * 1024;

  explicit RogueLine(const std::string& address)
      : line(shm::Line::connect(name_of_address(address)).or_exit()),
        memory_(shm::make_memory(kChunkBytes).or_exit()),
        chunk_(shm::Mapping::map(memory_, kChunkBytes, shm::Mapping::Access::kWrite).or_exit()) {}

  void announce(std::uint32_t number, std::uint64_t bytes, const Descriptor* memory) {
    shm::tell(line->socket(), {shm::SocketMessage::Kind::kChunk, number, bytes}, memory);
  }
  void announce_own() {
    EXPECT_TRUE(shm::seal(memory_, true).ok());
    announce(0, kChunkBytes, &memory_);
  }
  std::byte* chunk() { return chunk_.data(); }

  /// Puts a frame into the ring, valid or invalid.
  void put(shm::Entry entry, wire::Kind kind = wire::Kind::kPush, std::uint8_t codec = 0) {
    wire::Header header;
    header.kind = kind;
    header.codec = codec;
    header.sequence = ++sent_;
    header.bytes = static_cast<std::uint32_t>(entry.bytes);
    entry.header = wire::encode(header);
    line->write(sent_ - 1, entry);
    line->publish(sent_);
  }
  std::uint64_t sent() const { return sent_; }

  std::shared_ptr<shm::Line> line;

 private:
  Descriptor memory_;
  shm::Mapping chunk_;
  std::uint64_t sent_ = 0;
};

/// An endpoint that listens, and an innocent link to it.
class ShmInnocent : public Innocent {
 protected:
  ShmInnocent() : Innocent(make_shm_endpoint(), make_shm_endpoint(), "shm:") {}

  /// The server's newest link is broken as Malformed, once, and the innocent link works.
  void expect_malformed(std::size_t broken_before) {
    ASSERT_TRUE(poll_until([&] { return server_.broken.size() == broken_before + 1; }));
    EXPECT_EQ(server_.broken.at(server_.accepted.back()).code(), Code::kMalformed)
        << server_.broken.at(server_.accepted.back()).text();
    expect_innocent_works();
    EXPECT_EQ(server_.broken.size(), broken_before + 1);
  }
};

}  // namespace stretto::conformance
