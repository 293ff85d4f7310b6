// SPDX-License-Identifier: Apache-2.0
// Peers that connect and end, also by kill -9, must leave nothing behind. Also counts the copies of
// a payload.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "tests/conformance/shm_fixture.h"
#include "van/tcp/tcp_transport.h"
#include "van/transport/composite.h"

namespace stretto::conformance {
namespace {

using ShmEnds = ShmInnocent;

TEST_F(ShmEnds, LogsRefusalWhenOutOfDescriptors) {
  const Descriptor stranger = shm::connect_to(name_of_address(address_)).or_exit();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  testing::internal::CaptureStderr();
  const int lowest_free = ::dup(0);
  ::close(lowest_free);
  const rlimit none{static_cast<rlim_t>(lowest_free), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  server_.poll(100ms);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("wants to connect to " + address_ +
                                 ", but: Too many open files; raise the limit (ulimit -n)"));
  expect_innocent_works();
}

// Ignores files of processes with links to other hosts: these belong to other tests.
std::size_t files_in_dev_shm() {
  std::error_code error;
  std::size_t count = 0;
  for (std::filesystem::directory_iterator file("/dev/shm", error), none; !error && file != none;
       file.increment(error)) {
    const std::string name = file->path().filename().string();
    const bool seats = name.starts_with("stretto-host-");
    if (!seats && name.find("stretto") != std::string::npos) ++count;
  }
  return count;
}

// A separate process that connects, sends `frames`, reports that with a byte, and stays.
class OtherProcess {
 public:
  OtherProcess(const std::string& address, std::uint64_t frames) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    process_ = ::fork();
    if (process_ == 0) run(address, frames, ends[1]);
    ::close(ends[1]);
    char said = 0;
    EXPECT_EQ(::read(ends[0], &said, 1), 1);
    ::close(ends[0]);
  }
  ~OtherProcess() { kill(); }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  void kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(std::exchange(process_, 0), nullptr, 0);
  }

