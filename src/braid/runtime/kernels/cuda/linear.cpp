// cuBLASLt is column-major, where row-major y[M, N] = a[M, K] * b[K, N] reads
// as y^T[N, M] = b^T * a^T: its first operand is b, its second a. The bias has
// one number per row of y^T.
//
// The algorithm is chosen when a call is prepared, from sizes, strides and
// alignment alone, so that the same call has the same bits every time. Sums are
// made in f32, of f64 in f64, and never rounded to less on the way; f32 is not
// multiplied as TF32.
#include "braid/runtime/kernels/cuda/linear.h"

#include <cublasLt.h>

#include <bit>
#include <mutex>

#include "braid/plan/program.h"
#include "braid/runtime/kernels/aten/bind.h"
#include "braid/runtime/kernels/cuda/cuda_handles.h"
#include "braid/runtime/kernels/product.h"

namespace braid::runtime {
namespace {

void check_blas(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  fail_world("[device] {} failed: {} ({})", call,
             cublasLtGetStatusString(status), cublasLtGetStatusName(status));
}

template <auto destroy>
struct Destroy {
  template <class T>
  void operator()(T* object) const {
    destroy(object);
  }
};
template <class Pointer, auto destroy>
using Owned = std::unique_ptr<std::remove_pointer_t<Pointer>, Destroy<destroy>>;
using Handle = Owned<cublasLtHandle_t, cublasLtDestroy>;
using Description = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using MatrixLayout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference =
    Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

template <class T>
void set(const Description& description, cublasLtMatmulDescAttributes_t name,
         T value) {
  check_blas(cublasLtMatmulDescSetAttribute(description.get(), name, &value,
                                            sizeof value),
             "cublasLtMatmulDescSetAttribute");
}

template <class T>
void set(const MatrixLayout& layout, cublasLtMatrixLayoutAttribute_t name,
         T value) {
  check_blas(cublasLtMatrixLayoutSetAttribute(layout.get(), name, &value,
                                              sizeof value),
             "cublasLtMatrixLayoutSetAttribute");
}

template <class T>
void set(const Preference& preference,
         cublasLtMatmulPreferenceAttributes_t name, T value) {
  check_blas(cublasLtMatmulPreferenceSetAttribute(preference.get(), name,
                                                  &value, sizeof value),
             "cublasLtMatmulPreferenceSetAttribute");
}

// One device and what calls on it share.
struct Place {
  at::Device device;
  cudaStream_t stream;
  Handle handle = nullptr;  // made with the first call
  int64_t most_scratch = 0;
  std::once_flag made = {};

