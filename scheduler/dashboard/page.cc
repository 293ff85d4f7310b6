// SPDX-License-Identifier: Apache-2.0
// Routes, and their access checks. A foreign page may lead a browser here. So on loopback the
// request must name a loopback host, and a change needs a header that foreign pages cannot set.
#include "scheduler/dashboard/page.h"

#include <fmt/core.h>
#include <httplib.h>
#include <scheduler/dashboard/page_files.h>
#include <sys/socket.h>

#include <atomic>
#include <charconv>
#include <functional>
#include <thread>
#include <utility>

#include "common/network/network.h"
#include "scheduler/dashboard/connection_reaper.h"
#include "scheduler/dashboard/http_server.h"
#include "van/control/handshake.h"

namespace stretto {
namespace {

constexpr std::size_t kThreads = 16;
constexpr std::size_t kMostBody = 4096;
constexpr ConnectionDeadlines::Patience kVisitPatience{
    .ask = 1s, .answer = 60s, .at_once = kThreads};
constexpr int kStandstillSeconds = 2;  // Timeout of a client that reads nothing.
constexpr std::uint32_t kMostIterations = 1000;
constexpr std::uint32_t kTraceSeconds = 30;
constexpr int kForbidden = 403;
constexpr int kUnauthorized = 401;
constexpr int kBadRequest = 400;

std::uint32_t number_in(const httplib::Request& request, const char* name,
                        std::uint32_t otherwise) {
  const std::string text = request.get_param_value(name);
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : otherwise;
}

std::string host_of(const std::string& header) {
  const std::size_t colon = header.rfind(':');
  const bool has_port = colon != std::string::npos && header.find(']', colon) == std::string::npos;
  return has_port ? header.substr(0, colon) : header;
}

// The server's threads. The server shuts them down when it stops accepting connections; that closes
// slow clients' connections, so that they cannot delay the end of the job.
class Threads final : public httplib::TaskQueue {
 public:
  explicit Threads(ConnectionReaper& visitors) : visitors_(visitors) {}

  // The return type is void in some versions of the library, bool in others.
  decltype(std::declval<httplib::TaskQueue&>().enqueue({})) enqueue(
      std::function<void()> serve) override {
    visitors_.came();
    return threads_.enqueue([this, serve = std::move(serve)] {
      serve();
      visitors_.went();
    });
  }
  void shutdown() override {
    visitors_.end();
    threads_.shutdown();
  }

 private:
  ConnectionReaper& visitors_;
  httplib::ThreadPool threads_{kThreads};
};

class HttpPage final : public Page {
 public:
  HttpPage(const HostPort& at, std::string token, std::shared_ptr<PageSnapshots> board)
      : host_(at.host), token_(std::move(token)), board_(std::move(board)) {
    server_.new_task_queue = [this] { return new Threads(visitors_); };
    // The library's default is SO_REUSEPORT, with which two programs may share a port unnoticed.
    server_.set_socket_options([this](socket_t socket) {
      const int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
      socket_ = socket;
    });
    server_.set_payload_max_length(kMostBody);
    server_.set_read_timeout(kStandstillSeconds);
    server_.set_write_timeout(kStandstillSeconds);
    server_.set_keep_alive_max_count(1);  // An idle connection would block a thread.
    server_.set_post_routing_handler([this](const httplib::Request& in, httplib::Response&) {
      visitors_.asked(in.remote_addr, in.remote_port);
    });
    server_.set_default_headers({{"Content-Security-Policy", "default-src 'self'"},
                                 {"X-Content-Type-Options", "nosniff"},
                                 {"X-Frame-Options", "DENY"},
                                 {"Cache-Control", "no-store"}});
    add_files();
    add_data();
  }
  ~HttpPage() override {
    if (!thread_.joinable()) return;
    // The server cannot be stopped before it runs, which it does at once, or fails.
    while (!server_.is_running() && !ended_.load()) std::this_thread::yield();
    server_.stop();
    thread_.join();
  }

