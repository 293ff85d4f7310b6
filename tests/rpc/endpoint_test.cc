// SPDX-License-Identifier: Apache-2.0
// Endpoints in ordinary use: on threads of their own, over the transports of this host.
// node_test.cc tests their decisions without threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <latch>
#include <thread>

#include "stretto/rpc.h"
#include "tests/rpc/node_fixture.h"

namespace stretto::rpc {
namespace {

using testing::HasSubstr;

using fake::bytes;
using fake::same;

/// A listening server, and a client that has connected to it, over the transport of the parameter.
class EndpointTest : public testing::TestWithParam<const char*> {
 protected:
  static Options options() { return {.token = "secret", .transport = GetParam()}; }
  static Endpoint open(const Options& options) {
    Result<Endpoint> opened = Endpoint::open(options);
    EXPECT_TRUE(opened.ok()) << opened.status().text();
    return *std::move(opened);
  }
  static void add(Endpoint& endpoint, std::string_view method, Handler handler) {
    const Status status = endpoint.on(method, std::move(handler));
    EXPECT_TRUE(status.ok()) << status.text();
  }
  EndpointTest() {
    add(server_, "echo", [](const Request& request, Reply reply) { reply.send(request.message); });
    add(server_, "keep", [this](const Request&, Reply reply) {
      kept_ = std::make_unique<Reply>(std::move(reply));
      came_.count_down();
    });
    Result<std::string> address = server_.listen();
    EXPECT_TRUE(address.ok()) << address.status().text();
    EXPECT_EQ(server_.address(), *address);
    Result<Peer> peer = client_.connect(*address);
    EXPECT_TRUE(peer.ok()) << peer.status().text();
    peer_ = *peer;
  }

