// SPDX-License-Identifier: Apache-2.0
// The receiver answers an urgent message with as many bytes, and any other with none.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "tools/bench/alarm.h"
#include "tools/bench/preempt_baselines.h"
#include "tools/bench/preempt_load.h"
#include "tools/bench/zmq_handles.h"

namespace stretto::bench {
namespace {

constexpr int kDefaultQueue = 1000;  // libzmq's own default.

Status receive(const PreemptSettings& settings, const std::string& host, const TellAddress& tell) {
  const ZmqContext context = open_context();
  const ZmqSocket socket = open_socket(context, ZMQ_ROUTER, kDefaultQueue);
  const int for_ever = -1;
  zmq_setsockopt(socket.get(), ZMQ_RCVTIMEO, &for_ever, sizeof for_ever);
  const std::string endpoint = bind_to(socket, host);
  if (endpoint.empty()) return zmq_refused("listen");
  if (Status status = tell(endpoint.substr(endpoint.rfind('/') + 1)); !status.ok()) return status;
  ZmqMessage id;
  ZmqMessage payload;
  while (id.receive(socket, 0) && payload.receive(socket, 0)) {
    if (!id.send(socket, ZMQ_SNDMORE)) return zmq_refused("answer");
    const bool urgent = payload.size() == settings.urgent_bytes;
    const bool sent = urgent ? payload.send(socket, 0) : zmq_send(socket.get(), nullptr, 0, 0) == 0;
    if (!sent) return zmq_refused("answer");
  }
  return zmq_refused("receive");
}

/// Thread: loop.
class ZmqCarrier final : public Carrier {
 public:
  explicit ZmqCarrier(const PreemptSettings& settings)
      : background_(settings.background_bytes),
        urgent_(settings.urgent_bytes),
        context_(open_context()),
        items_{{nullptr, timer_.get(), ZMQ_POLLIN, 0}} {}

  Status connect(std::span<const std::string> addresses) {
    for (const std::string& address : addresses) {
      sockets_.push_back(open_socket(context_, ZMQ_DEALER, kDefaultQueue));
      if (zmq_connect(sockets_.back().get(), fmt::format("tcp://{}", address).c_str()) != 0) {
        return zmq_refused("connect");
      }
      items_.push_back({sockets_.back().get(), 0, ZMQ_POLLIN, 0});
    }
    return {};
  }

  Status start_background() override {
    for (const ZmqSocket& socket : sockets_) {
      if (!send_in_place(socket, background_, 0)) return zmq_refused("send");
    }
    return {};
  }
  Status send_urgent() override {
    return send_in_place(sockets_.front(), urgent_, 0) ? Status() : zmq_refused("send");
  }
  Status step(Time until) override {
    timer_.set(until);
    zmq_poll(items_.data(), static_cast<int>(items_.size()), -1);
    for (const ZmqSocket& socket : sockets_) {
      while (answer_.receive(socket, ZMQ_DONTWAIT)) {
        if (answer_.size() != 0) {
          ++answered_;
          continue;
        }
        delivered_bytes_ += background_.size();
        if (!send_in_place(socket, background_, 0)) return zmq_refused("send");
      }
    }
    return {};
  }

 private:
  std::vector<std::byte> background_;  // Before the context: libzmq may read it until that ends.
  std::vector<std::byte> urgent_;
  ZmqContext context_;
  std::vector<ZmqSocket> sockets_;
  Timer timer_;
  std::vector<zmq_pollitem_t> items_;  // The timer's, then the sockets'.
  ZmqMessage answer_;
};

}  // namespace

Exchange zmq_one_message(const PreemptSettings& settings, double seconds) {
  return {"zmq_one_message",
          [&settings](const std::string& host, const TellAddress& tell, const TellReport&) {
            return receive(settings, host, tell);
          },
          [&settings, seconds](std::span<const std::string> addresses, const TellReport& report) {
            ZmqCarrier carrier(settings);
            if (Status status = carrier.connect(addresses); !status.ok()) return status;
            const Result<Report> found = drive(carrier, seconds);
            return found.ok() ? report(*found) : found.status();
          }};
}

}  // namespace stretto::bench
