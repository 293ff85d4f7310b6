// SPDX-License-Identifier: Apache-2.0
// Access control of the page, by plain HTTP over loopback. tests/e2e/page_test.py tests it in a
// browser.
#include "scheduler/dashboard/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>
#include <utility>
#include <vector>

#include "tests/common/http_client.h"

namespace stretto {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class PageTest : public testing::Test {
 protected:
  void serve(const std::string& address) {
    config_.page_address = address;
    config_.token = "secret";
    board_->show({R"({"nodes":[]})"}, R"({"state":"none"})", R"({"age_s":[]})");
    Result<std::unique_ptr<Page>> page = serve_page(config_, board_);
    ASSERT_TRUE(page.ok()) << page.status().text();
    page_ = std::move(*page);
  }
  int connected() const { return connected_to(page_->address()); }
  // The response to a request with these header lines.
  std::string ask(const std::string& lines) const {
    return answer_to(page_->address(), lines + "Connection: close\r\n\r\n");
  }

  /// Matches a response with that status and without any data of the job.
  static testing::Matcher<std::string> refused(int status) {
    return testing::AllOf(StartsWith("HTTP/1.1 " + std::to_string(status)), EndsWith("\r\n\r\n"));
  }

  Config config_;
  std::shared_ptr<PageSnapshots> board_ = std::make_shared<PageSnapshots>();
  std::unique_ptr<Page> page_;
};

TEST_F(PageTest, LoopbackIsOpenToThisHost) {
  serve("127.0.0.1:0");
  EXPECT_THAT(ask("GET / HTTP/1.1\r\nHost: localhost\r\n"), HasSubstr("<title>Stretto</title>"));
  EXPECT_THAT(ask("GET /page.js HTTP/1.1\r\nHost: localhost\r\n"), HasSubstr("'use strict'"));
  EXPECT_THAT(ask("GET /picture HTTP/1.1\r\nHost: 127.0.0.1:80\r\n"), HasSubstr("nodes"));
  EXPECT_THAT(ask("GET /curves.js HTTP/1.1\r\nHost: localhost\r\n"), HasSubstr("drawCurves"));
  EXPECT_THAT(ask("GET /timeline.js HTTP/1.1\r\nHost: localhost\r\n"), HasSubstr("drawTimeline"));
  EXPECT_THAT(ask("GET /history HTTP/1.1\r\nHost: localhost\r\n"), HasSubstr("age_s"));
  EXPECT_THAT(ask("GET /nothing HTTP/1.1\r\nHost: localhost\r\n"), StartsWith("HTTP/1.1 404"));
}

TEST_F(PageTest, ANameThatLeadsHereFromOutsideIsRefused) {
  serve("127.0.0.1:0");
  for (const std::string host : {"evil.example", "127.evil.example"}) {
    EXPECT_THAT(ask("GET /picture HTTP/1.1\r\nHost: " + host + "\r\n"), refused(403));
  }
}

TEST_F(PageTest, AnotherHostsPageNeedsTheToken) {
  serve("0.0.0.0:0");
  const std::string get = "GET /picture HTTP/1.1\r\nHost: localhost\r\n";
  EXPECT_THAT(ask(get), refused(401));
  EXPECT_THAT(ask(get + "Authorization: Bearer wrong\r\n"), refused(401));
  EXPECT_THAT(ask("GET /history HTTP/1.1\r\nHost: localhost\r\n"), refused(401));
  EXPECT_THAT(ask("POST /trace?iterations=5 HTTP/1.1\r\nHost: localhost\r\nX-Stretto: 1\r\n"
                  "Content-Length: 0\r\n"),
              refused(401));
  EXPECT_FALSE(board_->take_wish().has_value());
  EXPECT_THAT(ask(get + "Authorization: Bearer secret\r\n"), StartsWith("HTTP/1.1 200"));
}

TEST_F(PageTest, ATraceIsWishedForByThePageAlone) {
  serve("127.0.0.1:0");
  const std::string post = " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n";
  EXPECT_THAT(ask("POST /trace?iterations=5" + post), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(ask("POST /trace?iterations=0" + post + "X-Stretto: 1\r\n"),
              StartsWith("HTTP/1.1 400"));
  EXPECT_FALSE(board_->take_wish().has_value());
  EXPECT_THAT(ask("POST /trace?iterations=5" + post + "X-Stretto: 1\r\n"),
              StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(board_->take_wish()->iterations, 5U);
  EXPECT_THAT(ask("POST /trace?seconds=31" + post + "X-Stretto: 1\r\n"),
              StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(ask("POST /trace?seconds=2" + post + "X-Stretto: 1\r\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(board_->take_wish()->seconds, 2U);
}

// Sends a request byte by byte, until the server closes the connection.
void dribble(int fd) {
  const std::string begin = "GET / HTTP/1.1\r\nX-Slow: ";
  for (std::size_t i = 0;; ++i) {
    const char byte = i < begin.size() ? begin[i] : 'x';
    if (send(fd, &byte, 1, MSG_NOSIGNAL) != 1) return;
    pollfd look{.fd = fd, .events = POLLIN, .revents = 0};
    if (poll(&look, 1, i < begin.size() ? 0 : 100) != 0) return;
  }
}

constexpr int kSlow = 20;  // More than the page has threads.

TEST_F(PageTest, SlowClientsDoNotDelayAnswers) {
  serve("127.0.0.1:0");
  std::vector<int> sockets;
  {
    std::vector<std::jthread> clients;
    for (int i = 0; i < kSlow; ++i) {
      const int fd = sockets.emplace_back(connected());
      ASSERT_GE(fd, 0);
      if (i % 4 > 0) clients.emplace_back([fd] { dribble(fd); });  // The rest send nothing.
    }
    EXPECT_THAT(ask("GET /picture HTTP/1.1\r\nHost: localhost\r\n"), HasSubstr("nodes"));
  }  // All slow clients have been disconnected.
  for (const int fd : sockets) close(fd);
}

TEST_F(PageTest, SlowClientsDoNotDelayShutdown) {
  serve("127.0.0.1:0");
  std::vector<int> sockets;
  {
    std::vector<std::jthread> clients;
    for (int i = 0; i < kSlow; ++i) {
      const int fd = sockets.emplace_back(connected());
      ASSERT_GE(fd, 0);
      clients.emplace_back([fd] { dribble(fd); });
    }
    page_.reset();  // A slow client must not keep it waiting.
  }
  for (const int fd : sockets) close(fd);
}

// Sends `first`, then `more` repeatedly until the server closes; returns the bytes sent.
std::size_t talk_to_the_end(int fd, const std::string& first, const std::string& more) {
  std::size_t said = 0;
  for (const std::string* bytes = &first;; bytes = &more) {
    const ssize_t sent = send(fd, bytes->data(), bytes->size(), MSG_NOSIGNAL);
    if (sent < 0) return said;
    said += static_cast<std::size_t>(sent);
  }
}

// The socket buffers at both ends hold more bytes than the page reads.
TEST_F(PageTest, ClosesConnectionOfEndlessRequest) {
  serve("127.0.0.1:0");
  constexpr std::size_t kMostTaken = std::size_t{16} << 20;
  const std::string get = "GET /picture HTTP/1.1\r\nHost: localhost\r\n";
  const std::string post = "POST /trace HTTP/1.1\r\nHost: localhost\r\n";
  const std::string endless(64 << 10, 'x');
  const std::pair<std::string, std::string> talks[] = {
      {"GET /", endless},
      {get + "A: ", endless},
      {get, "a: " + std::string(8000, 'b') + "\r\n"},
      {post + "\r\n", endless},
      {post + "Transfer-Encoding: chunked\r\n\r\n", "10000\r\n" + endless + "\r\n"}};
  for (const auto& [first, more] : talks) {
    const int fd = connected();
    ASSERT_GE(fd, 0);
    EXPECT_LT(talk_to_the_end(fd, first, more), kMostTaken) << first;
    close(fd);
  }
}

TEST_F(PageTest, APortThatIsTakenIsNamed) {
  serve("127.0.0.1:0");
  config_.page_address = page_->address();
  EXPECT_THAT(serve_page(config_, board_).status().cause(), HasSubstr("in use"));
}

}  // namespace
}  // namespace stretto
