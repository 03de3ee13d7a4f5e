#include "braid/cli/progress.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

namespace braid::cli {
namespace {

TEST(Progress, SaysStepLossRateAndTimeLeft) {
  EXPECT_EQ(progress_text(40, 100, {1.2843}, 8.4),
            "step   40/100  loss 1.284  8.4 steps/s  eta 8s");
  EXPECT_EQ(progress_text(1, 1000, {0.5}, 0.1),
            "step     1/1000  loss 0.5  0.1 steps/s  eta 2h46m");
  EXPECT_EQ(progress_text(5, 5, {2}, 1234.5),
            "step  5/5  loss 2  1234 steps/s  eta 0s");
}

TEST(Progress, ShowsTheSpanOfMembers) {
  EXPECT_EQ(progress_text(1, 2, {0.5, 1.5, 1.0}, 1),
            "step  1/2  loss 0.5..1.5  1 steps/s  eta 1s");
  EXPECT_EQ(progress_text(1, 2, {0.5, NAN, 1.0}, 1),
            "step  1/2  loss 0.5..1 (1 not finite)  1 steps/s  eta 1s");
}

// A file is no terminal: whole lines, and always one for the last step.
TEST(Progress, WritesPlainLinesToAFile) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(),
                                                       std::fclose);
  {
    Progress progress(file.get(), 0, 3);
    for (int64_t step = 1; step <= 3; ++step) progress.update(step, {0.25});
    progress.finish();
  }
  std::rewind(file.get());
  std::string text(200, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  EXPECT_EQ(text.find("step  3/3  loss 0.25"), 0u) << text;
  EXPECT_EQ(text.find('\r'), text.npos);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
}

}  // namespace
}  // namespace braid::cli
