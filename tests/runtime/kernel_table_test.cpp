// Every op of the table can run on every device.
#include <gtest/gtest.h>

#include "braid/ops/core/op.h"
#include "braid/ops/core/update_kinds.h"
#include "braid/runtime/kernels/aten/bind.h"
#include "braid/runtime/kernels/cuda_backend.h"

namespace braid::runtime {
namespace {

// Slots are read where they lie, and views are made by their strides alone.
bool runs(const Op& op) { return op.name != "read" && !op.view; }

// Ops that run but have no kernel.
std::set<std::string> missing(const KernelTable& kernels) {
  std::set<std::string> names;
  OpTable ops = standard_ops();
  for (const auto& [name, op] : ops.all()) {
    if (!runs(op)) continue;
    try {
      kernels.at(name);
    } catch (const std::invalid_argument&) {
      names.insert(name);
    }
  }
  return names;
}

TEST(KernelTableTest, EveryOpRunsOnTheCpu) {
  EXPECT_EQ(missing(cpu_kernels()), std::set<std::string>{});
}

// So a new kernel of the CPU alone fails here, without a GPU.
TEST(KernelTableTest, OnlySomeOpsAreWrittenForEachDevice) {
  KernelTable general;
  add_aten_kernels(general, at::kCPU);
  std::set<std::string> own{"dropout", "fusion"};
  for (const UpdateKind& kind : update_kinds()) own.insert(kind.op());
  EXPECT_EQ(missing(general), own);
}

TEST(KernelTableTest, EveryOpRunsOnCuda) {
  if (!has_cuda()) GTEST_SKIP() << "no CUDA device here";
  EXPECT_EQ(missing(cuda_kernels(0)), std::set<std::string>{});
}

}  // namespace
}  // namespace braid::runtime
