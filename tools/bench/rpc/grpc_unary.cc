// SPDX-License-Identifier: Apache-2.0
// grpc-unary BYTES INFLIGHT SECONDS DESCRIPTOR: the load of `stretto-bench rpc` by gRPC over TCP,
// started by it; writes its report to the descriptor. One call at a time is a blocking call;
// several, and all answers, use completion queues, with one thread at each end.
#include <fmt/core.h>
#include <grpcpp/grpcpp.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tools/bench/rpc/calls.h"
#include "tools/bench/rpc/grpc_unary.grpc.pb.h"

namespace stretto::bench {
namespace {

using grpc_unary::Echo;
using grpc_unary::Payload;

Status failure_of(const grpc::Status& status) {
  return {Code::kNetwork, fmt::format("gRPC: {}", status.error_message())};
}

// ---- server

class EchoService final : public Echo::CallbackService {
  // NOLINTNEXTLINE(readability-identifier-naming): gRPC's name.
  grpc::ServerUnaryReactor* Call(grpc::CallbackServerContext* context, const Payload* request,
                                 Payload* answer) override {
    answer->set_bytes(request->bytes());
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

// Serves echo calls until this process is killed.
Status answer(const TellAddress& tell) {
  EchoService service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(-1);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return {Code::kNetwork, "gRPC cannot listen at 127.0.0.1"};
  if (Status status = tell(fmt::format("127.0.0.1:{}", port)); !status.ok()) return status;
  server->Wait();
  return {Code::kNetwork, "gRPC's server has ended"};
}

// ---- client

/// A call in flight, and its slot.
struct Asking {
  grpc::ClientContext context;
  Payload answer;
  grpc::Status status;
  std::unique_ptr<grpc::ClientAsyncResponseReader<Payload>> reader;
  bool done = false;
};

class Asker {
 public:
  Asker(const std::string& address, const CallShape& shape) : slots_(shape.inflight) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    stub_ = Echo::NewStub(
        grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
    request_.set_bytes(std::string(shape.bytes, 'x'));
  }

  Status begin(std::size_t slot) {
    if (slots_.size() == 1) return {};
    auto asking = std::make_unique<Asking>();
    asking->reader = stub_->AsyncCall(&asking->context, request_, &queue_);
    asking->reader->Finish(&asking->answer, &asking->status, asking.get());
    slots_[slot] = std::move(asking);
    return {};
  }

  Status finish(std::size_t slot) {
    if (slots_.size() == 1) {
      grpc::ClientContext context;
      Payload answer;
      const grpc::Status status = stub_->Call(&context, request_, &answer);
      return status.ok() ? check(answer) : failure_of(status);
    }
    while (!slots_[slot]->done) {
      void* tag = nullptr;
      bool fine = false;
      if (!queue_.Next(&tag, &fine)) return {Code::kNetwork, "gRPC's queue has ended"};
      static_cast<Asking*>(tag)->done = true;
    }
    const Asking& asked = *slots_[slot];
    return asked.status.ok() ? check(asked.answer) : failure_of(asked.status);
  }

 private:
  Status check(const Payload& answer) const {
    if (answer.bytes().size() == request_.bytes().size()) return {};
    return {Code::kMalformed, "the answer has another size than the call"};
  }

  std::unique_ptr<Echo::Stub> stub_;
  grpc::CompletionQueue queue_;
  Payload request_;
  std::vector<std::unique_ptr<Asking>> slots_;
};

Result<Report> call_by_grpc(const CallShape& shape) {
  const Result<Answerer> answerer = Answerer::start(answer);  // Before gRPC has threads.
  if (!answerer.ok()) return answerer.status();
  Asker asker(answerer->address(), shape);
  return keep_calling(
      shape, answerer->process_id(), [&](std::size_t slot) { return asker.begin(slot); },
      [&](std::size_t slot) { return asker.finish(slot); });
}

}  // namespace
}  // namespace stretto::bench

int main(int argc, char** argv) {
  using namespace stretto::bench;
  if (argc != 5) return 2;
  const CallShape shape{.bytes = std::strtoull(argv[1], nullptr, 10),
                        .inflight = static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10)),
                        .seconds = std::strtod(argv[3], nullptr)};
  if (shape.inflight == 0) return 2;
  return reported(call_by_grpc(shape), "grpc-unary", std::atoi(argv[4]));
}
