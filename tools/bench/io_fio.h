// SPDX-License-Identifier: Apache-2.0
// fio, which others measure disks with, on the same file: io_uring, past the page cache.
#pragma once

#include <string>

#include "stretto/status.h"
#include "tools/bench/io_settings.h"
#include "worker/input/knobs.h"

namespace stretto::bench {

/// Bytes a second of one run; each `turn` begins elsewhere in the file, since what was read before
/// the host may have kept. Unsupported where there is no fio; kMalformed if it says something
/// else than usual.
Result<double> fio_rate(const std::string& path, Pattern pattern, input::Knobs knobs, Duration time,
                        std::uint32_t turn);

/// The fastest of depths 1, 2, ... 128 with reads of 32 KiB, 256 KiB and 2 MiB, one run of each.
Result<input::Knobs> best_of_fio(const std::string& path, Pattern pattern, Duration time);

/// The rate in fio's JSON.
Result<double> rate_in_fio_json(const std::string& text);

}  // namespace stretto::bench
