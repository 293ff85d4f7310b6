// SPDX-License-Identifier: Apache-2.0
// The endpoint that Prometheus reads over HTTP, and which port each process serves it at.
#include "observe/metrics/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <limits>

#include "tests/common/http_client.h"

namespace stretto::metrics {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// The answer to a GET, headers and all; `more` are header lines of the request.
std::string get(const std::string& address, const std::string& path, const std::string& more = "") {
  return answer_to(address, "GET " + path + " HTTP/1.0\r\nHost: localhost\r\n" + more + "\r\n");
}

TEST(MetricsEndpoint, ServesBoardMetrics) {
  const auto board = std::make_shared<MetricsSnapshots>();
  Metric histogram;
  histogram.name = "stretto_staleness";
  histogram.help = "How stale.";
  histogram.type = Type::kHistogram;
  histogram.labels = {{"rank", "1"}};
  histogram.value = 9;
  histogram.buckets = {{1, 2}, {std::numeric_limits<double>::infinity(), 5}};
  Metric counter;
  counter.name = "stretto_bytes_in_total";
  counter.type = Type::kCounter;
  counter.value = 12;
  board->put(0, {histogram, counter});
  const auto endpoint = serve("127.0.0.1:0", board, "");
  ASSERT_TRUE(endpoint.ok()) << endpoint.status().text();
  const std::string text = get((*endpoint)->address(), "/metrics");
  EXPECT_THAT(text, HasSubstr("# TYPE stretto_staleness histogram"));
  EXPECT_THAT(text, HasSubstr("stretto_staleness_bucket{rank=\"1\",le=\"+Inf\"} 5"));
  EXPECT_THAT(text, HasSubstr("stretto_staleness_sum{rank=\"1\"} 9"));
  EXPECT_THAT(text, HasSubstr("stretto_bytes_in_total 12"));
  EXPECT_THAT(text, HasSubstr("stretto_memory_bytes "));
}

TEST(MetricsEndpoint, HalfRequestsBlockNoOtherClient) {
  const auto endpoint = serve("127.0.0.1:0", std::make_shared<MetricsSnapshots>(), "");
  ASSERT_TRUE(endpoint.ok()) << endpoint.status().text();
  std::vector<int> halves;
  for (int i = 0; i < 20; ++i) {  // More than the endpoint's threads.
    halves.push_back(connected_to((*endpoint)->address()));
    const std::string half = i % 2 == 0 ? "GET /metrics HTTP/1.1\r\nHost: " : "";
    ASSERT_EQ(write(halves.back(), half.data(), half.size()), static_cast<ssize_t>(half.size()));
  }
  EXPECT_THAT(get((*endpoint)->address(), "/metrics"), HasSubstr("stretto_memory_bytes "));
  for (const int fd : halves) close(fd);
}

TEST(MetricsEndpoint, APortThatIsTakenIsNamed) {
  const auto board = std::make_shared<MetricsSnapshots>();
  const auto first = serve("127.0.0.1:0", board, "");
  ASSERT_TRUE(first.ok());
  const auto second = serve((*first)->address(), board, "");
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.status().cause(),
              AllOf(HasSubstr("wanted to listen at " + (*first)->address()),
                    HasSubstr("in use; stop the process that listens there")));
}

TEST(MetricsEndpoint, OtherHostsNeedTheToken) {
  const auto endpoint = serve("0.0.0.0:0", std::make_shared<MetricsSnapshots>(), "secret");
  ASSERT_TRUE(endpoint.ok()) << endpoint.status().text();
  const HostPort at = parse_host_port((*endpoint)->address()).or_exit();
  const std::string here = "127.0.0.1:" + std::to_string(at.port);
  EXPECT_THAT(get(here, "/metrics"), HasSubstr(" 401 "));
  const auto with = [&here](const std::string& basic) {
    return get(here, "/metrics", "Authorization: Basic " + basic + "\r\n");
  };
  EXPECT_THAT(with("YTpzZWNyZXQ="), HasSubstr("stretto_memory_bytes ")) << "a:secret";
  EXPECT_THAT(with("YTpTZWNyZXQ="), HasSubstr(" 401 ")) << "a:Secret";
}

TEST(MetricsEndpoint, PortsAreCountedOnFromTheSchedulers) {
  Config config;
  config.metrics_address = "127.0.0.1:9400";
  config.servers = 3;
  config.role = Role::kScheduler;
  EXPECT_EQ(*address_of(config, 0), "127.0.0.1:9400");
  config.role = Role::kServer;
  EXPECT_EQ(*address_of(config, 2), "127.0.0.1:9403");
  config.role = Role::kWorker;
  EXPECT_EQ(*address_of(config, 0), "127.0.0.1:9404");
  config.metrics_address = "127.0.0.1:0";
  EXPECT_EQ(*address_of(config, 7), "127.0.0.1:0");
  config.metrics_address = "127.0.0.1:65535";
  EXPECT_FALSE(address_of(config, 0).ok());
}

TEST(MetricsEndpoint, NoneIsServedUnlessItIsWanted) {
  Config config;
  const auto board = std::make_shared<MetricsSnapshots>();
  EXPECT_EQ(serve_if_wanted(config, 0, board), nullptr);
  config.metrics_address = "127.0.0.1:0";
  EXPECT_NE(serve_if_wanted(config, 0, board), nullptr);
}

}  // namespace
}  // namespace stretto::metrics
