// SPDX-License-Identifier: Apache-2.0
// What the conformance suite needs of a transport, and the recorder for its endpoints. To run the
// suite over another transport, add a World and a line in kinds() (conformance.cc).
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "van/transport/transport.h"

namespace stretto::conformance {

using Sent = Transport::Sent;

/// Makes endpoints that can reach each other.
class World {
 public:
  virtual ~World() = default;
  virtual std::unique_ptr<Transport> endpoint() = 0;
  /// A listening address of this world, with a free port.
  virtual std::string any_address() const { return "127.0.0.1:0"; }
};

/// A transport under test.
struct Kind {
  const char* name;
  std::unique_ptr<World> (*make)();
  bool threads;  ///< Endpoints may be polled on separate threads.
};
std::vector<Kind> kinds();
std::vector<Kind> threaded_kinds();
inline void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

/// Bytes that differ from their neighbours and from other seeds' bytes at every position.
std::vector<std::byte> pattern(std::size_t size, std::uint32_t seed);
bool has_pattern(std::span<const std::byte> bytes, std::uint32_t seed);

/// Lends bytes, and counts the leases that have ended. Thread: any.
class Lender {
 public:
  explicit Lender(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  ~Lender() { EXPECT_EQ(ended_, lent_) << "leases that never ended"; }
  Lender(const Lender&) = delete;
  Lender& operator=(const Lender&) = delete;

  Buffer lend() {
    ++lent_;
    return Buffer::borrow(bytes_, [this] { ++ended_; });
  }
  int lent() const { return lent_; }
  bool all_ended() const { return ended_ == lent_; }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
  std::atomic<int> lent_{0};
  std::atomic<int> ended_{0};
};

/// An endpoint and its recorded events. Every callback checks rules of all transports: links are
/// announced once and before their frames, broken at most once, and silent after that.
class End : public Transport::Sink {
 public:
  explicit End(std::unique_ptr<Transport> transport) : transport_(std::move(transport)) {}

  std::string listen(const std::string& address);
  LinkId connect(const std::string& address);
  /// try_send of a header with this `sequence` and the payload's size.
  Sent send(LinkId link, std::uint64_t sequence, const Buffer& payload = {});
  void close(LinkId link);
  void poll(Duration wait = Duration::zero()) { transport_->poll(*this, wait); }
  Transport& transport() { return *transport_; }
  /// Ends the endpoint as its process's death would.
  void destroy() { transport_.reset(); }
  bool destroyed() const { return transport_ == nullptr; }

  std::vector<LinkId> accepted;                            ///< Links announced here, in order.
  std::map<LinkId, std::vector<std::uint64_t>> sequences;  ///< Of the received frames, by link.
  std::map<LinkId, Status> broken;
  std::multiset<LinkId> writable;
  std::size_t frames = 0;  ///< Received, over all links.
  std::size_t calls = 0;   ///< Callbacks of all kinds.
  bool admits = true;      ///< Every connection is admitted at once.

  // Test hooks, called after the bookkeeping.
  std::function<void(LinkId, const wire::Header&, Buffer)> when_frame;
  std::function<void(LinkId)> when_link;
  std::function<void(LinkId)> when_broken;

 private:
  void on_link(LinkId link) override;
  void on_frame(LinkId link, wire::HeaderView header, Buffer payload) override;
  void on_broken(LinkId link, Status why) override;
  void on_writable(LinkId link) override;
  void expect_open(LinkId link) const;

  std::unique_ptr<Transport> transport_;
  std::set<LinkId> open_;
  std::set<LinkId> ever_;
};

/// Polls the endpoints in turn until `condition`; false after a minute.
bool until(const std::vector<End*>& ends, const std::function<bool()>& condition);

/// The numbers `first` to `last`.
std::vector<std::uint64_t> numbers(std::uint64_t first, std::uint64_t last);

/// The suite. Starts with two endpoints: `server_` listens, `worker_` is connected to it.
class Conformance : public testing::TestWithParam<Kind> {
 protected:
  Conformance();

  /// Sends until `count` frames in all are accepted, numbered from `first`; polls both sides.
  void send_all(End& from, LinkId link, End& to, std::uint64_t count, std::uint64_t first = 1);
  /// The server's id of the worker's link; waits until the server knows the link.
  LinkId accepted_link();
  /// An address without a listener.
  std::string address_of_nobody();

  std::unique_ptr<World> world_;
  End server_;
  End worker_;
  std::string address_;
  LinkId link_ = 0;
};

}  // namespace stretto::conformance
