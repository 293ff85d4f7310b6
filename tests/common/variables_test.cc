// SPDX-License-Identifier: Apache-2.0
// Misspelt names are noticed, with what was probably meant; others' names are not.
#include "common/config/variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> unread(std::vector<std::string> names) { return unread_variables(names); }

TEST(Variables, MisspeltVariableSuggestsClosestName) {
  EXPECT_THAT(unread({"PATH", "STRETTO_TRANSPROT", "STRETTO_RANK"}),
              ElementsAre("STRETTO_TRANSPROT is set, which nothing of Stretto reads; is "
                          "STRETTO_TRANSPORT meant?"));
  EXPECT_THAT(unread({"STRETTO_DEAD_AFTER"}), ElementsAre(HasSubstr("is STRETTO_DEAD_AFTER_S m")));
  EXPECT_THAT(unread({"STRETTO_CODECS"}), ElementsAre(HasSubstr("is STRETTO_CODEC meant")));
  EXPECT_THAT(unread({"STRETTO_METRICS"}), ElementsAre(HasSubstr("is STRETTO_METRICS_")));
}

TEST(Variables, OneThatIsLikeNoneIsNamedAlone) {
  EXPECT_THAT(unread({"STRETTO_COLOUR_OF_HATS"}),
              ElementsAre("STRETTO_COLOUR_OF_HATS is set, which nothing of Stretto reads"));
}

TEST(Variables, OthersNamesAreTheirBusiness) {
  EXPECT_THAT(unread({"NCCL_DEBUG", "BYTEPS_SERVER_ENGINE_THREAD", "STRETTOS"}), IsEmpty());
  EXPECT_THAT(unread({"STRETTO_SCHEDULER_SERVICE_HOST", "STRETTO_SCHEDULER_PORT",
                      "STRETTO_SCHEDULER_PORT_9700_TCP"}),
              IsEmpty());
}

TEST(Variables, AllThatAreKnownAreRead) {
  for (const std::string_view name : known_variables()) {
    EXPECT_THAT(unread({std::string(name)}), IsEmpty()) << name;
  }
}

}  // namespace
}  // namespace stretto