  std::unique_ptr<Reply> kept_;  // Of the first call of "keep"; before the endpoint, whose
  std::latch came_{1};           // handler uses both.
  Endpoint server_ = open(options());
  Endpoint client_ = open(options());
  Peer peer_;
};

TEST_P(EndpointTest, AnswersOfAllSizesComeBackByteForByte) {
  std::vector<std::pair<Call, std::vector<std::byte>>> calls;
  std::uint64_t seed = 0;
  for (const std::size_t size : {0U, 1U, 127U, 4096U, 200'000U, 262'144U, 262'145U, 5'000'001U}) {
    std::vector<std::byte> sent = bytes(size, ++seed);
    Call call = client_.call(peer_, "echo", sent);
    calls.emplace_back(std::move(call), std::move(sent));
  }
  for (const auto& [call, sent] : calls) {
    Result<Message> answer = call.wait();
    ASSERT_TRUE(answer.ok()) << answer.status().text();
    EXPECT_TRUE(same(*answer, sent)) << sent.size() << " bytes";
    EXPECT_TRUE(call.done());
  }
}

TEST_P(EndpointTest, AcceptsLargestMessageAndRefusesLarger) {
  const std::vector<std::byte> largest = bytes(kMaxMessageBytes, 7);
  Result<Message> answer = client_.call(peer_, "echo", largest).wait();
  ASSERT_TRUE(answer.ok()) << answer.status().text();
  EXPECT_TRUE(same(*answer, largest));
  const Call call = client_.call(peer_, "echo", bytes(kMaxMessageBytes + 1, 7));
  EXPECT_TRUE(call.done());
  EXPECT_EQ(call.wait().status().code(), Code::kInvalidArgument);
  EXPECT_THAT(call.wait().status().cause(), HasSubstr("67108865 bytes, at most 67108864"));
}

TEST_P(EndpointTest, OversizedAnswerReachesCallerAsError) {
  add(server_, "huge", [](const Request&, Reply reply) {
    reply.send(std::vector<std::byte>(kMaxMessageBytes + 1));
  });
  const Status status = client_.call(peer_, "huge", {}).wait().status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.cause(), HasSubstr("the answer has 67108865 bytes"));
}

TEST_P(EndpointTest, ACalledEndpointCallsBackOverTheSameLink) {
  add(client_, "name", [](const Request&, Reply reply) { reply.send("client"); });
  add(server_, "greet", [this](const Request& request, Reply reply) {
    auto later = std::make_shared<Reply>(std::move(reply));
    server_.call(request.from, "name", {}).on_done([later](const Result<Message>& name) {
      later->send("hello " + std::string(name.ok() ? name->text() : "nobody"));
    });
  });
  Result<Message> answer = client_.call(peer_, "greet", {}).wait();
  ASSERT_TRUE(answer.ok()) << answer.status().text();
  EXPECT_EQ(answer->text(), "hello client");
}

TEST_P(EndpointTest, InvalidCallNamesReason) {
  const Status unknown = client_.call(peer_, "no such", {}).wait().status();
  EXPECT_EQ(unknown.code(), Code::kUnsupported);
  EXPECT_THAT(unknown.text(), HasSubstr("'no such' cannot be called: no method of this name"));
  EXPECT_THAT(unknown.text(), HasSubstr("2 others are"));
  EXPECT_EQ(unknown.operation(), "call 'no such'");
  EXPECT_FALSE(unknown.peer().empty());
  EXPECT_EQ(client_.call(Peer(999), "echo", {}).wait().status().code(), Code::kPeerLost);
  EXPECT_EQ(client_.call(peer_, "", {}).wait().status().code(), Code::kInvalidArgument);
  EXPECT_EQ(client_.call(peer_, std::string(257, 'x'), {}).wait().status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(client_.call(peer_, "echo", {}, {.timeout = 0s}).wait().status().code(),
            Code::kInvalidArgument);
}

TEST_P(EndpointTest, AHandlersErrorReachesTheCaller) {
  add(server_, "fail", [](const Request&, Reply reply) {
    reply.fail({Code::kMismatch, std::string(2 * kMaxErrorBytes, 'x')});
  });
  add(server_, "drop", [](const Request&, const Reply&) {});
  const Status failed = client_.call(peer_, "fail", {}).wait().status();
  EXPECT_EQ(failed.code(), Code::kMismatch);
  EXPECT_EQ(failed.cause(), std::string(kMaxErrorBytes, 'x'));
  const Status dropped = client_.call(peer_, "drop", {}).wait().status();
  EXPECT_EQ(dropped.code(), Code::kCancelled);
  EXPECT_THAT(dropped.cause(), HasSubstr("handler of 'drop' dropped its reply"));
}

TEST_P(EndpointTest, AHandlerThatThrowsEndsItsCallAndNothingElse) {
  add(server_, "throw", [](const Request&, Reply reply) {
    const Reply dropped = std::move(reply);
    (void)std::string().at(1);
  });
  add(server_, "send and throw", [](const Request& request, Reply reply) {
    reply.send(request.message);
    (void)std::string().at(1);
  });
  const Status failed = client_.call(peer_, "throw", {}).wait().status();
  EXPECT_EQ(failed.code(), Code::kCancelled);
  EXPECT_THAT(failed.cause(), HasSubstr("handler of 'throw' dropped its reply"));
  EXPECT_TRUE(client_.call(peer_, "send and throw", {}).wait().ok());
  EXPECT_TRUE(client_.call(peer_, "echo", {}).wait().ok());
}

TEST_P(EndpointTest, FirstReplyFromAnotherThreadCounts) {
  const Call call = client_.call(peer_, "keep", {});
  came_.wait();
  EXPECT_TRUE(kept_->wanted());
  EXPECT_FALSE(call.done());
  kept_->send("first");
  kept_->fail({Code::kMismatch, "second"});
  EXPECT_FALSE(kept_->wanted());
  Result<Message> answer = call.wait();
  ASSERT_TRUE(answer.ok()) << answer.status().text();
  EXPECT_EQ(answer->text(), "first");
}

TEST_P(EndpointTest, ATimeoutEndsACallAndTheHandlerCanSeeIt) {
  const Status status = client_.call(peer_, "keep", {}, {.timeout = 20ms}).wait().status();
  EXPECT_EQ(status.code(), Code::kTimeout);
  EXPECT_THAT(status.text(), HasSubstr("method 'keep' gave no answer within 0.02 s"));
  came_.wait();
  // The peer receives the cancellation before any later call.
  EXPECT_TRUE(client_.call(peer_, "echo", {}).wait().ok());
  EXPECT_FALSE(kept_->wanted());
  kept_->send("too late");
  EXPECT_TRUE(client_.call(peer_, "echo", {}).wait().ok());
}

TEST_P(EndpointTest, CancellingEndsACallAtOnce) {
  const Call call = client_.call(peer_, "keep", {});
  came_.wait();
  call.cancel();
  EXPECT_EQ(call.wait().status().code(), Code::kCancelled);
  EXPECT_TRUE(client_.call(peer_, "echo", {}).wait().ok());
  EXPECT_FALSE(kept_->wanted());
}

TEST_P(EndpointTest, ALostPeerEndsItsCalls) {
  const Call call = client_.call(peer_, "keep", {});
  came_.wait();
  server_.disconnect(Peer(999));  // An unknown peer.
  {
    const Endpoint gone = std::move(server_);
  }
  const Status status = call.wait().status();
  EXPECT_TRUE(status.code() == Code::kPeerLost || status.code() == Code::kCancelled)
      << status.text();
  EXPECT_FALSE(client_.call(peer_, "echo", {}).wait().ok());
  EXPECT_FALSE(kept_->wanted());
  kept_->send("to nobody");
}

TEST_P(EndpointTest, AClosedEndpointEndsItsCallsAndTakesNone) {
  const Call call = client_.call(peer_, "keep", {});
  came_.wait();
  client_.close();
  client_.close();
  EXPECT_EQ(call.wait().status().code(), Code::kCancelled);
  EXPECT_EQ(client_.call(peer_, "echo", {}).wait().status().code(), Code::kCancelled);
  EXPECT_EQ(client_.connect(server_.address()).status().code(), Code::kCancelled);
  EXPECT_EQ(client_.listen().status().code(), Code::kCancelled);
  call.pause();
  kept_->send("to nobody");
}

// Its memory stays until it is destroyed; its peers are notified of the end at close().
TEST_P(EndpointTest, AClosedEndpointIsLostToItsPeers) {
  ASSERT_TRUE(client_.call(peer_, "echo", {}).wait().ok());
  server_.close();
  const Status status = client_.call(peer_, "echo", {}, {.timeout = 30s}).wait().status();
  EXPECT_EQ(status.code(), Code::kPeerLost) << status.text();
}

// The last copy may end on a thread of the transport, during the endpoint's destruction.
TEST_P(EndpointTest, LentBytesOwnerMayUseEndingEndpoint) {
  const std::vector<std::byte> lent = bytes(5'000'001, 1);
  std::atomic<int> given_back{0};
  Endpoint ending = open(options());
  const Peer peer = *ending.connect(server_.address());
  const Call pending = ending.call(peer, "keep", {});
  came_.wait();
  for (int i = 0; i < 4; ++i) {
    const std::shared_ptr<const void> owner(lent.data(), [&given_back, pending](const void*) {
      pending.set_priority(1);
      pending.cancel();
      ++given_back;
    });
    (void)ending.call(peer, "echo", Message::lent(lent, owner));
  }
  {
    const Endpoint gone = std::move(ending);
  }
  EXPECT_EQ(given_back.load(), 4);
  EXPECT_EQ(pending.wait().status().code(), Code::kCancelled);
}

TEST_P(EndpointTest, AnAnswerThatWasGivenBeforeCloseStillArrives) {
  const Call call = client_.call(peer_, "keep", {});
  came_.wait();
  const std::vector<std::byte> large = bytes(3'000'000, 3);
  kept_->send(large);
  server_.close();
  Result<Message> answer = call.wait();
  ASSERT_TRUE(answer.ok()) << answer.status().text();
  EXPECT_TRUE(same(*answer, large));
}

TEST_P(EndpointTest, AWrongTokenIsRefusedAndNamesNeither) {
  Options options = this->options();
  options.token = "guess";
  Endpoint stranger = open(options);
  const Status status = stranger.connect(server_.address()).status();
  EXPECT_EQ(status.code(), Code::kRefused);
  EXPECT_THAT(status.cause(), HasSubstr("another job token"));
  EXPECT_EQ(status.cause().find("secret"), std::string::npos);
  EXPECT_EQ(status.cause().find("guess"), std::string::npos);
  EXPECT_TRUE(client_.call(peer_, "echo", {}).wait().ok());
}

TEST_P(EndpointTest, ConnectToAbsentListenerTimesOut) {
  Result<std::string> address = open(options()).listen();
  ASSERT_TRUE(address.ok());
  const Status status = client_.connect(*address, 250ms).status();
  EXPECT_EQ(status.code(), Code::kTimeout);
  EXPECT_THAT(status.cause(), HasSubstr("within 0.25 s"));
  EXPECT_EQ(client_.connect("nonsense").status().code(), Code::kInvalidArgument);
}

TEST_P(EndpointTest, ConnectingBeforeTheOtherListensTriesAgain) {
  Result<std::string> address = open(options()).listen();
  ASSERT_TRUE(address.ok());
  const std::string host_port = address->substr(0, address->find(';'));
  const auto port =
      static_cast<std::uint16_t>(std::stoi(host_port.substr(host_port.find(':') + 1)));
  if (std::string(GetParam()) != "tcp") return;  // Other transports have no address to reuse.
  Result<Peer> peer = Status(Code::kCancelled, "not yet");
  std::jthread connecting([&] { peer = client_.connect(host_port, 30s); });
  Endpoint late = open(options());
  ASSERT_TRUE(late.listen(port).ok());
  connecting.join();
  EXPECT_TRUE(peer.ok()) << peer.status().text();
}

TEST_P(EndpointTest, WaitingInAHandlerIsAnErrorAndNotADeadlock) {
  add(server_, "wait", [this](const Request& request, Reply reply) {
    const Status waited = server_.call(request.from, "any", {}).wait().status();
    const Status connected = server_.connect(server_.address()).status();
    server_.close();
    reply.send(waited.text() + " " + connected.text());
  });
  Result<Message> answer = client_.call(peer_, "wait", {}).wait();
  ASSERT_TRUE(answer.ok()) << answer.status().text();
  EXPECT_THAT(std::string(answer->text()), HasSubstr("must not wait for a call"));
  EXPECT_THAT(std::string(answer->text()), HasSubstr("connect waits for the endpoint's thread"));
}

TEST_P(EndpointTest, CallsInFlightAreLimited) {
  Options options = this->options();
  options.max_calls = 2;
  Endpoint narrow = open(options);
  Result<Peer> peer = narrow.connect(server_.address());
  ASSERT_TRUE(peer.ok()) << peer.status().text();
  const Call first = narrow.call(*peer, "keep", {});
  came_.wait();
  const Call second = narrow.call(*peer, "echo", bytes(1 << 20, 1));
  second.pause();
  const Status third = narrow.call(*peer, "echo", {}).wait().status();
  EXPECT_TRUE(third.ok() || third.code() == Code::kResource) << third.text();
  kept_->send({});
  EXPECT_TRUE(first.wait().ok());
  second.resume();
  EXPECT_TRUE(second.wait().ok());
  EXPECT_TRUE(narrow.call(*peer, "echo", {}).wait().ok());
}

/// Concurrent use of all functions by user threads, for the sanitizers and for the counts.
TEST_P(EndpointTest, ManyThreadsCallSteerAndCancel) {
  constexpr int kThreads = 4;
  constexpr int kCalls = 150;
  std::atomic<int> answered{0};
  std::atomic<int> told{0};
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        sim::Random random(static_cast<std::uint64_t>(thread) + 1);
        std::vector<std::pair<Call, std::vector<std::byte>>> calls;
        for (int i = 0; i < kCalls; ++i) {
          std::vector<std::byte> sent =
              bytes(random.below(random.chance(0.1) ? 900'000 : 5'000), random.below(100));
          Call call =
              client_.call(peer_, "echo", sent, {.priority = static_cast<int>(random.below(5))});
          call.on_done([&told](const Result<Message>&) { ++told; });
          if (random.chance(0.3)) call.set_priority(static_cast<int>(random.below(9)));
          const bool cancel = random.chance(0.1);
          if (cancel) call.cancel();
          calls.emplace_back(std::move(call), std::move(sent));
        }
        for (const auto& [call, sent] : calls) {
          const Result<Message> answer = call.wait();
          if (!answer.ok()) {
            EXPECT_EQ(answer.status().code(), Code::kCancelled) << answer.status().text();
            continue;
          }
          EXPECT_TRUE(same(*answer, sent));
          ++answered;
        }
      });
    }
  }
  EXPECT_GT(answered.load(), kThreads * kCalls / 2);
  client_.close();
  EXPECT_EQ(told.load(), kThreads * kCalls);
}

