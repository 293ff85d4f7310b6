// SPDX-License-Identifier: Apache-2.0
// Transport: the interface of everything that moves frames: TCP, shared memory, inproc, the
// simulator's network, and libfabric if available. Every transport passes the same test suite,
// tests/conformance.
//
//   transport.listen("127.0.0.1:0")            -> "127.0.0.1:40123"
//   link = transport.connect("127.0.0.1:40123")
//   transport.try_send(link, header, payload)  -> kTaken
//   transport.poll(sink, 10ms)                 at the peer: on_link once, then on_frame
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/memory/buffer.h"
#include "stretto/status.h"
#include "stretto/types.h"
#include "van/wire/header.h"

namespace stretto {

/// A connection, as one endpoint names it. A transport never reuses one; 0 is none.
using LinkId = std::uint32_t;

/// Thread: loop, but for wake(). Frames arrive whole and in the order sent, or the link is reported
/// broken, once; after that report it delivers nothing. All callbacks run inside poll(), on the
/// caller's thread.
class Transport {
 public:
  /// The receiver of events. A callback may call try_send, connect and close, but not poll.
  class Sink {
   public:
    virtual ~Sink() = default;
    /// A peer connected to our address. Called before any frame of that link; possibly only when
    /// the first frame arrives.
    virtual void on_link(LinkId link) = 0;
    /// A frame. `payload` is a lease; it may outlive the call, and is writable if its memory is
    /// ours alone. The header is untrusted. Only two checks were made: the frame has at least a
    /// header's length, and the payload is within the limit.
    virtual void on_frame(LinkId link, wire::HeaderView header, Buffer payload) = 0;
    /// The link has ended with `why`: kLinkBroken; kTimeout if its path was silent for too long;
    /// kRefused if no process listens at the peer's host; kNetwork if the peer was not reached.
    /// Other codes are permanent. Not called for a link that we closed.
    virtual void on_broken(LinkId link, Status why) = 0;
    /// A link that answered kFull may take frames again.
    virtual void on_writable(LinkId link) = 0;
  };

  enum class Sent {
    kTaken,  ///< The transport holds the lease until the bytes have left, then ends it, once.
    kFull,   ///< Nothing was taken; on_writable follows when there is room.
    kBroken  ///< The link has ended; on_broken follows in the next poll, if not called already.
  };

  virtual ~Transport() = default;

  /// Accepts connections at `address` (host:port; port 0 picks a free one). At most one call.
  /// Returns the address that peers can connect to.
  virtual Result<std::string> listen(std::string_view address) = 0;
  /// Starts a connection, usable immediately. If it cannot be established it is reported broken.
  virtual Result<LinkId> connect(std::string_view address) = 0;
  /// Hands a frame to the link. `header.bytes` equals `payload.size()`. Never blocks. The payload's
  /// lease is copied if the frame is taken. Small frames may leave together, at the next poll().
  virtual Sent try_send(LinkId link, const wire::Header& header, const Buffer& payload) = 0;
  /// The peer of an accepted link has been authenticated. Until then a transport that is reachable
  /// from outside limits the link's memory and time. Unknown links are ignored.
  virtual void admit(LinkId) {}
  /// Ends a link immediately. Unsent frames are dropped; their leases end soon, perhaps on another
  /// thread. Nothing more arrives, and the peer sees the link broken. Unknown links are ignored.
  virtual void close(LinkId link) = 0;
  /// Delivers received frames; waits for some until `wait` has passed (0: does not wait; the
  /// simulator relies on that). Returns after a bounded number of frames, so that the caller's
  /// iteration is bounded.
  virtual void poll(Sink& sink, Duration wait) = 0;
  /// Makes the current poll, or the next one, return soon. Thread: any.
  virtual void wake() = 0;

  // For callers that spin before they wait in poll().

  /// What has_come() examines: memory alone, or the system, for sockets and wake().
  enum class Asked : std::uint8_t { kMemory, kSystem };
  /// True if poll() would find something, as far as the asked source knows; each source knows only
  /// its part. None if it cannot tell. It does not call the sink or ask peers to ring, and poll()
  /// still finds the same afterwards.
  virtual std::optional<bool> has_come(Asked) { return std::nullopt; }
  /// Sends now what would leave at the next poll().
  virtual void flush() {}
  /// True while peers of closed links have yet to be notified, which poll() does. Not for long: a
  /// stalled peer is not waited for.
  virtual bool lingers() const { return false; }

  /// Writable memory that this transport sends without a copy, if it has such; else any memory. It
  /// may outlive the transport. Thread: loop.
  virtual Buffer allocate(std::size_t bytes) { return Buffer::allocate(bytes); }
  /// Payload bytes that this transport itself has copied, for sending and on arrival; copies in
  /// lower layers (libraries, kernel, network) are not counted.
  struct Copied {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
  };
  virtual Copied copied() const { return {}; }
  /// How long a path may be dead, by PathLiveness, before its link is reported broken.
  virtual void set_dead_after(Duration) {}
  /// True if the peer is on this host: then no shared network lies between.
  virtual bool is_local(LinkId) const { return false; }
  /// False while an outgoing link is being established: nothing has reached the peer yet.
  virtual bool is_made(LinkId) const { return true; }
  /// The round trips of the link's packets, measured by the kernel: up to a relay, if there is one.
  struct RoundTrips {
    Duration least{};
    Duration smoothed{};  ///< Of recent packets, including queueing (RFC 6298).
  };
  /// None if no kernel connection carries the link.
  virtual std::optional<RoundTrips> round_trips(LinkId) const { return std::nullopt; }
  /// True if only the peer's process can end the link: no network lies between.
  virtual bool ends_with_process(LinkId) const { return false; }

  // For a transport that combines others, and waits for all of them at once.

  /// Readable when poll() has work; -1: only poll() itself can wait.
  virtual int descriptor() const { return -1; }
  /// How long the caller may wait for the descriptor instead of calling poll(), at most `wait`.
  /// Zero if there is work that the descriptor does not show.
  virtual Duration may_wait(Duration wait) const { return wait; }
  /// poll() without a wait and without system calls, for a caller that has just found the
  /// descriptor not readable.
  virtual void poll_unsignalled(Sink& sink) { poll(sink, Duration::zero()); }
};

}  // namespace stretto
