// SPDX-License-Identifier: Apache-2.0
// What is taken from fio's JSON; and fio itself, where it is installed.
#include "tools/bench/io_fio.h"

#include <gtest/gtest.h>

namespace stretto::bench {
namespace {

TEST(IoFio, RateIsTakenFromItsJson) {
  EXPECT_EQ(*rate_in_fio_json(R"({"jobs": [{"read": {"bw_bytes": 1500000}}]})"), 1.5e6);
  for (const char* wrong : {"", "fio: no such file", "{}", "[]", R"({"jobs": []})",
                            R"({"jobs": [{"read": {"bw_bytes": "much"}}]})"}) {
    EXPECT_EQ(rate_in_fio_json(wrong).status().code(), Code::kMalformed) << wrong;
  }
}

TEST(IoFio, AFileThatIsNotThereIsAnErrorAndNotMade) {
  const Result<double> rate =
      fio_rate("/proc/no/such/file", Pattern::kSequential, {1, 4096}, Duration(1ms), 0);
  EXPECT_FALSE(rate.ok());
}

}  // namespace
}  // namespace stretto::bench
