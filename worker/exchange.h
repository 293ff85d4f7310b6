// SPDX-License-Identifier: Apache-2.0
// Exchange: the worker's side of every tensor: which operation each part is busy with, what has
// come, what is next. It cuts operations into parts, queues their frames, and ends tickets; links
// and membership are WorkerNode's.
#pragma once

#include <array>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/clock.h"
#include "observe/trace/trace.h"
#include "van/messages.h"
#include "van/van.h"
#include "worker/coder.h"
#include "worker/lingering.h"
#include "worker/operation.h"
#include "worker/staleness.h"

namespace stretto {

/// Thread: loop.
class Exchange {
 public:
  Exchange(Van& van, const Clock& clock, Duration operation_timeout,
           std::unique_ptr<Coder> coder = std::make_unique<Coder>())
      : van_(van), clock_(clock), timeout_(operation_timeout), coder_(std::move(coder)) {}

  /// Operations are noted there. It outlives this.
  void set_tracer(Tracer* tracer) { tracer_ = tracer; }
  /// Memory that one operation may take for encodings which the far end has not taken; a part
  /// alone may take more. Of each operation, so that none waits for what is less urgent, or paused.
  void set_most_encoded(std::size_t bytes) { most_encoded_ = bytes; }

  /// Makes a tensor known; `links` gives the link of each part's owner. Our rank is what a codec's
  /// chance depends on.
  void add_tensor(std::uint32_t id, const TensorSpec& spec, const Cut& cut,
                  std::vector<LinkId> links, Rank rank = 0);
  /// The tensor's spec, or null.
  const TensorSpec* find(std::uint32_t id) const;
  const TensorSpec* find(std::string_view name, std::uint32_t* id) const;
  /// Why operations on it end with an error at once, or ok.
  Status check_tensor(const Tensor& tensor) const;
  /// The link to the owner of each part of a tensor that is known.
  std::vector<LinkId> links_of(std::uint32_t id) const;

  /// Begins an operation, or ends it at once with an error.
  void start(const std::shared_ptr<Operation>& operation);

  /// The caller of an operation has changed their mind.
  void steer(const std::shared_ptr<Operation>& operation, const detail::Change& change);

  void on_data(const wire::Header& header, const Buffer& payload);
  /// Where the value in the frame of this header is wanted; empty if it is not, or not yet known.
  std::span<std::byte> landing(const wire::Header& header);
  void on_acked(const wire::Key& key);
  /// What the server says of a part that it cannot give.
  void on_fault(const wire::Key& key, const Status& why);
  /// Ends everything of one tensor with an error; later operations on it fail the same way.
  void fail_tensor(std::uint32_t id, const Status& why);
  /// Ends everything: when this returns every ticket has ended. The Van must have been shut before,
  /// so that nobody but codecs, which this stops, reads the users' memory.
  void end_all(const Status& why);
  /// The operation that was begun first, if that was before `before`: "push_pull 'x'". Else empty.
  std::string oldest(Time before) const;
  /// What other workers wait in, in words: said by timeouts.
  void set_elsewhere(const std::string& words) { elsewhere_ = words; }
  /// The error, and if it is a timeout what other workers wait in.
  Status with_elsewhere(const Status& why) const;
  /// Ends what is past its deadline, and ended operations whose memory is free at last.
  void tick();
  Time next_due() const;

  /// True if nothing is under way.
  bool idle() const { return operations_.empty() && lingering_.empty(); }
  /// An ended operation's memory has been held for so long that only closing links can free it.
  bool stuck() const { return lingering_.stuck(clock_.now()); }
  std::size_t under_way() const { return operations_.size(); }
  /// Shares of a part that were sent or wait to be; none of a part that is not known.
  std::uint64_t rounds_begun(std::uint32_t tensor, std::uint32_t part) const;
  /// True if nothing is under way, and no collected round is open that we have a share in. Of
  /// tensors that have failed nobody knows.
  bool settled() const;
  /// Rounds pushed of the part with most, and updates of others between the last two values that
  /// came for one part.
  std::uint64_t most_rounds() const { return most_rounds_; }
  std::uint64_t last_staleness() const { return last_staleness_; }
  const StalenessCounts& staleness() const { return staleness_; }

