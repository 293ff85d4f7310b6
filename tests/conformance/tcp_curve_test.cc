// SPDX-License-Identifier: Apache-2.0
// Encrypted links: with libzmq's own CURVE at either end, which shows that ours is the same; with
// ends of other keys or of none, which are refused in words; and with somebody between who changes,
// repeats, leaves out or merely reads what goes through. An innocent link works throughout.
#include <algorithm>
#include <optional>

#include "tests/conformance/tcp_fixture.h"
#include "van/tcp/curve.h"
#include "van/tcp/zmtp.h"

namespace stretto::conformance {
namespace {

using tcp::CurveIdentity;

CurveIdentity identity_of(std::string_view secret) {
  return tcp::curve_identity_from(secret).or_exit();
}

std::unique_ptr<Transport> make_encrypted(std::string_view secret, Duration patience = 5s) {
  TcpOptions options;
  options.max_payload_bytes = kMostPayload;
  options.handshake_timeout = patience;
  options.max_strangers = 16;
  options.curve = std::make_shared<const CurveIdentity>(identity_of(secret));
  return make_tcp_transport(options).or_exit();
}

constexpr std::string_view kSecret = "the secret of this job";

class TcpCurve : public Innocent {
 protected:
  TcpCurve() : Innocent(make_encrypted(kSecret), make_encrypted(kSecret), "127.0.0.1:0") {}

  // A link of `from` to `address` that ends; why.
  Status broken_link(End& from, const std::string& address, std::vector<End*> others) {
    const LinkId link = from.connect(address);
    from.send(link, 1);
    others.push_back(&from);
    EXPECT_TRUE(until(others, [&] { return from.broken.count(link) == 1; }));
    return from.broken.count(link) == 1 ? from.broken.at(link) : Status();
  }

