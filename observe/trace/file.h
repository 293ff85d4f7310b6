// SPDX-License-Identifier: Apache-2.0
// A process's trace file, ROLE-RANK[-SHARD].trace: what STRETTO_TRACE=folder leaves behind, and
// what `stretto-trace merge` reads. Blocks of a kind, a length and that many bytes, little-endian:
// one of who it is and in which job, then notes, names and last the drops. A file that ends early
// is read up to there, since a process may be killed, with a warning. Notes that make no sense are
// left out, with a warning; a file that has no others is refused.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "observe/trace/timeline.h"
#include "stretto/status.h"

namespace stretto::trace {

inline constexpr std::size_t kNotesABlock = 4096;

// What makes up a file. A stream that fails says so itself.
void write_identity(std::ostream& out, const Node& node);
void write_notes(std::ostream& out, std::span<const TraceNote> notes);
void write_name(std::ostream& out, std::uint32_t tensor, const std::string& name);
void write_dropped(std::ostream& out, std::uint64_t dropped);

/// "worker-1.trace".
std::string file_name(const Node& node);

/// Adds what a file says to a trace. Errors: InvalidArgument, with the file and what is wrong.
Status read_file(const std::string& path, Trace& trace);
/// The job that left a file, or nothing if it does not begin as such a file does.
std::optional<std::uint64_t> job_of_file(const std::string& path);
/// All files of a folder. Errors: as read_file; InvalidArgument if they are of several jobs.
Result<Trace> read_folder(const std::string& folder);

}  // namespace stretto::trace
