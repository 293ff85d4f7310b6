// SPDX-License-Identifier: Apache-2.0
// A frame with a tag has one entry, in its tag's list.
#include "van/queue/frame_index.h"

#include <iterator>
#include <utility>

#include "common/check.h"

namespace stretto {

FrameList FrameIndex::add(Frame&& frame) {
  FrameList one;
  if (gone_.empty()) {
    one.push_back(std::move(frame));
  } else {
    one.splice(one.end(), gone_, gone_.begin());
    one.front() = std::move(frame);
  }
  if (one.front().tag != 0) note(one.begin());
  ++size_;
  return one;
}

void FrameIndex::drop(FrameList& from, FrameList::iterator frame) {
  if (frame->tag != 0) forget(frame);
  STRETTO_CHECK(size_ > 0);
  --size_;
  if (gone_.size() == kMostKept) {
    from.erase(frame);
    return;
  }
  frame->payload = Buffer();
  gone_.splice(gone_.begin(), from, frame);
}

void FrameIndex::note(FrameList::iterator frame) {
  auto found = tags_.find(frame->tag);
  if (found == tags_.end() && !gone_tag_.empty()) {
    gone_tag_.key() = frame->tag;
    found = tags_.insert(std::move(gone_tag_)).position;
  } else if (found == tags_.end()) {
    found = tags_.try_emplace(frame->tag).first;
  }
  Places& places = found->second;
  if (gone_places_.empty()) {
    places.push_back(frame);
  } else {
    gone_places_.front() = frame;
    places.splice(places.end(), gone_places_, gone_places_.begin());
  }
  frame->of_tag = std::prev(places.end());
}

void FrameIndex::forget(FrameList::iterator frame) {
  const auto found = tags_.find(frame->tag);
  STRETTO_CHECK(found != tags_.end() && *frame->of_tag == frame);
  Places& places = found->second;
  if (gone_places_.size() < kMostKept) {
    gone_places_.splice(gone_places_.begin(), places, frame->of_tag);
  } else {
    places.erase(frame->of_tag);
  }
  if (places.empty()) gone_tag_ = tags_.extract(found);
}

}  // namespace stretto