  // The device must be the current one.
  void ready() {
    std::call_once(made, [this] {
      cublasLtHandle_t created = nullptr;
      check_blas(cublasLtCreate(&created), "cublasLtCreate");
      handle.reset(created);
      int major = 0;
      check_cuda(cudaDeviceGetAttribute(
                     &major, cudaDevAttrComputeCapabilityMajor, device.index()),
                 "cudaDeviceGetAttribute");
      most_scratch = int64_t{major >= 9 ? 32 : 8} << 20;
    });
  }
};

struct Types {
  cudaDataType_t data, scale;
  cublasComputeType_t compute;
};

std::optional<Types> types_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return Types{CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
    case DType::kFloat32:
      return Types{CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DType::kBFloat16:
      return Types{CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DType::kFloat16:
      return Types{CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    default: return std::nullopt;
  }
}

// Sizes that all of its kernels can index, in one batch.
bool fits(const Product& p) {
  constexpr int64_t kMostBatch = 65535, kMostSize = kMostBatch * 32;
  return p.dims.size() <= 1 && p.batch <= kMostBatch &&
         std::max({p.a.rows, p.a.columns, p.b.columns}) < kMostSize;
}

BatchDim step_of(const Product& p) {
  return p.dims.empty() ? BatchDim{} : p.dims[0];
}

int64_t address(const std::byte* data) {
  return static_cast<int64_t>(reinterpret_cast<intptr_t>(data));
}

// Bytes that what begins here, and every so many bytes later, is aligned to.
uint32_t alignment(int64_t begin, int64_t step_bytes) {
  auto bits = static_cast<uint64_t>(begin | step_bytes | plan::kAlignment);
  return uint32_t{1} << std::countr_zero(bits);
}

// What is known of where operands begin.
struct Alignments {
  uint32_t a, b, y, bias;
  bool operator==(const Alignments&) const = default;
};

// Of operands that begin as tensors of their own do, or where they really do.
Alignments alignments(const Product& p, int64_t item, bool really) {
  auto of = [&](const std::byte* data, int64_t step) {
    return alignment(really ? address(data) : 0, p.batch > 1 ? step * item : 0);
  };
  return {.a = of(p.a.data, step_of(p).step_a),
          .b = of(p.b.data, step_of(p).step_b),
          .y = of(p.y, p.step_y()),
          .bias = of(p.bias, p.b.columns)};
}

struct Choice {
  cublasLtMatmulAlgo_t algorithm;
  int64_t scratch_bytes;
};

// One problem as cuBLASLt describes it.
class Problem {
 public:
  Problem(const Product& p, DType dtype, const Types& types)
      : p_(p), types_(types), item_(item_bytes(dtype)) {
    cublasLtMatmulDesc_t made = nullptr;
    check_blas(cublasLtMatmulDescCreate(&made, types.compute, types.scale),
               "cublasLtMatmulDescCreate");
    product_.reset(made);
    set(product_, CUBLASLT_MATMUL_DESC_TRANSA, operation(p.b));
    set(product_, CUBLASLT_MATMUL_DESC_TRANSB, operation(p.a));
    unsigned epilogue = 0;
    if (p.bias) epilogue |= CUBLASLT_EPILOGUE_BIAS;
    if (p.has_relu) epilogue |= CUBLASLT_EPILOGUE_RELU;
    if (epilogue == 0) epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    set(product_, CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t{epilogue});
    if (p.bias && p.batch > 1) {
      set(product_, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, p.b.columns);
    }
    a_ = layout(p.a, step_of(p).step_a);
    b_ = layout(p.b, step_of(p).step_b);
    y_ = layout(p.b.columns, p.a.rows, p.b.columns, p.step_y());
  }

  // The algorithm to use, or nothing when there is none. It is the first in
  // the library's own order; to time the first few would be done here.
  std::optional<Choice> choose(const Handle& handle, int64_t most_scratch,
                               const Alignments& aligned) {
    // Not read here, but looked at for its alignment.
    if (p_.bias) set_bias(static_cast<uintptr_t>(aligned.bias));
    Preference wanted = preference(most_scratch, aligned);
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle.get(), product_.get(), b_.get(), a_.get(), y_.get(), y_.get(),
        wanted.get(), 1, &found, &count);
    if (p_.bias) set_bias(reinterpret_cast<uintptr_t>(p_.bias));
    if (status != CUBLAS_STATUS_SUCCESS || count == 0 ||
        found.state != CUBLAS_STATUS_SUCCESS) {
      return std::nullopt;
    }
    return Choice{found.algo, static_cast<int64_t>(found.workspaceSize)};
  }

  Alignments aligned(bool really) const {
    return alignments(p_, item_, really);
  }

  // Of all operands together.
  int64_t bytes() const {
    return p_.batch * item_ *
           (p_.a.rows * p_.a.columns + p_.b.rows * p_.b.columns + p_.step_y());
  }

  void run(const Place& place, const Choice& choice, void* scratch) const {
    const float one = 1, zero = 0;
    const double double_one = 1, double_zero = 0;
    bool is_double = types_.scale == CUDA_R_64F;
    auto scalar = [&](const float& f, const double& d) -> const void* {
      return is_double ? static_cast<const void*>(&d) : &f;
    };
    check_blas(
        cublasLtMatmul(place.handle.get(), product_.get(),
                       scalar(one, double_one), p_.b.data, b_.get(), p_.a.data,
                       a_.get(), scalar(zero, double_zero), p_.y, y_.get(),
                       p_.y, y_.get(), &choice.algorithm, scratch,
                       static_cast<size_t>(choice.scratch_bytes), place.stream),
        "cublasLtMatmul");
  }

 private:
  static cublasOperation_t operation(const Matrix& m) {
    return m.order == 'N' ? CUBLAS_OP_N : CUBLAS_OP_T;
  }

  void set_bias(uintptr_t bias) const {
    set(product_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  }

  MatrixLayout layout(const Matrix& m, int64_t step) const {
    bool rows_lie = m.order == 'N';
    return layout(rows_lie ? m.columns : m.rows, rows_lie ? m.rows : m.columns,
                  m.leading, step);
  }

  // Of a column-major matrix.
  MatrixLayout layout(int64_t rows, int64_t columns, int64_t leading,
                      int64_t step) const {
    cublasLtMatrixLayout_t made = nullptr;
    check_blas(cublasLtMatrixLayoutCreate(
                   &made, types_.data, static_cast<uint64_t>(rows),
                   static_cast<uint64_t>(columns), leading),
               "cublasLtMatrixLayoutCreate");
    MatrixLayout layout(made);
    if (p_.batch == 1) return layout;
    set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
        static_cast<int32_t>(p_.batch));
    set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, step);
    return layout;
  }

  // Partial sums stay in the compute type, and are added in a fixed order.
  static Preference preference(int64_t most_scratch,
                               const Alignments& aligned) {
    cublasLtMatmulPreference_t made = nullptr;
    check_blas(cublasLtMatmulPreferenceCreate(&made),
               "cublasLtMatmulPreferenceCreate");
    Preference wanted(made);
    set(wanted, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
        static_cast<uint64_t>(most_scratch));
    set(wanted, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    set(wanted, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, aligned.b);
    set(wanted, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, aligned.a);
    set(wanted, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, aligned.y);
    set(wanted, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, aligned.y);
    return wanted;
  }

  Product p_;
  Types types_;
  int64_t item_;
  Description product_;
  MatrixLayout a_, b_, y_;
};

// Scratch is measured on other addresses than it is used with: what a call
// takes must not depend on them.
std::optional<Choice> choose(Problem& problem, const Place& place) {
  constexpr int64_t kSmall = int64_t{4} << 20;
  int64_t most = std::clamp(problem.bytes(), kSmall, place.most_scratch);
  Alignments usual = problem.aligned(false), real = problem.aligned(true);
  auto choice = problem.choose(place.handle, most, usual);
  if (!choice || real == usual) return choice;
  int64_t scratch_bytes = choice->scratch_bytes;
  choice = problem.choose(place.handle, scratch_bytes, real);
  if (choice) choice->scratch_bytes = scratch_bytes;
  return choice;
}

// Nothing when cuBLASLt cannot do it.
Thunk prepare(const std::optional<Product>& product, DType dtype,
              const std::shared_ptr<Place>& place) {
  auto types = types_of(dtype);
  if (!product || !types || !fits(*product)) return {};
  place->ready();
  auto problem = std::make_shared<Problem>(*product, dtype, *types);
  auto choice = choose(*problem, *place);
  if (!choice) return {};
  return [problem, place, choice = *choice,
          scratch = at::TensorOptions(at::kByte).device(place->device)] {
    at::Tensor memory = at::empty({choice.scratch_bytes}, scratch);
    problem->run(*place, choice, memory.data_ptr());
  };
}

}  // namespace

void add_cuda_linear(KernelTable& table, int index, cudaStream_t stream) {
  auto place = std::make_shared<Place>(
      at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(index)), stream);
  table.add("linear", [place, general = table.at("linear")](const Call& c) {
    Thunk run = prepare(linear_product(c), c.in(0).dtype, place);
    return run ? run : general(c);
  });
  table.add("matmul", [place, general = table.at("matmul")](const Call& c) {
    Thunk run = prepare(matmul_product(c), c.in(0).dtype, place);
    return run ? run : general(c);
  });
  const std::pair<const char*, ConvPart> parts[] = {
      {"conv2d", ConvPart::kOutput},
      {"conv2d_backward_input", ConvPart::kInput},
      {"conv2d_backward_weight", ConvPart::kWeight}};
  for (auto [op, part] : parts) {
    table.add(op, [=, general = table.at(op)](const Call& c) {
      Thunk run = prepare(point_product(c, part), c.in(0).dtype, place);
      return run ? run : general(c);
    });
  }
}

}  // namespace braid::runtime
