// SPDX-License-Identifier: Apache-2.0
// A process's trace file, ROLE-RANK[-SHARD].trace, which STRETTO_TRACE=folder writes and
// `stretto-trace merge` reads. A block has a kind, a length and bytes, little-endian. The blocks
// are identity and job, notes, names, and last the drops. A file may end early, since a process may
// be killed: the reader takes the complete blocks, with a warning. It skips invalid notes, with a
// warning, and refuses a file with invalid notes only.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "observe/trace/timeline.h"
#include "stretto/status.h"

namespace stretto::trace {

inline constexpr std::size_t kNotesABlock = 4096;

// Write the parts of a file. The caller checks the state of the stream.
void write_identity(std::ostream& out, const Node& node);
void write_notes(std::ostream& out, std::span<const TraceNote> notes);
void write_name(std::ostream& out, std::uint32_t tensor, const std::string& name);
void write_dropped(std::ostream& out, std::uint64_t dropped);

/// "worker-1.trace".
std::string file_name(const Node& node);

/// Adds a file to a trace. Errors: InvalidArgument, with the file and its fault.
Status read_file(const std::string& path, Trace& trace);
/// The job of a trace file; none if the file does not begin as a trace file.
std::optional<std::uint64_t> job_of_file(const std::string& path);
/// Reads all files of a folder. Errors: as read_file; InvalidArgument for files of several jobs.
Result<Trace> read_folder(const std::string& folder);

}  // namespace stretto::trace
