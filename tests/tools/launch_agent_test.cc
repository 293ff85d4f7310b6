// SPDX-License-Identifier: Apache-2.0
// The protocol of launcher and agent: frames, links, invalid messages, and pending connections at
// the listener.
#include <errno.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "common/version.h"
#include "tests/sim/sim_network.h"
#include "tools/launch/remote/agent_listener.h"
#include "tools/launch/remote/remote_host.h"
#include "tools/launch/remote/tcp.h"

namespace stretto::launch {
namespace {

using Kind = AgentFrame::Kind;

constexpr Duration kPatience = 30s;

AgentHello hello_of_a_host() {
  return {2, kVersion, "host", "192.0.2.1", "192.0.2.2", {"eth0=192.0.2.2"}};
}

TEST(LaunchFrames, ComeAsTheyWent) {
  const AgentFrame frame{
      Kind::kOutput, 1, 7, -12345678901, {"", "two\nlines", std::string(3000, '\0')}};
  const std::string bytes = encoded(frame) + encoded({Kind::kFinished, 0, 0, 0, {}});
  for (const std::size_t piece : {std::size_t{1}, std::size_t{13}, bytes.size()}) {
    AgentFrameReader reader(true);
    std::vector<AgentFrame> read;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      reader.feed(std::string_view(bytes).substr(at, piece));
      for (auto next = reader.next(); next.ok() && *next; next = reader.next()) {
        read.push_back(**next);
      }
    }
    ASSERT_EQ(read.size(), 2u);
    EXPECT_EQ(read[0], frame);
  }
}

TEST(LaunchFrames, NoiseBeforeTheGreetingIsKeptApart) {
  AgentFrameReader reader(false);
  reader.feed("Welcome\nstretto-agent");
  EXPECT_FALSE(reader.next()->has_value());
  reader.feed(" 1\n" + encoded(frame_of(hello_of_a_host())));
  const auto frame = reader.next();
  ASSERT_TRUE(frame.ok() && frame->has_value());
  EXPECT_EQ(reader.take_noise(), "Welcome\n");
  EXPECT_EQ(hello_of(**frame)->interfaces, hello_of_a_host().interfaces);
  AgentFrameReader chatty(false);
  chatty.feed(std::string(AgentFrameReader::kMaxNoise + 1, 'x'));
  EXPECT_EQ(chatty.next().status().code(), Code::kMalformed);
}

TEST(LaunchFrames, RejectsMalformedFrames) {
  const std::string good = encoded({Kind::kReady, 0, 0, 0, {"text"}});
  std::vector<std::string> wrong(4, good);
  wrong[0][4] = 99;                            // Unknown kind.
  wrong[1][22] = 127;                          // A text longer than the frame.
  wrong[2][18] = 0;                            // Fewer texts than their bytes.
  wrong[3] = std::string("\xff\xff\xff\x7f");  // Longer than any frame.
  for (const std::string& bytes : wrong) {
    AgentFrameReader reader(true);
    reader.feed(bytes);
    EXPECT_EQ(reader.next().status().code(), Code::kMalformed);
  }
  EXPECT_EQ(hello_of({Kind::kReady, 0, 0, 0, {}}).status().code(), Code::kMalformed);
  EXPECT_EQ(hello_of({Kind::kHello, 0, 0, 0, {"1"}}).status().code(), Code::kMalformed);
}

// A remote host whose agent is the test.
class LaunchFarHost : public testing::Test, private RemoteHostEvents {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    agent_ = Descriptor(ends[1]);
    auto link = std::make_unique<AgentLink>(poller_, Descriptor(ends[0]), Descriptor(), true);
    RemoteHostEvents& events = *this;
    host_ = std::make_unique<RemoteHost>(poller_, events, clock_, "far", "/");
    AgentHello hello = hello_of_a_host();
    host_->adopt(std::move(link), hello);
  }

