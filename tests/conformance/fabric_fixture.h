// SPDX-License-Identifier: Apache-2.0
// Hostile peers for a libfabric endpoint, from raw TCP to a peer that sends anything after a valid
// handshake. An innocent link must work throughout.
#pragma once

#include <array>
#include <cstring>

#include "tests/conformance/innocent.h"
#include "tests/conformance/raw_tcp.h"
#include "van/fabric/bootstrap_message.h"
#include "van/fabric/endpoint.h"
#include "van/fabric/fabric_transport.h"
#include "van/fabric/message.h"
#include "van/fabric/probe_message.h"

namespace stretto::conformance {

/// The options under test, with small limits.
inline FabricOptions fabric_options() {
  FabricOptions options;
  options.provider = "tcp;ofi_rxm";
  options.max_payload_bytes = kMostPayload;
  options.queue_frames = 32;
  return options;
}

template <typename Bytes>
std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A libfabric endpoint and a TCP connection that send exactly what a test asks for.
class FakePeer {
 public:
  explicit FakePeer(const std::string& address) : line_(address) {
    endpoint_ = fabric::FabricEndpoint::open("tcp;ofi_rxm", "127.0.0.1").or_exit();
  }
  ~FakePeer() {
    if (endpoint_ != nullptr) endpoint_->shut();
  }
  FakePeer(const FakePeer&) = delete;
  FakePeer& operator=(const FakePeer&) = delete;

  RawTcp& line() { return line_; }
  fabric::BootstrapMessage own() const {
    return {.provider = endpoint_->provider(),
            .name = endpoint_->name(),
            .link = 77,
            .secret = 99,
            .queue_frames = 32};
  }
  /// Completes a valid handshake; polls `server` meanwhile.
  void introduce(End& server) {
    line_.send(text_of(fabric::encode(own())));
    std::string answer;
    const std::size_t wanted = fabric::kBannerBytes + fabric::kIntroductionBytes;
    ASSERT_TRUE(until({&server}, [&] {
      answer += line_.read();
      return answer.size() >= wanted;
    }));
    fabric::IntroductionBytes bytes;
    std::memcpy(bytes.data(), &answer[fabric::kBannerBytes], bytes.size());
    far_ = *fabric::decode(bytes);
    to_ = *endpoint_->insert(far_.name);
  }
  /// A valid prefix.
  fabric::Prefix prefix(fabric::MessageKind kind, std::uint64_t sequence) const {
    fabric::Prefix made;
    made.kind = kind;
    made.link = far_.link;
    made.secret = far_.secret;
    made.sequence = sequence;
    return made;
  }
  /// Sends `prefix`, padded with zeros to `bytes` bytes, and waits for the completion.
  void send(End& server, const fabric::Prefix& prefix, std::size_t bytes, bool as_note = false) {
    begin_send(server, prefix, bytes, as_note);
    ASSERT_TRUE(until({&server}, [&] {
      for (const fabric::ProviderCompletion& one : collect()) {
        if (one.operation == &sending_) return true;
      }
      return false;
    }));
  }
  /// Like send(), without waiting for the completion.
  void begin_send(End& server, const fabric::Prefix& prefix, std::size_t bytes, bool as_note) {
    memory_.assign(std::max(bytes, fabric::kPrefixBytes), std::byte{});
    const fabric::PrefixBytes start = fabric::encode(prefix);
    std::ranges::copy(start, memory_.begin());
    const std::span<const std::byte> message(memory_.data(), bytes);
    ASSERT_TRUE(until({&server}, [&] {
      collect();
      return (as_note ? endpoint_->send_note(to_, message, nullptr, sending_)
                      : endpoint_->send(to_, message, nullptr, sending_)) == fabric::Given::kTaken;
    }));
  }

  /// Sends `prefix` up to `most` times, until the provider rejects it; returns how often.
  std::size_t flood(const fabric::Prefix& prefix, std::size_t most) {
    while (!collect().empty()) {  // Otherwise the own provider would queue all of them.
    }
    memory_.assign(fabric::kHeadBytes, std::byte{});
    std::ranges::copy(fabric::encode(prefix), memory_.begin());
    std::size_t taken = 0;
    while (taken < most &&
           endpoint_->send(to_, memory_, nullptr, sending_) == fabric::Given::kTaken) {
      ++taken;
    }
    return taken;
  }

 private:
  std::span<fabric::ProviderCompletion> collect() { return endpoint_->collect(room_); }

  RawTcp line_;
  std::unique_ptr<fabric::FabricEndpoint> endpoint_;
  fabric::BootstrapMessage far_;
  fi_addr_t to_ = FI_ADDR_UNSPEC;
  std::vector<std::byte> memory_;
  fabric::ProviderOperation sending_{fabric::ProviderOperation::Kind::kSend};
  std::array<fabric::ProviderCompletion, 16> room_;
};

/// The counters of the endpoint under test; constructed before it.
struct Counted {
  FabricCounts counts_;
};

/// A listening endpoint, and an innocent link to it.
class FabricInnocent : protected Counted, public Innocent {
 protected:
  FabricInnocent() : Innocent(make(&counts_), make(nullptr), "127.0.0.1:0") {}

  static std::unique_ptr<Transport> make(FabricCounts* counts) {
    FabricOptions options = fabric_options();
    options.counts = counts;
    return make_fabric_transport(options).or_exit();
  }
};

}  // namespace stretto::conformance
