#include "braid/train/job/job_page.h"

#include <gtest/gtest.h>

#include "braid/ops/build/named_losses.h"
#include "braid/train/job/job_list.h"
#include "braid/train/run/metrics.h"
#include "docs_page.h"

namespace braid::train {
namespace {

TEST(JobPage, IsWhatTheTableSays) { expect_docs_page("job.md", job_page()); }

TEST(JobPage, HoldsExamplesThatAreJobs) {
  for (const std::string& example : job_examples()) {
    EXPECT_NE(job_page().find(example), std::string::npos);
    EXPECT_NO_THROW(parse_job_list(example, "job.yaml")) << example;
  }
}

TEST(JobPage, ListsLossesAndMetrics) {
  std::string page = job_page();
  for (const LossKind& kind : loss_kinds()) {
    std::string row = "\n| `" + signature_text(kind) + "` |";
    EXPECT_NE(page.find(row), std::string::npos) << kind.name;
  }
  for (const MetricKind& kind : metric_kinds()) {
    std::string row = "\n| `" + kind.name + "` | " + kind.summary;
    EXPECT_NE(page.find(row), std::string::npos) << kind.name;
  }
}

TEST(JobPage, HelpNamesEveryKeyOf80Columns) {
  std::istringstream lines(job_help());
  int keys = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80u) << line;
    keys += line.starts_with("  ") && line[2] != ' ';
  }
  std::string page = job_page();
  page.resize(page.find("\n## Losses"));
  size_t rows = 0;
  for (size_t at = 0; (at = page.find("\n| `", at)) != page.npos; ++at) ++rows;
  EXPECT_EQ(static_cast<size_t>(keys), rows);
  EXPECT_GT(keys, 50);
}

}  // namespace
}  // namespace braid::train