 private:
  /// What a part does at a time, and in which order: one thing in each lane. Eager pulls have a
  /// lane of their own, so they and the shares pass one another.
  enum LaneName : std::size_t { kShares, kPulls, kProbes };
  struct Lane {
    std::shared_ptr<Operation> current;
    // A pull or probe was cancelled whose question has left. Shares go on; the next question waits
    // for that answer, which it could be taken for.
    bool gave_up = false;
    std::list<std::shared_ptr<Operation>> waiting;
    bool answers_given_up(const wire::Header& header) const;
  };
  struct Part {
    LinkId link = 0;
    std::uint64_t rounds = 0;          // Shares of ours, sent.
    std::uint64_t last_version = 0;    // Of the last value that came,
    std::uint64_t last_applied = 0;    // and rounds of ours that were in it.
    bool awaiting_done = false;        // A collected round that we pushed to is not known finished.
    bool encoding = false;             // A share of ours is with its codec, and has not left.
    std::size_t encoded_bytes = 0;     // Of our share, until the far end has taken it.
    bool decoding = false;             // A value has come and is not in the target yet.
    std::shared_ptr<PartCoder> coder;  // Null without a codec.
    std::array<Lane, 3> lanes;
    bool may_begin(const Lane& lane, const Operation& operation) const;
    std::uint64_t rounds_begun() const;
  };
  struct TensorState {
    TensorSpec spec;
    Cut cut;
    std::vector<Part> parts;
    std::vector<std::uint32_t> probed;  // One part for each link.
    Status failed;
  };

  static LaneName lane_of(const TensorState& tensor, const Operation& operation);
  static LaneName lane_of(const TensorState& tensor, const wire::Header& header);
  bool take_given_up(TensorState& tensor, const wire::Key& key, LaneName lane);
  void advance(TensorState& tensor, std::uint32_t id, std::uint32_t part, LaneName lane);
  void advance(TensorState& tensor, const Operation& operation);
  void begin(TensorState& tensor, std::uint32_t id, std::uint32_t part, LaneName lane,
             const std::shared_ptr<Operation>& operation);
  wire::Header header_of(const Part& part, const wire::Key& key, const Operation& operation) const;
  void send(TensorState& tensor, std::uint32_t id, std::uint32_t part,
            const std::shared_ptr<Operation>& operation);
  void encode(TensorState& tensor, const wire::Header& header,
              const std::shared_ptr<Operation>& operation);
  void encode_more(TensorState& tensor, const std::shared_ptr<Operation>& operation);
  void encode_part(TensorState& tensor, const wire::Header& header,
                   const std::shared_ptr<Operation>& operation);
  void free_encoding(TensorState& tensor, const wire::Key& key);
  void send_encoded(const wire::Header& header, const std::shared_ptr<Operation>& operation,
                    Buffer encoded);
  void on_value(TensorState& tensor, const wire::Header& header, const Buffer& payload);
  static Status check_value(const TensorState& tensor, const wire::Header& header,
                            const Buffer& payload);
  void decode(TensorState& tensor, const wire::Header& header, const Buffer& payload);
  void take_value(TensorState& tensor, const wire::Header& header);
  void on_probe(TensorState& tensor, const wire::Header& header);
  static ValueInfo info_of(const Part& part, const wire::Header& header);
  static void note(const Part& part, const wire::Header& header, Operation& operation);
  void end_part(TensorState& tensor, const wire::Key& key, LaneName lane);
  void cancel(const std::shared_ptr<Operation>& operation);
  static void mark_failed(TensorState& tensor, const Status& why);
  void give_up(const std::shared_ptr<Operation>& operation, const Status& why);
  void end(const std::shared_ptr<Operation>& operation, const Status& status);
  std::string describe(const Operation& operation) const;
  void note_end(const Operation& operation) const;
  /// Since when a codec works, and that it has done so; on the thread that does the work.
  struct Worked {
    Time begin;
    Time end;
  };
  void note_codec(const wire::Header& header, const Worked& worked) const;
  Buffer lease(const std::shared_ptr<Operation>& operation, std::span<const std::byte> bytes);

  Van& van_;
  const Clock& clock_;
  Duration timeout_;
  Tracer* tracer_ = nullptr;
  std::unique_ptr<Coder> coder_;
  std::size_t most_encoded_ = 4 << 20;  // Milliseconds of a fast link, and of the pool's work.
  std::unordered_map<std::uint32_t, TensorState> tensors_;
  std::map<std::string, std::uint32_t, std::less<>> ids_;
  Operations operations_;  // By age, so by deadline.
  Lingering lingering_;
  std::uint64_t next_id_ = 1;
  std::uint64_t most_rounds_ = 0;
  std::uint64_t last_staleness_ = 0;
  StalenessCounts staleness_;
  std::string elsewhere_;
};

}  // namespace stretto
