// SPDX-License-Identifier: Apache-2.0
// prometheus-cpp's exposer over MetricsSnapshots. Its exceptions end here.
#include "observe/metrics/endpoint.h"

#include <fmt/core.h>
#include <prometheus/client_metric.h>
#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <prometheus/metric_family.h>
#include <prometheus/metric_type.h>

#include <exception>
#include <map>

#include "common/network/network.h"
#include "common/token.h"

namespace stretto::metrics {
namespace {

// A client without a request blocks one of the threads for this time at most.
constexpr const char* kThreads = "16";
constexpr const char* kPatienceMs = "500";

prometheus::MetricType type_of(Type type) {
  switch (type) {
    case Type::kCounter:
      return prometheus::MetricType::Counter;
    case Type::kGauge:
      return prometheus::MetricType::Gauge;
    case Type::kHistogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

prometheus::ClientMetric client_of(const Metric& metric) {
  prometheus::ClientMetric made;
  for (const auto& [name, value] : metric.labels) made.label.push_back({name, value});
  switch (metric.type) {
    case Type::kCounter:
      made.counter.value = metric.value;
      break;
    case Type::kGauge:
      made.gauge.value = metric.value;
      break;
    case Type::kHistogram:
      made.histogram.sample_sum = metric.value;
      for (const auto& [bound, count] : metric.buckets) {
        made.histogram.bucket.push_back({count, bound});
        made.histogram.sample_count = count;
      }
      break;
  }
  return made;
}

class BoardReader final : public prometheus::Collectable {
 public:
  explicit BoardReader(std::shared_ptr<MetricsSnapshots> board) : board_(std::move(board)) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    std::map<std::string, prometheus::MetricFamily> families;
    for (const Metric& metric : board_->all()) {
      prometheus::MetricFamily& family = families[metric.name];
      family.name = metric.name;
      family.help = metric.help;
      family.type = type_of(metric.type);
      family.metric.push_back(client_of(metric));
    }
    std::vector<prometheus::MetricFamily> list;
    for (auto& [name, family] : families) list.push_back(std::move(family));
    return list;
  }

 private:
  std::shared_ptr<MetricsSnapshots> board_;
};

class PrometheusEndpoint final : public MetricsEndpoint {
 public:
  PrometheusEndpoint(const HostPort& at, const std::string& address,
                     std::shared_ptr<MetricsSnapshots> board, const std::string& token)
      : reader_(std::make_shared<BoardReader>(std::move(board))),
        exposer_(std::vector<std::string>{"listening_ports", address, "num_threads", kThreads,
                                          "request_timeout_ms", kPatienceMs}) {
    if (!is_loopback(at.host)) {
      exposer_.RegisterAuth([token](const std::string&, const std::string& password) {
        return same_token(password, token);
      });
    }
    exposer_.RegisterCollectable(reader_);
    const std::vector<int> ports = exposer_.GetListeningPorts();
    const int port = ports.empty() ? at.port : ports.front();
    address_ = HostPort{at.host, static_cast<std::uint16_t>(port)}.text();
  }
  const std::string& address() const override { return address_; }

 private:
  std::shared_ptr<BoardReader> reader_;
  prometheus::Exposer exposer_;
  std::string address_;
};

}  // namespace

Result<std::unique_ptr<MetricsEndpoint>> serve(const std::string& address,
                                               std::shared_ptr<MetricsSnapshots> board,
                                               const std::string& token) {
  Result<HostPort> at = parse_host_port(address);
  if (!at.ok()) return at.status();
  try {
    return std::unique_ptr<MetricsEndpoint>(
        std::make_unique<PrometheusEndpoint>(*at, address, std::move(board), token));
  } catch (const std::exception&) {  // Its text is "possible problem binding to port".
    if (at->host.find(':') == std::string::npos) return listening_failure(at->host, at->port);
    return Status(Code::kNetwork,
                  fmt::format("wanted to listen at {}: prometheus-cpp says that it cannot; if its "
                              "web server was built without IPv6, as Debian's is, give an address "
                              "of IPv4, such as 127.0.0.1:{}",
                              address, at->port));
  }
}

}  // namespace stretto::metrics