  const CurveIdentity job_ = identity_of(kSecret);
};

TEST_F(TcpCurve, LibzmqConnectsToUs) {
  RawZmq libzmq(ZMQ_DEALER);
  libzmq.encrypt(job_.dialer, false, job_.listener.open);
  libzmq.connect(address_);
  when_stranger = [this](LinkId link, const wire::Header& header, Buffer payload) {
    server_.send(link, header.sequence, payload);
  };
  for (const std::size_t bytes : std::vector<std::size_t>{0, 1, 30, 31, 32, 8191, 8192, 60'000}) {
    const Parts sent = {header(bytes, bytes), text_of(pattern(bytes, 3))};
    libzmq.send(sent);
    Parts back;
    ASSERT_TRUE(poll_until([&] {
      back = libzmq.receive();
      return !back.empty();
    })) << bytes;
    ASSERT_EQ(back.size(), 2U);
    EXPECT_EQ(back[0], header(bytes, bytes));
    EXPECT_EQ(back[1], sent[1]);
  }
  expect_innocent_works();
}

TEST_F(TcpCurve, WeConnectToLibzmq) {
  RawZmq libzmq(ZMQ_ROUTER);
  libzmq.encrypt(job_.listener, true);
  const LinkId link = innocent_.connect(libzmq.bind());
  Parts hello;
  ASSERT_TRUE(until({&innocent_}, [&] {
    hello = libzmq.receive();
    return !hello.empty();
  }));
  ASSERT_EQ(hello.size(), 2U);  // Who it is, and an empty part.
  EXPECT_EQ(hello[1], "");
  std::uint64_t came = 0;
  innocent_.when_frame = [&](LinkId, const wire::Header& header, const Buffer& payload) {
    EXPECT_TRUE(has_pattern(payload.bytes(), 3));
    came = header.sequence;
  };
  for (const std::size_t bytes : std::vector<std::size_t>{1, 100, 8192, 60'000}) {
    ASSERT_EQ(innocent_.send(link, bytes, Buffer::copy_of(pattern(bytes, 3))), Sent::kTaken);
    Parts parts;
    ASSERT_TRUE(until({&innocent_}, [&] {
      parts = libzmq.receive();
      return !parts.empty();
    }));
    ASSERT_EQ(parts.size(), 3U);
    EXPECT_EQ(parts[2], text_of(pattern(bytes, 3)));
    libzmq.send(parts);
    ASSERT_TRUE(until({&innocent_}, [&] { return came == bytes; }));
  }
}

TEST_F(TcpCurve, WhoHasOtherKeysIsRefused) {
  const CurveIdentity other = identity_of("the secret of another job");
  struct Case {
    tcp::CurveKeyPair own;
    tcp::CurveKey far;
  };
  // All of another job, or this job's listener known and no key of its dialers.
  for (const Case& keys :
       {Case{other.dialer, other.listener.open}, Case{other.dialer, job_.listener.open},
        Case{job_.dialer, other.listener.open}}) {
    RawZmq libzmq(ZMQ_DEALER);
    libzmq.encrypt(keys.own, false, keys.far);
    libzmq.connect(address_);
    libzmq.send(frame(1));
    ASSERT_TRUE(poll_until([&] { return libzmq.hung_up_on(); }));
    expect_innocent_works();
  }
  EXPECT_EQ(server_.accepted.size(), 1U);
  End stranger(make_encrypted("the secret of another job"));
  const Status why = broken_link(stranger, address_, {&server_});
  EXPECT_EQ(why.code(), Code::kMalformed);
  EXPECT_NE(why.cause().find("another key"), std::string::npos) << why.text();
  EXPECT_NE(why.cause().find("STRETTO_JOB_TOKEN"), std::string::npos) << why.text();
  EXPECT_EQ(server_.accepted.size(), 1U);
  expect_innocent_works();
}

// Who listens by other keys is not told anything either.
TEST_F(TcpCurve, AListenerOfOtherKeysIsRefused) {
  End other(make_encrypted("the secret of another job"));
  const Status why = broken_link(innocent_, other.listen("127.0.0.1:0"), {&other});
  EXPECT_NE(why.cause().find("another key"), std::string::npos) << why.text();
  EXPECT_TRUE(other.accepted.empty());
  innocent_.broken.clear();
  RawZmq libzmq(ZMQ_ROUTER);
  libzmq.encrypt(identity_of("the secret of another job").listener, true);
  const Status refused = broken_link(innocent_, libzmq.bind(), {});
  EXPECT_EQ(refused.code(), Code::kMalformed) << refused.text();
  innocent_.broken.clear();
  expect_innocent_works();
}

TEST_F(TcpCurve, PlainAndEncryptedEndsTellEachOtherApart) {
  End plain(make_endpoint());
  const Status at_encrypted = broken_link(plain, address_, {&server_});
  EXPECT_EQ(at_encrypted.code(), Code::kMalformed);
  EXPECT_NE(at_encrypted.cause().find("wanted a plain connection (NULL), and what listens at"),
            std::string::npos)
      << at_encrypted.text();
  EXPECT_NE(at_encrypted.cause().find("wants an encrypted connection (CURVE)"), std::string::npos);
  EXPECT_NE(at_encrypted.cause().find("STRETTO_ENCRYPT"), std::string::npos);
  const Status at_plain = broken_link(innocent_, plain.listen("127.0.0.1:0"), {&plain});
  EXPECT_NE(at_plain.cause().find("wanted an encrypted connection (CURVE)"), std::string::npos);
  EXPECT_NE(at_plain.cause().find("wants a plain connection (NULL)"), std::string::npos);
  EXPECT_NE(at_plain.cause().find("STRETTO_ENCRYPT"), std::string::npos);
  innocent_.broken.clear();
  RawZmq libzmq(ZMQ_DEALER);
  libzmq.connect(address_);
  libzmq.send(frame(1));
  ASSERT_TRUE(poll_until([&] { return libzmq.hung_up_on(); }));
  EXPECT_EQ(server_.accepted.size(), 1U);
  EXPECT_TRUE(plain.accepted.empty());
  expect_innocent_works();
}

TEST_F(TcpCurve, HalfHandshakesAreBoundedAndEnd) {
  End listener(make_encrypted(kSecret, 2s));
  const std::string address = listener.listen("127.0.0.1:0");
  tcp::CurveHandshake dialer(job_, tcp::CurveSide::kDialer, tcp::kDealer, tcp::kRouter);
  const std::string greeting = text_of(tcp::our_greeting(tcp::Mechanism::kCurve, false));
  const std::string hello = text_of(dialer.begin());
  std::vector<std::unique_ptr<RawTcp>> halves;
  for (std::size_t i = 0; i < 60; ++i) {
    halves.push_back(std::make_unique<RawTcp>(address));
    halves.back()->send((greeting + hello).substr(0, i % 3 == 0 ? 64 : 264 + i % 2 * 2));
  }
  const auto ended = [&] {
    return std::ranges::count_if(halves, [](const auto& one) { return one->ended(); });
  };
  ASSERT_TRUE(until({&listener}, [&] { return ended() == 60; }));
  EXPECT_TRUE(listener.accepted.empty());
  const std::string texts[] = {
      greeting + hello + hello,
      greeting + hello + std::string("\x04\xff", 2) + std::string(255, 'x'),
      greeting + std::string("\x06\0\0\0\0\0\0\x04\x01", 9),
      greeting + std::string("\x04\0", 2),
      greeting + hello.substr(0, 100) + std::string(102, 'x'),
      greeting + text_of(tcp::our_ready(tcp::kDealer)),
      greeting + std::string("\0\0", 2)};
  send_garbage(address_, texts, [this] { expect_innocent_works(); });
  EXPECT_EQ(server_.accepted.size(), 1U);
}

/// Somebody between a link's ends.
class Between {
 public:
  explicit Between(const std::string& address) : to_(address) {}
  const std::string& address() const { return listener_.address(); }
  /// Who connected to it goes on to the other address.
  void accept() {
    near_.emplace(listener_.accept());
    far_.emplace(to_);
  }
  /// What has come from who connected, and from who listens.
  void pass() {
    pass(*near_, *far_, from_dialer);
    pass(*far_, *near_, from_listener);
  }
  /// Passes on until then.
  bool pass_until(const std::vector<End*>& ends, const std::function<bool()>& condition) {
    return until(ends, [&] {
      pass();
      return condition();
    });
  }
  void say_to_listener(std::string_view bytes) { far_->send(bytes); }
  /// So many bytes that who connected says next, which do not go on.
  std::string held_back(const std::vector<End*>& ends, std::size_t bytes) {
    std::string held;
    EXPECT_TRUE(until(ends, [&] {
      held += near_->read();
      return held.size() >= bytes;
    }));
    EXPECT_EQ(held.size(), bytes);
    return held;
  }

  std::string from_dialer;
  std::string from_listener;

 private:
  static void pass(RawTcp& from, RawTcp& to, std::string& all) {
    for (std::string more = from.read(); !more.empty(); more = from.read()) {
      all += more;
      to.send(more);
    }
  }

  RawListener listener_;
  const std::string to_;
  std::optional<RawTcp> near_;
  std::optional<RawTcp> far_;
};

class TcpCurveBetween : public TcpCurve {
 protected:
  TcpCurveBetween() {
    dialed_ = dialer_.connect(between_.address());
    dialer_.poll();
    between_.accept();
    EXPECT_TRUE(between_.pass_until(ends_, [this] { return server_.accepted.size() == 2; }));
    accepted_ = server_.accepted.back();
  }

  static std::size_t sealed_bytes(std::size_t part_bytes) {
    const std::size_t sealed = tcp::kSealBytes + part_bytes;
    return tcp::message_head(sealed).size() + sealed;
  }
  // A frame as it is on the wire, which does not go on.
  std::string next_frame(std::uint64_t number, std::size_t bytes) {
    EXPECT_EQ(dialer_.send(dialed_, number, Buffer::copy_of(pattern(bytes, 5))), Sent::kTaken);
    return between_.held_back(ends_, sealed_bytes(wire::kHeaderBytes) + sealed_bytes(bytes));
  }
  bool has_ended() {
    return poll_until([&] { return server_.broken.count(accepted_) == 1; });
  }

  End dialer_{make_encrypted(kSecret)};
  Between between_{address_};
  std::vector<End*> ends_ = {&server_, &dialer_};
  LinkId dialed_ = 0;
  LinkId accepted_ = 0;
};

TEST_F(TcpCurveBetween, ReadsNothing) {
  const std::string secret = "what nobody else is to read";
  std::string large;
  while (large.size() < 40'000) large += secret;
  std::size_t came = 0;
  for (const std::string& text : {secret, large}) {
    ASSERT_EQ(dialer_.send(dialed_, 1, Buffer::copy_of(std::as_bytes(std::span(text)))),
              Sent::kTaken);
    came += 1;
    ASSERT_TRUE(
        between_.pass_until(ends_, [&] { return server_.sequences[accepted_].size() == came; }));
  }
  EXPECT_GT(between_.from_dialer.size(), large.size());
  EXPECT_EQ(between_.from_dialer.find(secret), std::string::npos);
  EXPECT_EQ(between_.from_dialer.find(std::string("STRO")), std::string::npos);  // Of headers.
}

TEST_F(TcpCurveBetween, ChangesNothingUnseen) {
  std::string bytes = next_frame(1, 20'000);
  bytes[bytes.size() - 5'000] = static_cast<char>(bytes[bytes.size() - 5'000] ^ 1);
  between_.say_to_listener(bytes);
  ASSERT_TRUE(has_ended());
  EXPECT_TRUE(server_.sequences[accepted_].empty());
  EXPECT_EQ(server_.broken.at(accepted_).code(), Code::kLinkBroken);  // It may be made anew.
  EXPECT_NE(server_.broken.at(accepted_).cause().find("changed"), std::string::npos);
  expect_innocent_works();
}

TEST_F(TcpCurveBetween, RepeatsNothing) {
  const std::string bytes = next_frame(1, 100);
  between_.say_to_listener(bytes);
  ASSERT_TRUE(poll_until([&] { return server_.sequences[accepted_].size() == 1; }));
  between_.say_to_listener(bytes);
  ASSERT_TRUE(has_ended());
  EXPECT_EQ(server_.sequences[accepted_], numbers(1, 1));
  expect_innocent_works();
}

TEST_F(TcpCurveBetween, PutsNothingInAnotherPlace) {
  const std::string first = next_frame(1, 100);
  const std::string second = next_frame(2, 100);
  between_.say_to_listener(second + first);
  ASSERT_TRUE(has_ended());
  EXPECT_TRUE(server_.sequences[accepted_].empty());  // The first is lacking.
  expect_innocent_works();
}

// A connection that was recorded says nothing to who listens.
TEST_F(TcpCurveBetween, ARecordedConnectionIsOfNoUse) {
  const std::string bytes = next_frame(1, 100);
  between_.say_to_listener(bytes);
  ASSERT_TRUE(poll_until([&] { return server_.sequences[accepted_].size() == 1; }));
  RawTcp again(address_);
  again.send(between_.from_dialer + bytes);
  ASSERT_TRUE(poll_until([&] { return again.ended(); }));
  EXPECT_EQ(server_.accepted.size(), 2U);
  expect_innocent_works();
}

}  // namespace
}  // namespace stretto::conformance