 private:
  [[noreturn]] static void run(const std::string& address, std::uint64_t frames, int pipe) {
    auto transport = make_shm_endpoint();
    const LinkId link = transport->connect(address).or_exit();
    const Buffer payload = Buffer::copy_of(pattern(20'000, 5));
    wire::Header header;
    header.kind = wire::Kind::kPush;
    header.bytes = static_cast<std::uint32_t>(payload.size());
    for (header.sequence = 1; header.sequence <= frames; ++header.sequence) {
      if (transport->try_send(link, header, payload) != Sent::kTaken) ::_exit(1);
    }
    if (::write(pipe, "x", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }

  pid_t process_ = 0;
};

TEST_F(ShmEnds, DeliversFramesOfKilledSenderWithoutLeak) {
  const std::size_t files = files_in_dev_shm();
  Buffer kept;
  for (int round = 0; round < 3; ++round) {
    const std::size_t known = server_.accepted.size();
    OtherProcess other(address_, 30);
    other.kill();
    std::uint64_t came = 0;
    when_stranger = [&](LinkId, const wire::Header& header, Buffer payload) {
      EXPECT_EQ(header.sequence, ++came);
      EXPECT_TRUE(has_pattern(payload.bytes(), 5));
      kept = std::move(payload);
    };
    ASSERT_TRUE(poll_until([&] { return server_.broken.size() == known; }));
    EXPECT_EQ(came, 30U);
    EXPECT_TRUE(has_pattern(kept.bytes(), 5)) << "it outlives who sent it";
    expect_innocent_works();
  }
  kept = {};
  EXPECT_EQ(files_in_dev_shm(), files);
}

TEST_F(ShmEnds, ThreeHundredConnectSendAndLeave) {
  constexpr std::size_t kMany = 300;
  for (std::size_t i = 0; i < kMany; ++i) {
    End brief(make_shm_endpoint());
    ASSERT_EQ(brief.send(brief.connect(address_), 1, Buffer::copy_of(pattern(3'000, 1))),
              Sent::kTaken);
    if (i % 30 == 0) expect_innocent_works();
  }
  ASSERT_TRUE(poll_until([&] { return server_.broken.size() == kMany; }));
  EXPECT_EQ(server_.accepted.size(), kMany + 1);
  expect_innocent_works();
  EXPECT_LT(mapped_bytes(), std::size_t{32} << 20);
}

TEST_F(ShmEnds, ReusesMemoryOfDepartedPeers) {
  std::size_t first = 0;
  for (int round = 0; round < 40; ++round) {
    RogueLine rogue(address_);
    rogue.put({});
    const std::size_t known = server_.accepted.size();
    ASSERT_TRUE(poll_until([&] { return server_.accepted.size() > known; }));
    const LinkId link = server_.accepted.back();
    const Buffer payload = Buffer::copy_of(pattern(60'000, 1));
    while (server_.send(link, 1, payload) == Sent::kTaken) continue;
    rogue.line.reset();
    ASSERT_TRUE(poll_until([&] { return server_.broken.count(link) == 1; }));
    if (round == 0) first = mapped_bytes();
  }
  EXPECT_LE(mapped_bytes(), first + (1 << 20));
}

// A block with a reader must not be overwritten, even after its link was closed here.
TEST_F(ShmEnds, NeverReusesBlockStillBeingRead) {
  End reader(make_shm_endpoint());
  const LinkId link = reader.connect(address_);
  ASSERT_EQ(reader.send(link, 1), Sent::kTaken);
  ASSERT_TRUE(until({&reader, &server_}, [&] { return server_.accepted.size() == 2; }));
  Buffer kept;
  reader.when_frame = [&](LinkId, const wire::Header&, Buffer payload) {
    kept = std::move(payload);
  };
  wire::Header header;
  header.kind = wire::Kind::kValue;
  header.bytes = 50'000;
  const LinkId back = server_.accepted.back();
  ASSERT_EQ(server_.transport().try_send(back, header, Buffer::copy_of(pattern(50'000, 8))),
            Sent::kTaken);
  ASSERT_TRUE(until({&reader, &server_}, [&] { return !kept.empty(); }));
  server_.close(back);
  ASSERT_TRUE(until({&reader, &server_}, [&] { return reader.broken.count(link) == 1; }));
  const auto overwrite = [&] {
    std::vector<Buffer> all;
    for (int i = 0; i < 30; ++i) {
      all.push_back(server_.transport().allocate(50'000));
      std::ranges::fill(all.back().writable(), std::byte{0xee});
      server_.poll();
    }
  };
  overwrite();
  EXPECT_TRUE(has_pattern(kept.bytes(), 8));
  const std::byte* const memory = kept.data();
  kept = {};
  overwrite();
  EXPECT_NE(memory, nullptr);
}

// A quarter of the bytes in flight, so that a sender makes progress while payloads are kept.
TEST_F(ShmEnds, PayloadsMayBeKeptWithinBounds) {
  constexpr std::size_t kBytes = 50'000;
  End reader(make_shm_endpoint());
  const LinkId link = reader.connect(address_);
  ASSERT_EQ(reader.send(link, 1), Sent::kTaken);
  ASSERT_TRUE(until({&reader, &server_}, [&] { return server_.accepted.size() == 2; }));
  std::vector<Buffer> kept;
  reader.when_frame = [&](LinkId, const wire::Header&, Buffer payload) {
    if (payload.lasting()) kept.push_back(std::move(payload));
  };
  wire::Header header;
  header.kind = wire::Kind::kValue;
  header.bytes = kBytes;
  const LinkId back = server_.accepted.back();
  const auto send_all = [&](std::uint64_t until_frames) {
    while (reader.frames < until_frames) {
      const Buffer payload = Buffer::copy_of(pattern(kBytes, 8));
      ASSERT_TRUE(until({&reader, &server_}, [&] {
        return server_.transport().try_send(back, header, payload) == Sent::kTaken;
      }));
      reader.poll();
    }
  };
  send_all(60);
  const std::size_t most = (1 << 20) / 4 / kBytes;
  EXPECT_EQ(kept.size(), most);
  kept.clear();
  send_all(120);
  EXPECT_EQ(kept.size(), most) << "what was given back does not count any more";
}

// A small payload occupies a slot too. With all slots kept, no other frame could arrive.
TEST_F(ShmEnds, KeptSmallPayloadsLeaveSlots) {
  constexpr std::size_t kBytes = 1024;
  constexpr std::uint64_t kMany = 3 * shm::kSlots;
  End sender(make_shm_transport({}).or_exit());
  End reader(make_shm_transport({}).or_exit());
  const LinkId link = reader.connect(sender.listen("shm:"));
  ASSERT_EQ(reader.send(link, 1), Sent::kTaken);
  ASSERT_TRUE(until({&reader, &sender}, [&] { return sender.accepted.size() == 1; }));
  std::vector<Buffer> kept;
  reader.when_frame = [&](LinkId, const wire::Header&, const Buffer& payload) {
    kept.push_back(to_keep(payload));
  };
  wire::Header header;
  header.kind = wire::Kind::kUp;
  header.bytes = kBytes;
  const Buffer payload = Buffer::copy_of(pattern(kBytes, 8));
  for (header.sequence = 1; header.sequence <= kMany; ++header.sequence) {
    ASSERT_TRUE(until({&reader, &sender}, [&] {
      return sender.transport().try_send(sender.accepted[0], header, payload) == Sent::kTaken;
    }));
  }
  ASSERT_TRUE(until({&reader, &sender}, [&] { return kept.size() == kMany; }));
  EXPECT_TRUE(
      std::ranges::all_of(kept, [](const Buffer& one) { return has_pattern(one.bytes(), 8); }));
}

// One copy for a payload outside the transport's memory, none inside; none on arrival.
TEST_F(ShmEnds, PayloadsAreCopiedAtMostOnce) {
  Transport& from = innocent_.transport();
  innocent_.when_frame = nullptr;
  const auto sent = [&](const Buffer& payload) {
    const std::uint64_t before = from.copied().sent;
    wire::Header header;
    header.kind = wire::Kind::kPush;
    header.bytes = static_cast<std::uint32_t>(payload.size());
    const std::uint64_t received = server_.transport().copied().received;
    const std::size_t frames = server_.frames;
    EXPECT_EQ(from.try_send(link_, header, payload), Sent::kTaken);
    EXPECT_TRUE(until({&innocent_, &server_}, [&] { return server_.frames > frames; }));
    EXPECT_EQ(server_.transport().copied().received, received);
    return from.copied().sent - before;
  };
  EXPECT_EQ(sent(Buffer::copy_of(pattern(60'000, 1))), 60'000U);
  Buffer own = from.allocate(60'000);
  std::ranges::copy(pattern(60'000, 1), own.writable().begin());
  EXPECT_EQ(sent(own), 0U);
  EXPECT_EQ(sent(own.slice(6'400, 10'000)), 0U);
}

// ---- the composite

class Ways : public testing::Test {
 protected:
  static std::unique_ptr<Transport> make(CompositeOptions options = {}) {
    std::vector<Way> ways;
    ways.push_back(shm_way(ShmOptions{}).or_exit());
    return make_composite_transport(make_tcp_transport(TcpOptions{}).or_exit(), std::move(ways),
                                    std::move(options))
        .or_exit();
  }
  static void expect_echo(End& from, LinkId link, End& to, bool shared) {
    to.when_frame = [&](LinkId back, const wire::Header& header, Buffer payload) {
      EXPECT_EQ(to.send(back, header.sequence, payload), Sent::kTaken);
    };
    const Buffer payload = from.transport().allocate(100'000);
    ASSERT_EQ(from.send(link, 1, payload), Sent::kTaken);
    ASSERT_TRUE(until({&from, &to}, [&] { return from.frames == 1; }));
    EXPECT_EQ(from.transport().copied().received > 0, shared) << "kind kControl is copied";
  }
};

TEST_F(Ways, OnOneHostLinksAreOfSharedMemory) {
  End server(make());
  End worker(make());
  const std::string address = server.listen("127.0.0.1:0");
  EXPECT_NE(address.find(";shm="), std::string::npos);
  expect_echo(worker, worker.connect(address), server, true);
}

TEST_F(Ways, AnAddressWithoutWaysIsReachedByTcp) {
  End server(make());
  End worker(make());
  const std::string address = server.listen("127.0.0.1:0");
  expect_echo(worker, worker.connect(address.substr(0, address.find(';'))), server, false);
}

TEST_F(Ways, AWayThatLeadsNowhereOrIsUnknownIsPassedOver) {
  End server(make());
  const std::string address = server.listen("127.0.0.1:0");
  const std::string plain = address.substr(0, address.find(';'));
  for (const char* way :
       {";shm=0123456789abcdef", ";shm=", ";shm=../../etc", ";quantum=x", ";", ";;=;"}) {
    End worker(make());
    expect_echo(worker, worker.connect(plain + way), server, false);
  }
}

TEST_F(Ways, OneWithTcpAloneCanBeMet) {
  End server(make());
  End plain(make_tcp_transport(TcpOptions{}).or_exit());
  End worker(make());
  expect_echo(worker, worker.connect(plain.listen("127.0.0.1:0")), plain, false);
}

TEST_F(Ways, ARequiredWayThatIsNotThereIsAnError) {
  End server(make());
  const std::string address = server.listen("127.0.0.1:0");
  const std::string plain = address.substr(0, address.find(';'));
  End worker(make({.required_way = "shm", .exempt_address = "127.0.0.1:1"}));
  const Result<LinkId> refused = worker.transport().connect(plain);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::kUnsupported);
  EXPECT_NE(refused.status().cause().find("STRETTO_TRANSPORT=shm"), std::string::npos);
  EXPECT_FALSE(worker.transport().connect(plain + ";shm=0123456789abcdef").ok());
  worker.connect("127.0.0.1:1");
  expect_echo(worker, worker.connect(address), server, true);
}

}  // namespace
}  // namespace stretto::conformance
