// SPDX-License-Identifier: Apache-2.0
// Files of processes: written by a recorder while a loop notes, read back, and read when they are
// broken.
#include "observe/trace/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "observe/trace/recorder.h"

namespace stretto::trace {
namespace {

using testing::HasSubstr;

class TraceFile : public testing::Test {
 protected:
  TraceFile() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = testing::TempDir() + "trace_" + test->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }

  static TraceRecord record(std::uint64_t round) {
    TraceRecord record;
    record.round = round;
    record.end_ns = 5;
    return record;
  }
  std::string file_with(const std::string& bytes) const {
    const std::string path = folder_ + "/worker-0.trace";
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  std::string folder_;
};

TEST_F(TraceFile, ARecorderKeepsAllThatComes) {
  const Node who{.node = 9,
                 .role = Role::kServer,
                 .rank = 1,
                 .shard = 2,
                 .job = 0,
                 .dropped = 0,
                 .records = {}};
  constexpr std::uint64_t kRecords = 20'000;
  TraceRing ring(1 << 15);
  {
    Result<std::unique_ptr<Sink>> sink = folder_sink(folder_ + "/new", who);
    ASSERT_TRUE(sink.ok()) << sink.status().text();
    Recorder recorder(ring, std::move(*sink));
    for (std::uint64_t i = 0; i < kRecords; ++i) ring.put({record(i)});
    recorder.name(4, "weights");
  }
  const Result<Trace> read = read_folder(folder_ + "/new");
  ASSERT_TRUE(read.ok()) << read.status().text();
  ASSERT_EQ(read->nodes.size(), 1U);
  const Node& node = read->nodes.front();
  EXPECT_EQ(node.name(), "server 1 shard 2");
  EXPECT_EQ(node.node, 9U);
  EXPECT_EQ(node.records.size() + node.dropped, kRecords);
  EXPECT_EQ(node.records.front().round, 0U);
  EXPECT_EQ(read->tensor_name(4), "weights");
  EXPECT_EQ(read->tensor_name(5), "tensor 5");
}

TEST_F(TraceFile, OneThatEndsEarlyIsReadUpToThere) {
  std::ostringstream out;
  write_identity(out, {});
  const std::vector<TraceNote> notes(10, TraceNote{record(1)});
  write_notes(out, notes);
  const std::size_t whole = out.str().size();
  write_notes(out, notes);
  for (std::size_t cut = 1; cut < 10 * sizeof(TraceNote); cut += 7) {
    Trace trace;
    testing::internal::CaptureStderr();
    ASSERT_TRUE(read_file(file_with(out.str().substr(0, whole + cut)), trace).ok());
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                HasSubstr("its first 10 notes are taken, " + std::to_string(cut) + " bytes"));
    EXPECT_EQ(trace.nodes.front().records.size(), 10U);
  }
}

TEST_F(TraceFile, CompleteFileReadsWithoutWarning) {
  std::ostringstream out;
  write_identity(out, {});
  write_dropped(out, 0);
  Trace trace;
  testing::internal::CaptureStderr();
  EXPECT_TRUE(read_file(file_with(out.str()), trace).ok());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(TraceFile, FilesOfTwoJobsAreNoOneTrace) {
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    const Node node{.node = rank,
                    .role = Role::kWorker,
                    .rank = rank,
                    .shard = 0,
                    .job = rank < 2 ? 7U : 8U,
                    .dropped = 0,
                    .records = {}};
    ASSERT_TRUE(folder_sink(folder_, node).ok());
  }
  const Status status = read_folder(folder_).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.cause(), HasSubstr("worker-0.trace, worker-1.trace; worker-2.trace"));
  std::filesystem::remove(folder_ + "/worker-2.trace");
  EXPECT_TRUE(read_folder(folder_).ok());
}

TEST_F(TraceFile, RefusesToOverwriteOtherJobsTrace) {
  const auto write = [this](std::uint64_t job) {
    Node node;
    node.role = Role::kWorker;
    node.job = job;
    return folder_sink(folder_, node).status();
  };
  EXPECT_TRUE(write(7).ok());
  const std::string path = folder_ + "/worker-0.trace";
  EXPECT_EQ(job_of_file(path), 7U);
  const Status refused = write(8);
  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  EXPECT_THAT(refused.cause(), HasSubstr(path + " is there already, from another job"));
  EXPECT_EQ(job_of_file(path), 7U);
  EXPECT_TRUE(write(7).ok()) << "a worker that comes back into its job writes again";
  file_with("somebody's notes");
  EXPECT_FALSE(write(8).ok());
  EXPECT_EQ(job_of_file(folder_ + "/none"), std::nullopt);
}

TEST_F(TraceFile, ASenselessNoteIsLeftOut) {
  std::vector<TraceNote> notes(3, TraceNote{record(1)});
  notes[1].span.end_ns = -1;
  std::ostringstream out;
  write_identity(out, {});
  write_notes(out, notes);
  Trace trace;
  const Status status = read_file(file_with(out.str()), trace);
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(trace.nodes.front().records.size(), 2U);
}

TEST_F(TraceFile, NotesOfAnotherSizeAreRefused) {
  std::ostringstream out;
  write_identity(out, {});
  std::string bytes = "\x02\x01\x53\x54";  // A block of notes.
  bytes += std::string("\x30\x00\x00\x00", 4) + std::string(48, '\0');
  Trace trace;
  const Status status = read_file(file_with(out.str() + bytes), trace);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.cause(), HasSubstr("a note is cut"));
}

TEST_F(TraceFile, NothingInItIsTrusted) {
  std::ostringstream head;
  write_identity(head, {});
  TraceNote bad{record(1)};
  bad.span.end_ns = -1;
  std::ostringstream senseless;
  write_notes(senseless, std::span(&bad, 1));
  const std::string huge("\x02\x01\x53\x54\xff\xff\xff\x7f", 8);
  const std::string unknown("\x77\x01\x53\x54\x01\x00\x00\x00x", 9);
  for (const std::string& bytes :
       {std::string(), std::string("noise of some length here"), senseless.str(), head.str() + huge,
        head.str() + unknown, head.str() + senseless.str()}) {
    Trace trace;
    const Status status = read_file(file_with(bytes), trace);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_THAT(status.cause(), HasSubstr("worker-0.trace"));
  }
}

TEST_F(TraceFile, WarnsOnceWhenWriteFails) {
  ::signal(SIGXFSZ, SIG_IGN);
  Result<std::unique_ptr<Sink>> sink = folder_sink(folder_, {});
  ASSERT_TRUE(sink.ok()) << sink.status().text();
  const std::vector<TraceNote> notes(64, TraceNote{record(1)});
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  testing::internal::CaptureStderr();
  const rlimit less{8192, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &less), 0);
  for (int i = 0; i < 100; ++i) (*sink)->take(notes);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("worker-0.trace is not written in full: File too large; make room"));
  testing::internal::CaptureStderr();
  (*sink)->end(0, {});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_FALSE(read_folder(folder_)->nodes.empty()) << "what is there can be read";
}

TEST_F(TraceFile, FoldersAndFilesThatCannotBeAreNamed) {
  EXPECT_THAT(read_folder(folder_).status().cause(), HasSubstr(folder_));
  EXPECT_FALSE(read_folder("/nonexistent").ok());
  const std::string file = file_with("");
  EXPECT_THAT(folder_sink(file, {}).status().cause(), HasSubstr(file));
  EXPECT_THAT(byteps_sink(file, 0, {}).status().cause(), HasSubstr(file));
}

}  // namespace
}  // namespace stretto::trace