  Status start(std::uint16_t port) {
    const int bound = port == 0 ? server_.bind_to_any_port(host_)
                                : (server_.bind_to_port(host_, port) ? port : -1);
    if (bound < 0) return listening_failure(host_, port);
    listen(socket_, SOMAXCONN);  // The library's backlog of five delays other clients by a second.
    visitors_.watch(static_cast<std::uint16_t>(bound));
    address_ = HostPort{host_, static_cast<std::uint16_t>(bound)}.text();
    thread_ = std::jthread([this] {
      server_.listen_after_bind();
      ended_.store(true);
    });
    return {};
  }
  const std::string& address() const override { return address_; }

 private:
  void add_files() {
    const auto file = [this](const char* path, std::string_view text, const char* type) {
      server_.Get(path, [text, type](const httplib::Request&, httplib::Response& response) {
        response.set_content(text.data(), text.size(), type);
      });
    };
    file("/", page_files::kHtml, "text/html; charset=utf-8");
    file("/page.css", page_files::kCss, "text/css");
    file("/page.js", page_files::kJs, "text/javascript");
    file("/curves.js", page_files::kCurvesJs, "text/javascript");
    file("/timeline.js", page_files::kTimelineJs, "text/javascript");
  }

  void add_data() {
    server_.Get("/picture", [this](const httplib::Request& in, httplib::Response& out) {
      if (admits(in, out)) out.set_content(board_->snapshot(number_in(in, "page", 0)), kJson);
    });
    server_.Get("/history", [this](const httplib::Request& in, httplib::Response& out) {
      if (admits(in, out)) out.set_content(board_->history(), kJson);
    });
    server_.Get("/trace_state", [this](const httplib::Request& in, httplib::Response& out) {
      if (admits(in, out)) out.set_content(board_->trace_state(), kJson);
    });
    server_.Get("/trace", [this](const httplib::Request& in, httplib::Response& out) {
      if (admits(in, out)) out.set_content(board_->trace(), kJson);
    });
    server_.Post("/trace", [this](const httplib::Request& in, httplib::Response& out) {
      if (!admits(in, out)) return;
      const std::uint32_t iterations = number_in(in, "iterations", 0);
      const std::uint32_t seconds = number_in(in, "seconds", iterations > 0 ? kTraceSeconds : 0);
      const bool sensible =
          iterations <= kMostIterations && seconds >= 1 && seconds <= kTraceSeconds;
      if (!in.has_header("X-Stretto") || !sensible) {
        out.status = kBadRequest;
        return;
      }
      board_->wish({.iterations = iterations, .seconds = seconds});
      out.set_content("{}", kJson);
    });
  }

  bool admits(const httplib::Request& request, httplib::Response& response) const {
    if (is_loopback(host_)) {
      if (is_loopback(host_of(request.get_header_value("Host")))) return true;
      response.status = kForbidden;
      return false;
    }
    const std::string word = request.get_header_value("Authorization");
    constexpr std::string_view kScheme = "Bearer ";
    if (word.starts_with(kScheme) && same_token(word.substr(kScheme.size()), token_)) return true;
    response.status = kUnauthorized;
    return false;
  }

  static constexpr const char* kJson = "application/json";
  const std::string host_;
  const std::string token_;
  const std::shared_ptr<PageSnapshots> board_;
  std::string address_;
  socket_t socket_ = -1;  // The listening socket; owned by the server.
  ConnectionReaper visitors_{kVisitPatience};
  PageServer server_;
  std::atomic<bool> ended_{false};
  std::jthread thread_;
};

}  // namespace

Result<std::unique_ptr<Page>> serve_page(const Config& config,
                                         std::shared_ptr<PageSnapshots> board) {
  Result<HostPort> at = parse_host_port(config.page_address);
  if (!at.ok()) return at.status();
  auto page = std::make_unique<HttpPage>(*at, config.token, std::move(board));
  if (Status status = page->start(at->port); !status.ok()) return status;
  return std::unique_ptr<Page>(std::move(page));
}

}  // namespace stretto
