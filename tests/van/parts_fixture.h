// SPDX-License-Identifier: Apache-2.0
// The parts of a Van over a scripted transport, without the Van: tests observe the effects of one
// part on the others.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "tests/van/far_end.h"
#include "tests/van/recorder.h"
#include "van/engine/link_manager.h"
#include "van/engine/receiver.h"

namespace stretto::fake {

class PartsFixture : public testing::Test {
 protected:
  explicit PartsFixture(Duration patience = {})
      : mender_({*transport_, lives_, trace_, counters_, clock_}, sender_, {.patience = patience}) {
  }

  void pass(Duration time) { clock_.advance_to(clock_.now() + time); }
  /// Marks the link as if the peer had sent its hello.
  void greet(LinkId link) { lives_.greet(link, *lives_.find(link)); }
  /// Sends all queued frames that may be sent.
  void pump() { sender_.pump(seen_); }
  control::Message sent(std::size_t index) {
    return *control::decode(wire_.sent.at(index).payload);
  }

  sim::VirtualClock clock_;
  Wire wire_;
  std::unique_ptr<Transport> transport_ = scripted_transport(wire_);
  LinkTable lives_;
  FrameTrace trace_{clock_};
  FrameCounters counters_;
  Recorder seen_;
  Sender sender_{{*transport_, lives_, trace_, counters_, clock_}, false};
  Reconnector mender_;
  LinkManager links_{{*transport_, lives_, trace_, counters_, clock_}, sender_, mender_};
  Receiver receiver_{
      {*transport_, lives_, trace_, counters_, clock_}, sender_, mender_, Receiver::Slices{}};
};

}  // namespace stretto::fake