  void say(const AgentFrame& frame) {
    const std::string bytes = encoded(frame);
    ASSERT_EQ(::write(agent_.get(), bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
    poller_.turn(kPatience);
  }
  std::optional<AgentFrame> heard() {
    std::array<char, 4096> bytes;
    while (true) {
      auto frame = reader_.next();
      if (!frame.ok() || *frame) return frame.ok() ? *frame : std::nullopt;
      const ssize_t got = ::recv(agent_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (got <= 0) return std::nullopt;
      reader_.feed({bytes.data(), static_cast<std::size_t>(got)});
    }
  }

  void on_refused(std::size_t member, Status why) override { note("refused", member, why.cause()); }
  void on_ready(std::string_view text) override { note("ready", 0, std::string(text)); }
  void on_output(std::size_t member, std::size_t, std::string_view bytes) override {
    note("output", member, std::string(bytes));
  }
  void on_ended(std::size_t member, Exit exit) override { note("ended", member, exit.text()); }
  void on_here(RemoteHost&) override { note("here", 0, ""); }
  bool on_lost(RemoteHost&, Status why, Time since) override {
    note("lost", 0, why.cause());
    lost_since_ = since;
    return may_live_;
  }
  std::vector<std::size_t> on_awake(RemoteHost&) override {
    note("awake", 0, "");
    return {3};
  }
  void on_signalled(RemoteHost&, int signal) override { note("signalled", 0, signal_name(signal)); }
  void on_note(const RemoteHost&, std::string_view) override {}

  std::vector<std::string> take_events() { return std::exchange(events_, {}); }

  // Polls each second until `time`, as the launcher's loop does.
  void look_until(Duration time, Duration limit) {
    while (clock_.now() < start_ + time) {
      clock_.advance_to(std::min(clock_.now() + 1s, start_ + time));
      host_->on_time(clock_.now(), limit);
    }
  }

  sim::VirtualClock clock_;
  const Time start_ = clock_.now();
  Poller poller_;
  std::unique_ptr<RemoteHost> host_;
  Descriptor agent_;
  Time lost_since_ = {};
  bool may_live_ = false;

 private:
  void note(const std::string& what, std::size_t member, const std::string& text) {
    events_.push_back(what + " " + std::to_string(member) + " " + text);
  }

  AgentFrameReader reader_{true};
  std::vector<std::string> events_;
};

TEST_F(LaunchFarHost, OrdersBecomeFramesAndFramesEvents) {
  EXPECT_EQ(take_events(), std::vector<std::string>{"here 0 "});
  host_->start(3, {"sh", {"sh", "-c"}, {}, {{"A", "b"}}}, true);
  EXPECT_EQ(*heard(), (AgentFrame{Kind::kStart, 1, 3, 2, {"/", "sh", "sh", "-c", "A=b"}}));
  host_->signal({3, SIGTERM, SignalOrder::Scope::kGroup});
  EXPECT_EQ(*heard(), (AgentFrame{Kind::kSignal, 1, 3, SIGTERM, {}}));
  say({Kind::kReady, 0, 3, 0, {"h:1\n"}});
  say({Kind::kReady, 0, 3, 0, {"1\n"}});
  say({Kind::kReady, 0, 3, 0, {"2\n"}});
  say({Kind::kReady, 0, 3, 0, {"3\n"}});
  say({Kind::kOutput, 0, 3, 0, {"line\n"}});
  say({Kind::kOrphans, 0, 0, 2, {}});
  EXPECT_EQ(host_->orphans(), 2u);
  say({Kind::kEnded, kEndedForMemory, 3, SIGKILL, {}});
  say({Kind::kSignalled, 0, 0, SIGTERM, {}});
  EXPECT_EQ(take_events(),
            (std::vector<std::string>{
                "ready 0 h:1\n", "ready 0 1\n", "ready 0 2\n", "ready 0 3\n", "output 3 line\n",
                "ended 3 killed by SIGKILL, it seems for lack of memory", "signalled 0 SIGTERM"}));
  host_->finish(1s);
  EXPECT_EQ(*heard(), (AgentFrame{Kind::kFinish, 0, 0, 1000, {}}));
  say({Kind::kFinished, 0, 0, 1, {}});
  EXPECT_TRUE(host_->over());
  EXPECT_EQ(host_->left(), 1u);
  EXPECT_TRUE(take_events().empty());
}

TEST_F(LaunchFarHost, IgnoresImpossibleFramesFromAgent) {
  host_->start(3, {"sh", {"sh"}, {}, {}}, false);
  take_events();
  say({Kind::kEnded, 0, 4, 0, {}});      // Not its own process.
  say({Kind::kEnded, 0, 3, 256, {}});    // A status that would be taken for 0,
  say({Kind::kEnded, 1, 3, 0, {}});      // and no signal.
  say({Kind::kOutput, 2, 3, 0, {"x"}});  // No such stream.
  say({Kind::kOutput, 0, 9, 0, {"x"}});
  say({Kind::kReady, 0, 3, 0, {"h:1\n"}});  // Unrequested.
  say({Kind::kRefused, 0, 9, 1, {"x"}});
  say(frame_of(hello_of_a_host()));  // A duplicate.
  EXPECT_TRUE(take_events().empty());
  say({Kind::kEnded, 0, 3, 5, {}});
  say({Kind::kEnded, 0, 3, 5, {}});  // A duplicate.
  EXPECT_EQ(take_events(), std::vector<std::string>{"ended 3 exited with status 5"});
  say({Kind::kStart, 0, 3, 0, {}});  // Sent only by launchers.
  EXPECT_EQ(take_events().size(), 1u);
  EXPECT_TRUE(host_->over());
}

TEST_F(LaunchFarHost, AnAgentThatSaysItsLastUnaskedIsLost) {
  take_events();
  say({Kind::kFinished, 0, 0, 0, {}});
  EXPECT_EQ(take_events(), std::vector<std::string>{
                               "lost 0 far: an agent said its last before it was asked to end"});
  EXPECT_TRUE(host_->over());
}

TEST_F(LaunchFarHost, CreditComesOnlyWhileOutputIsTaken) {
  const std::string much(static_cast<std::size_t>(kOutputWindow) / 4, 'x');
  host_->start(3, {"sh", {"sh"}, {}, {}}, false);
  heard();
  take_events();
  host_->pause(1, true);
  say({Kind::kOutput, 0, 3, 0, {much}});
  while (take_events().empty()) poller_.turn(kPatience);
  EXPECT_EQ(heard(), std::nullopt);
  host_->pause(1, false);
  EXPECT_EQ(*heard(), (AgentFrame{Kind::kCredit, 0, 0, kOutputWindow / 4, {}}));
}

TEST_F(LaunchFarHost, AnAgentThatSaysNothingIsLost) {
  take_events();
  EXPECT_EQ(host_->deadline(5s), start_ + kAliveEvery);
  EXPECT_TRUE(host_->is_heard(clock_.now()));
  look_until(4s, 5s);
  EXPECT_FALSE(host_->is_heard(clock_.now())) << "nothing is started there";
  say({Kind::kAlive, 0, 0, 0, {}});
  EXPECT_TRUE(host_->is_heard(clock_.now()));
  look_until(8999ms, 5s);
  EXPECT_TRUE(take_events().empty());
  look_until(9s, 5s);
  EXPECT_EQ(take_events(), std::vector<std::string>{"lost 0 nothing heard of the agent on far for "
                                                    "5 s: it is frozen, or its host is gone"});
  EXPECT_EQ(lost_since_, start_ + 4s);
  EXPECT_TRUE(host_->over());
  EXPECT_FALSE(host_->deadline(5s));
}

TEST_F(LaunchFarHost, SilentAgentIsTakenUpAgain) {
  Command command;
  command.path = "/bin/x";
  command.arguments = {"x"};
  host_->start(3, command, false);
  host_->start(4, command, false);
  while (heard()) {
  }
  take_events();
  may_live_ = true;
  look_until(5s, 5s);
  EXPECT_EQ(take_events().size(), 1u);
  EXPECT_FALSE(host_->is_heard(clock_.now(), Duration::max())) << "nothing is started there";
  look_until(60s, 5s);
  EXPECT_TRUE(take_events().empty());
  say({Kind::kEnded, kEndedByItself, 3, 0, {}});
  EXPECT_EQ(take_events(), (std::vector<std::string>{"awake 0 ", "ended 3 exited with status 0"}));
  EXPECT_EQ(heard()->member, 4u) << "it is killed, as the job goes on without it";
  say({Kind::kEnded, kEndedBySignal, 4, SIGKILL, {}});
  EXPECT_TRUE(take_events().empty());
  EXPECT_TRUE(host_->is_heard(clock_.now()));
  look_until(70s, 5s);
  EXPECT_EQ(take_events().size(), 1u) << "silent once more";
  host_->finish(1s);
  EXPECT_TRUE(host_->over());
}

TEST_F(LaunchFarHost, TimeInWhichTheLauncherSleptIsNotTheAgents) {
  take_events();
  look_until(3s, 5s);
  clock_.advance_to(start_ + 600s);
  host_->on_time(clock_.now(), 5s);
  look_until(601s, 5s);
  EXPECT_TRUE(take_events().empty());
  look_until(602s, 5s);
  EXPECT_EQ(take_events().size(), 1u);
}

TEST_F(LaunchFarHost, ALinkThatEndsIsAHostThatIsLost) {
  take_events();
  agent_.close();
  poller_.turn(kPatience);
  EXPECT_EQ(take_events(),
            std::vector<std::string>{"lost 0 the agent on far ended, or the way to it"});
  EXPECT_TRUE(host_->over());
}

// An agent's handshake at the listener. Blocks until the launcher answers.
void say_hello(const Descriptor& socket, const std::string& secret) {
  EXPECT_TRUE(admit_launcher(socket, secret, kPatience, SteadyClock()).ok());
  const std::string words = encoded(frame_of(hello_of_a_host()));
  EXPECT_EQ(::write(socket.get(), words.data(), words.size()), static_cast<ssize_t>(words.size()));
}

TEST(LaunchGate, StrangersStayOutside) {
  const SteadyClock clock;
  Poller poller;
  Gate gate(poller, "secret");
  ASSERT_TRUE(gate.open("127.0.0.1").ok());
  const std::string address = "127.0.0.1:" + std::to_string(gate.port());
  const auto come = [&](const std::string& words) {
    Result<Descriptor> socket = knock("127.0.0.1:1," + address, clock);  // The second answers.
    EXPECT_TRUE(socket.ok()) << socket.status().text();
    EXPECT_EQ(::write(socket->get(), words.data(), words.size()),
              static_cast<ssize_t>(words.size()));
    return std::move(*socket);
  };
  const std::string greeting(kGreeting);
  const Descriptor unproven = come(greeting + encoded(frame_of(hello_of_a_host())));
  const std::string nonce(AdmissionKey::kNonceBytes, 'n');
  const std::string guess(AdmissionKey::kProofBytes, 'p');
  const Descriptor guesser =
      come(greeting + encoded({Kind::kNonce, 0, 0, 0, {nonce}}) +
           encoded({Kind::kProof, 0, 0, 0, {guess}}) + encoded(frame_of(hello_of_a_host())));
  const Descriptor other = come(greeting + encoded({Kind::kReady, 0, 0, 0, {}}));
  const Descriptor long_one = come(greeting + "\xff\xff\xff\x7f");
  const Descriptor silent = come("");
  const Descriptor agent = std::move(*knock(address, clock));
  std::thread proving([&] { say_hello(agent, "secret"); });
  std::vector<Gate::Arrival> arrivals;
  for (const Time until = clock.now() + kPatience; arrivals.empty() && clock.now() < until;) {
    poller.turn(until - clock.now());
    arrivals = gate.take_arrivals();
  }
  proving.join();
  ASSERT_EQ(arrivals.size(), 1u);
  EXPECT_EQ(arrivals[0].hello.rank, 2);
  EXPECT_EQ(arrivals[0].hello.own_address, "127.0.0.1");
  EXPECT_EQ(far_address(agent), "127.0.0.1");
  for (const Descriptor* refused : {&unproven, &guesser, &other, &long_one}) {
    std::array<char, 4096> bytes;
    ssize_t got = 1;
    while (got > 0 || (got < 0 && errno == EAGAIN)) {
      got = ::recv(refused->get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (got < 0) poller.turn(1s);
      EXPECT_TRUE(gate.take_arrivals().empty());
    }
  }
}

// In this scope the process can open only this many more descriptors.
class FewDescriptors {
 public:
  explicit FewDescriptors(int more) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const Descriptor next(::dup(STDIN_FILENO));
    rlimit few = before_;
    few.rlim_cur = static_cast<rlim_t>(next.get() + more);
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
};

TEST(LaunchGate, SilentStrangersMakeRoomForAnAgent) {
  const SteadyClock clock;
  Poller poller;
  Gate gate(poller, "secret");
  ASSERT_TRUE(gate.open("127.0.0.1").ok());
  const std::string address = "127.0.0.1:" + std::to_string(gate.port());
  std::vector<Descriptor> silent;
  for (int i = 0; i < 8; ++i) silent.push_back(std::move(*knock(address, clock)));
  const Descriptor agent = std::move(*knock(address, clock));
  std::thread proving([&] { say_hello(agent, "secret"); });
  const FewDescriptors few(5);
  std::vector<Gate::Arrival> arrivals;
  for (const Time until = clock.now() + kPatience; arrivals.empty() && clock.now() < until;) {
    poller.turn(until - clock.now());
    arrivals = gate.take_arrivals();
  }
  proving.join();
  ASSERT_EQ(arrivals.size(), 1U);
}

TEST(LaunchGate, GateListensAtLoopbackThatIsNamed) {
  Poller poller;
  for (const char* host : {"127.0.0.5", "localhost"}) {
    Gate gate(poller, "secret");
    ASSERT_TRUE(gate.open(host).ok()) << host;
    EXPECT_TRUE(connect_to({host, gate.port()}, kPatience, SteadyClock()).ok()) << host;
  }
}

TEST(LaunchGate, ReportsUnreachableAddresses) {
  const Status status = knock("127.0.0.1:1,nonsense", SteadyClock()).status();
  EXPECT_EQ(status.code(), Code::kNetwork);
  EXPECT_NE(status.cause().find("127.0.0.1:1 (no connection: Connection refused), nonsense ("),
            std::string::npos)
      << status.cause();
}

}  // namespace
}  // namespace stretto::launch
