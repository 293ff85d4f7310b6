// SPDX-License-Identifier: Apache-2.0
// An endpoint: it puts frames into other endpoints' mailboxes and empties its own.
#include "van/inproc/inproc_transport.h"

#include <fmt/core.h>

#include <unordered_map>
#include <utility>

#include "common/config/config.h"
#include "common/threads/loop_owner.h"
#include "van/inproc/directory.h"
#include "van/transport/poll_turns.h"

namespace stretto {
namespace inproc {
namespace {

constexpr std::size_t kFramesPerPoll = 64;

/// Thread: loop, but for wake().
class InprocTransport final : public Transport {
 public:
  InprocTransport(std::shared_ptr<Directory> directory, std::size_t queue_frames)
      : directory_(std::move(directory)), mailbox_(std::make_shared<Mailbox>(queue_frames)) {}
  ~InprocTransport() override;

  Result<std::string> listen(std::string_view address) override;
  Result<LinkId> connect(std::string_view address) override;
  Sent try_send(LinkId link, const wire::Header& header, const Buffer& payload) override;
  void close(LinkId link) override;
  void poll(Sink& sink, Duration wait) override;
  void wake() override { mailbox_->wake(); }
  bool ends_with_process(LinkId) const override { return true; }

 private:
  void deliver(Sink& sink, Event event);
  void deliver_frame(Sink& sink, Event event);

  std::shared_ptr<Directory> directory_;
  std::shared_ptr<Mailbox> mailbox_;
  std::string address_;  // Empty: not listening.
  std::unordered_map<LinkId, FarEnd> links_;
  bool polling_ = false;
  LoopOwner owner_;
};

Status ended() { return {Code::kLinkBroken, "the endpoint at the far end closed the link"}; }

InprocTransport::~InprocTransport() {
  if (!address_.empty()) directory_->leave(address_);
  for (const auto& [link, far] : links_) {
    if (far.mailbox != nullptr) far.mailbox->broke(far.link, ended());
  }
  for (const Event& event : mailbox_->shut()) {
    if (event.kind == Event::Kind::kOpened) event.far.mailbox->broke(event.far.link, ended());
  }
}

Result<std::string> InprocTransport::listen(std::string_view address) {
  if (!address_.empty()) {
    return Status(Code::kInvalidArgument,
                  fmt::format("wanted to listen at '{}', but this transport listens at {} already; "
                              "make another endpoint",
                              address, address_));
  }
  Result<std::string> entered = directory_->enter(address, mailbox_);
  if (entered.ok()) address_ = *entered;
  return entered;
}

Result<LinkId> InprocTransport::connect(std::string_view address) {
  if (const auto parsed = parse_host_port(address); !parsed.ok()) return parsed.status();
  const LinkId link = mailbox_->reserve();
  FarEnd far;
  far.mailbox = directory_->find(address);
  if (far.mailbox != nullptr) far.link = far.mailbox->open({mailbox_, link});
  if (far.link == 0) {
    mailbox_->broke(
        link, {Code::kLinkBroken,
               fmt::format("no connection to {} could be made: nobody listens there", address)});
    far = {};
  }
  links_.emplace(link, std::move(far));
  return link;
}

Transport::Sent InprocTransport::try_send(LinkId link, const wire::Header& header,
                                          const Buffer& payload) {
  owner_.check_if_owned();
  const auto found = links_.find(link);
  if (found == links_.end() || found->second.mailbox == nullptr) return Sent::kBroken;
  return found->second.mailbox->push(found->second.link, header, payload);
}

void InprocTransport::close(LinkId link) {
  auto node = links_.extract(link);
  if (node.empty()) return;
  const FarEnd& far = node.mapped();
  if (far.mailbox != nullptr) far.mailbox->broke(far.link, ended());
  mailbox_->forget(link);
}

void InprocTransport::poll(Sink& sink, Duration wait) {
  owner_.check();
  const Polling polling(polling_);
  for (Event& event : mailbox_->take(kFramesPerPoll, wait)) deliver(sink, std::move(event));
}

void InprocTransport::deliver(Sink& sink, Event event) {
  using Kind = Event::Kind;
  if (event.kind == Kind::kOpened) {
    links_.emplace(event.link, std::move(event.far));
    return sink.on_link(event.link);
  }
  if (links_.count(event.link) == 0) return;  // A callback has closed it.
  if (event.kind == Kind::kFrame) return deliver_frame(sink, std::move(event));
  if (event.kind == Kind::kWritable) return sink.on_writable(event.link);
  links_.erase(event.link);
  sink.on_broken(event.link, std::move(event.why));
}

void InprocTransport::deliver_frame(Sink& sink, Event event) {
  if (event.made_room) {
    const FarEnd& far = links_.at(event.link);
    far.mailbox->writable(far.link);
  }
  sink.on_frame(event.link, wire::HeaderView(event.header), std::move(event.payload));
}

}  // namespace
}  // namespace inproc

InprocNetwork::InprocNetwork(std::size_t queue_frames)
    : directory_(std::make_shared<inproc::Directory>()), queue_frames_(queue_frames) {}

InprocNetwork::~InprocNetwork() = default;

std::unique_ptr<Transport> InprocNetwork::make_endpoint() {
  return std::make_unique<inproc::InprocTransport>(directory_, queue_frames_);
}

}  // namespace stretto
