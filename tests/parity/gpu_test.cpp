// The table on a GPU: every row against libtorch on the CPU, twice with the
// same bits, and as an array of three against three solo runs there.
//
// Rows are dealt out to parts, so that several processes can share them
// (GTEST_TOTAL_SHARDS). Lines that begin with "record:" are collected by
// bench/gpu_step.sh.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "braid/ops/core/op.h"
#include "braid/runtime/kernels/cuda_backend.h"
#include "kernels.h"
#include "run_row.h"

namespace braid::parity {
namespace {

constexpr size_t kParts = 8;

// A result may be f32 by promotion in a row of f64.
double limit_of(const Results& want, const at::Tensor& value, DType dtype) {
  bool coarse = value.scalar_type() == at::kFloat ||
                want.at("y").scalar_type() == at::kFloat;
  return dtype == DType::kFloat64 && !coarse ? 1e-9 : 1e-4;
}

// What is wrong with `got`; empty when nothing.
std::string mismatch(const Results& got, const Results& want, DType dtype) {
  std::string found;
  for (const auto& [name, value] : want) {
    auto at = got.find(name);
    if (at == got.end() || at->second.sizes() != value.sizes()) {
      found += fmt::format(" {} has another shape", name);
      continue;
    }
    double error = difference(at->second, value.cpu());
    if (error <= limit_of(want, value, dtype)) continue;
    found += fmt::format(" {} is off by {:.1e}", name, error);
  }
  return found;
}

Tensors on_gpu(const Tensors& inputs) {
  Tensors moved;
  for (const at::Tensor& t : inputs) {
    moved.push_back(t.defined() ? t.to(at::kCUDA) : t);
  }
  return moved;
}

Tensors in_double(const Tensors& inputs) {
  Tensors widened;
  for (const at::Tensor& t : inputs) {
    bool narrow = t.defined() && t.scalar_type() == at::kFloat;
    widened.push_back(narrow ? t.to(at::kDouble) : t);
  }
  return widened;
}

bool has_special(const Row& row) {
  return std::any_of(row.args.begin(), row.args.end(), [](const Arg& arg) {
    return arg.kind == Arg::Kind::kSpecial;
  });
}

// libtorch's result on the CPU counts, or what it gives in f64: where a
// gradient cancels to nothing, its f32 is rounding. Its kernels of the two
// devices treat some infinities and NaNs differently: where such are among the
// inputs, its CUDA result counts too.
std::string against_libtorch(const Row& row, const Tensors& inputs,
                             const Results& got, DType dtype) {
  std::string found = mismatch(got, run_reference(row, inputs), dtype);
  if (found.empty()) return found;
  if (dtype == DType::kFloat32 &&
      mismatch(got, run_reference(row, in_double(inputs)), dtype).empty()) {
    return "";
  }
  if (!has_special(row)) return found;
  try {
    return mismatch(got, run_reference(row, on_gpu(inputs)), dtype);
  } catch (const std::exception&) {
    return found;  // libtorch cannot do it there
  }
}

// Whether libtorch has no CUDA kernel for the row.
bool is_unknown_to_libtorch(const Row& row, const Tensors& inputs) {
  try {
    run_reference(row, on_gpu(inputs));
    return false;
  } catch (const std::exception& error) {
    return std::string(error.what()).find("not implemented for") !=
           std::string::npos;
  }
}

class ParityOnGpu : public testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    if (!runtime::has_cuda()) GTEST_SKIP() << "no CUDA device here";
    gpu_ = runtime::make_cuda_backend(kernels(), {});
  }

  // Failures are reported, and the next row runs.
  void check(const Row& row, DType dtype) {
    std::string name =
        fmt::format("{} {} {}", row.op, row.note, dtype_name(dtype));
    std::vector<Tensors> inputs;
    for (int64_t m = 0; m < 3; ++m) {
      inputs.push_back(random_inputs(row, dtype, m));
    }
    try {
      ++rows_;
      report(name, compare(row, inputs, dtype));
    } catch (const std::exception& error) {
      if (is_unknown_to_libtorch(row, inputs[0])) {
        left_out_.push_back(name);
      } else {
        report(name, fmt::format(" throws: {}", error.what()));
      }
    }
  }

  void summarise() const {
    fmt::print("record: parity part {}: {} rows, {} failed, {} left out",
               GetParam(), rows_, failed_, left_out_.size());
    for (const std::string& name : left_out_) fmt::print("; {}", name);
    fmt::print("\n");
    std::fflush(stdout);
  }

 private:
  Results solo(const Row& row, const Tensors& inputs, DType dtype) {
    return run_braid(row, {inputs}, dtype, *gpu_, false)[0];
  }

  std::string compare(const Row& row, const std::vector<Tensors>& inputs,
                      DType dtype) {
    Results first = solo(row, inputs[0], dtype);
    std::string found = against_libtorch(row, inputs[0], first, dtype);
    auto members = run_braid(row, inputs, dtype, *gpu_, true);
    for (size_t m = 0; m < inputs.size(); ++m) {
      Results alone = solo(row, inputs[m], dtype);
      if (m == 0) found += not_repeated(alone, first);
      std::string wrong = mismatch(members[m], alone, dtype);
      if (!wrong.empty()) found += fmt::format(" member {}:{}", m, wrong);
    }
    return found;
  }

  static std::string not_repeated(const Results& again, const Results& first) {
    for (const auto& [name, value] : first) {
      if (difference(again.at(name), value) != 0) {
        return fmt::format(" {} has other bits when repeated", name);
      }
    }
    return "";
  }

  void report(const std::string& name, const std::string& found) {
    if (found.empty()) return;
    ++failed_;
    ADD_FAILURE() << name << ":" << found;
  }

  std::unique_ptr<runtime::Backend> gpu_;
  size_t rows_ = 0, failed_ = 0;
  std::vector<std::string> left_out_;
};

TEST_P(ParityOnGpu, EveryRowEqualsLibtorchAndItsArray) {
  std::vector<Row> rows = all_rows();
  for (size_t i = GetParam(); i < rows.size(); i += kParts) {
    for (DType dtype : {DType::kFloat64, DType::kFloat32}) {
      check(rows[i], dtype);
    }
  }
  summarise();
}

INSTANTIATE_TEST_SUITE_P(Parts, ParityOnGpu, testing::Range(size_t{0}, kParts));

}  // namespace
}  // namespace braid::parity
