// SPDX-License-Identifier: Apache-2.0
// A handler that remembers what a Van told it, and does what a test wants done meanwhile.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "van/engine/van.h"

namespace stretto::fake {

/// Thread: loop.
class Recorder final : public Van::Handler {
 public:
  struct Data {
    LinkId link = 0;
    wire::Header header;
    Buffer payload;
  };

  std::vector<std::pair<LinkId, control::Message>> controls;
  std::vector<Data> data;
  std::vector<std::pair<LinkId, wire::PushTag>> acked;
  std::vector<std::pair<LinkId, Status>> broken;
  std::function<void(LinkId, const control::Message&)> when_control;
  std::function<void(LinkId)> when_data;
  std::function<void(LinkId)> when_acked;

 private:
  void on_control(LinkId link, const control::Message& message) override {
    controls.emplace_back(link, message);
    if (when_control) when_control(link, message);
  }
  void on_data(LinkId link, const wire::Header& header, Buffer payload) override {
    data.push_back({link, header, std::move(payload)});
    if (when_data) when_data(link);
  }
  void on_acked(LinkId link, wire::PushTag push) override {
    acked.emplace_back(link, push);
    if (when_acked) when_acked(link);
  }
  void on_broken(LinkId link, const Status& why) override { broken.emplace_back(link, why); }
};

}  // namespace stretto::fake
