// SPDX-License-Identifier: Apache-2.0
// Submits work to the coder, and handles its results.
#include "worker/operations/codec_jobs.h"

#include <fmt/core.h>

#include <utility>

#include "common/check.h"

namespace stretto {

void CodecJobs::encode(TensorState& tensor, const wire::PushFrame& push,
                       const OperationPtr& operation) {
  bool& encoding = tensor.parts[push.key.part].codec.encoding;
  STRETTO_CHECK(!encoding);
  encoding = true;
  operation->to_encode.push_back(push);
  encode_more(tensor, operation);
}

void CodecJobs::encode_more(TensorState& tensor, const OperationPtr& operation) {
  while (!operation->to_encode.empty()) {
    const wire::PushFrame push = operation->to_encode.front();
    PartCodec& codec = tensor.parts[push.key.part].codec;
    const std::size_t bytes = codec.coder->encoded_bytes(tensor.cut.bytes_of_part(push.key.part));
    const std::size_t taken = operation->encoded_bytes;
    if (taken > 0 && taken + bytes > most_encoded_) return;
    operation->to_encode.pop_front();
    operation->encoded_bytes += bytes;
    codec.encoded_bytes = bytes;
    encode_part(tensor, push, operation);
  }
}

void CodecJobs::make_room(TensorState& tensor, std::uint32_t index) {
  PartState& part = tensor.parts[index];
  const std::size_t bytes = std::exchange(part.codec.encoded_bytes, 0);
  const OperationPtr operation = part.current(PartState::kShares);
  if (operation == nullptr) return;
  STRETTO_CHECK(operation->encoded_bytes >= bytes);
  operation->encoded_bytes -= bytes;
  encode_more(tensor, operation);
}

void CodecJobs::encode_part(TensorState& tensor, const wire::PushFrame& push,
                            const OperationPtr& operation) {
  struct Job {
    Buffer source;
    Buffer encoded;
    Worked worked;
  };
  const std::uint32_t index = push.key.part;
  const std::shared_ptr<PartCoder>& coder = tensor.parts[index].codec.coder;
  const auto source = tensor.bytes_of(operation->source, index);
  const auto job = std::make_shared<Job>();
  job->source = lease(operation, source, ways_.waker);
  job->encoded = ways_.allocate(coder->encoded_bytes(source.size()));
  coder_->run(
      {operation->id, source.size(), {operation->priority, operation->deadline_wanted}},
      [job, coder, round = push.round, &clock = clock_] {
        job->worked.begin = clock.now();
        coder->encode(job->source.bytes(), round, job->encoded.writable());
        job->source = Buffer();
        job->worked.end = clock.now();
      },
      [this, job, &tensor, push, operation] {
        note(tensor, push.header(), job->worked);
        PartState& part = tensor.parts[push.key.part];
        part.codec.encoding = false;
        // Otherwise the tensor has failed meanwhile.
        if (part.current(PartState::kShares) == operation) {
          ways_.encoded(tensor, push, operation, std::move(job->encoded));
        }
      });
}

Status CodecJobs::check(const TensorState& tensor, const wire::ValueFrame& value,
                        const Buffer& payload) {
  const std::uint32_t index = value.key.part;
  const std::size_t bytes = tensor.cut.bytes_of_part(index);
  const std::shared_ptr<PartCoder>& coder = tensor.parts[index].codec.coder;
  const bool coded = value.codec != Codec::kNone;
  const bool same_type = value.dtype == tensor.spec.dtype;
  Status status;
  if (coded && same_type && coder != nullptr) {
    status = coder->check(value.codec, bytes, payload);
  } else if (coded || !same_type || payload.size() != bytes) {
    status = {Code::kMalformed,
              fmt::format("a value of {} bytes came, wanted {}", payload.size(), bytes)};
  }
  if (status.ok()) return {};
  return {status.code(),
          fmt::format("tensor '{}', part {}: {}", tensor.spec.name, index, status.cause())};
}

void CodecJobs::decode(TensorState& tensor, const wire::ValueFrame& value, const Buffer& payload) {
  const std::uint32_t index = value.key.part;
  PartState& part = tensor.parts[index];
  const OperationPtr operation = part.current(tensor.lane_of(value));
  STRETTO_CHECK(operation != nullptr && !part.codec.decoding);
  const auto target = tensor.bytes_of(operation->target, index);
  const auto held = std::make_shared<Buffer>(lease(operation, target, ways_.waker));
  const auto worked = std::make_shared<Worked>();
  part.codec.decoding = true;
  coder_->run(
      {operation->id, target.size(), {operation->priority, operation->deadline_wanted}},
      [held, payload, target, worked, coder = part.codec.coder, &clock = clock_] {
        worked->begin = clock.now();
        coder->decode(payload.bytes(), target);
        *held = Buffer();
        worked->end = clock.now();
      },
      [this, &tensor, value, operation, worked] {
        note(tensor, value.header(), *worked);
        PartState& decoded = tensor.parts[value.key.part];
        decoded.codec.decoding = false;
        if (decoded.current(tensor.lane_of(value)) == operation) ways_.decoded(tensor, value);
      });
}

void CodecJobs::discard(Operation& operation) {
  operation.to_encode.clear();
  coder_->discard(operation.id);
}

// Records the user's bytes; the trace of the send has the encoded ones.
void CodecJobs::note(const TensorState& tensor, const wire::Header& header,
                     const Worked& worked) const {
  if (tracer_ == nullptr || !tracer_->on()) return;
  TraceRecord record;
  record.begin_ns = trace_time(worked.begin);
  record.end_ns = trace_time(worked.end);
  record.round = wire::round_of(header);
  record.tensor = tensor.id;
  record.part = header.key.part;
  record.bytes = static_cast<std::uint32_t>(tensor.cut.bytes_of_part(header.key.part));
  record.priority = header.priority;
  record.kind = TraceKind::kCodec;
  record.frame = static_cast<std::uint8_t>(header.kind);
  tracer_->note(record);
}

}  // namespace stretto