TEST_P(EndpointTest, InAForkedChildEveryCallEndsAndTheParentsGoOn) {
  const Call waits = client_.call(peer_, "keep", bytes(1, 1));
  came_.wait();
  const auto refused = [](const Status& status) {
    return status.code() == Code::kInvalidArgument &&
           status.cause().find("was forked") != std::string::npos;
  };
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    bool all = refused(waits.wait().status()) && refused(client_.listen().status());
    all = all && refused(client_.connect(server_.address()).status());
    all = all && refused(client_.call(peer_, "echo", bytes(1, 1)).wait().status());
    client_.close();
    const Endpoint gone = std::move(server_);
    ::_exit(all ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(client_.call(peer_, "echo", bytes(10, 1)).wait().ok());
  std::move(*kept_).send(bytes(1, 1));
  EXPECT_TRUE(waits.wait().ok());
}

std::vector<const char*> transports() {
  std::vector<const char*> all = {"auto", "tcp"};
  if (Endpoint::open({.transport = "fabric"}).ok()) all.push_back("fabric");
  return all;
}

INSTANTIATE_TEST_SUITE_P(Transports, EndpointTest, testing::ValuesIn(transports()),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(Endpoint, RejectsInvalidOptions) {
  EXPECT_EQ(Endpoint::open({.transport = "pigeon"}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Endpoint::open({.max_calls = 0}).status().code(), Code::kInvalidArgument);
  const Status open_to_all = Endpoint::open({.bind_host = "0.0.0.0"}).status();
  EXPECT_EQ(open_to_all.code(), Code::kInvalidArgument);
  EXPECT_THAT(open_to_all.cause(), HasSubstr("needs a job token"));
  Result<Endpoint> anywhere =
      Endpoint::open({.token = "a secret of tests", .bind_host = "0.0.0.0"});
  ASSERT_TRUE(anywhere.ok());
  EXPECT_THAT(anywhere->listen().status().cause(), HasSubstr("say with node_host"));
}

}  // namespace
}  // namespace stretto::rpc
