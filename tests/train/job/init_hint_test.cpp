#include "braid/train/job/init_hint.h"

#include <gtest/gtest.h>

namespace braid::train {
namespace {

TEST(InitHint, NamesPatternsOfWhatDoesNotFit) {
  std::string hint = init_hint({.known = {"body.weight", "head.weight"},
                                .missing = {"head.weight", "head.bias"},
                                .reshaped = {"embed.weight"},
                                .extra = {"old"}});
  EXPECT_NE(hint.find("init: {missing: ['head.*'], reshaped: ['embed.*'], "
                      "extra: ['old']}"),
            std::string::npos)
      << hint;
}

TEST(InitHint, FindsABeginningThatIsTooLongOrTooShort) {
  EXPECT_NE(init_hint({.missing = {"a.w", "b.w"},
                       .extra = {"module.a.w", "module.b.w"}})
                .find("rename: {'module.': ''}"),
            std::string::npos);
  EXPECT_NE(init_hint({.missing = {"net.a.w", "net.b.w", "head.w"},
                       .extra = {"a.w", "b.w"}})
                .find("rename: {'': 'net.'}"),
            std::string::npos);
}

// One name in common by chance is no beginning.
TEST(InitHint, WantsMostNamesToFit) {
  std::string hint = init_hint(
      {.missing = {"w", "head.b"}, .extra = {"x.w", "x.y", "x.z", "x.q"}});
  EXPECT_EQ(hint.find("rename"), std::string::npos) << hint;
}

TEST(InitHint, ManyPatternsAreCutShort) {
  InitMisfit misfit;
  for (int i = 0; i < 9; ++i) {
    misfit.missing.push_back("l" + std::to_string(i) + ".w");
  }
  EXPECT_NE(init_hint(misfit).find("'l3.*', ...]"), std::string::npos);
  EXPECT_EQ(init_hint({}), "");
}

}  // namespace
}  // namespace braid::train
