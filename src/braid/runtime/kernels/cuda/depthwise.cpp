// Calls of convolutions whose channels are on their own, where channels lie
// last in memory. Small ones lie as they like: one launch is all they take.
#include "braid/runtime/kernels/aten/bind.h"
#include "braid/runtime/kernels/cuda/cuda_handles.h"
#include "braid/runtime/kernels/cuda/item_of.h"

namespace braid::runtime {
namespace {

constexpr int64_t kSmall = 1 << 14;  // elements
constexpr int64_t kMostTaps = 49;

cuda::ImageSteps steps_of(const Tensor& t, size_t lead) {
  return {lead > 0 ? t.strides[0] : 0, t.strides[lead], t.strides[lead + 1],
          t.strides[lead + 2], t.strides[lead + 3]};
}

bool has_rows(const Tensor& w) {  // or channels last: there is one of them
  size_t rank = w.shape.size();
  int64_t step = 1;
  for (size_t d = rank; d-- > 0;) {
    if (w.shape[d] == 1) continue;
    if (w.strides[d] != step) return false;
    step *= w.shape[d];
  }
  return true;
}

cuda::DepthwiseAxis axis_of(const Attrs& a, size_t d, int64_t input,
                            int64_t output, int64_t kernel) {
  auto at = [&](const char* name) { return static_cast<int>(a.ints(name)[d]); };
  return {static_cast<int>(input),
          static_cast<int>(output),
          static_cast<int>(kernel),
          at("stride"),
          at("padding"),
          at("dilation")};
}

// Nothing when the convolution, of x to y by w, is another.
std::optional<cuda::DepthwiseSizes> sizes_of(const Call& c, const Tensor& x,
                                             const Tensor& w, const Tensor& y) {
  int64_t members = c.members();
  size_t lead = members > 0 ? 1 : 0;
  if (x.shape.size() != lead + 4 || x.numel() == 0 || y.numel() == 0) {
    return std::nullopt;
  }
  int64_t channels = x.shape[lead + 1];
  bool alone = c.attrs().integer("groups") == channels &&
               y.shape[lead + 1] == channels && w.shape[lead + 1] == 1;
  bool last = x.strides[lead + 1] == 1 && y.strides[lead + 1] == 1;
  bool small = x.numel() < kSmall && y.numel() < kSmall;
  if (!alone || !has_rows(w) || !(last || small)) return std::nullopt;
  cuda::DepthwiseSizes s{
      .members = std::max<int64_t>(members, 1),
      .batch = x.shape[lead],
      .channels = channels,
      .rows = axis_of(c.attrs(), 0, x.shape[lead + 2], y.shape[lead + 2],
                      w.shape[lead + 2]),
      .columns = axis_of(c.attrs(), 1, x.shape[lead + 3], y.shape[lead + 3],
                         w.shape[lead + 3])};
  bool fits = s.taps() <= kMostTaps && s.members < cuda::kMaxMembers &&
              channels < cuda::kMaxMembers;
  return fits ? std::optional(s) : std::nullopt;
}

Thunk places(const Call& c, const cuda::DepthwiseSizes& sizes, bool of_input,
             cudaStream_t stream) {
  size_t lead = c.members() > 0 ? 1 : 0;
  cuda::Depthwise d{.to = c.out(0).data,
                    .from = c.in(0).data,
                    .weight = c.in(1).data,
                    .item = cuda::item_of(c.in(0).dtype),
                    .of_input = of_input,
                    .to_steps = steps_of(c.out(0), lead),
                    .from_steps = steps_of(c.in(0), lead),
                    .sizes = sizes};
  return [d, stream] {
    cuda::launch_depthwise(d, stream);
    check_cuda(cudaGetLastError(), "depthwise");
  };
}

Thunk weight(const Call& c, const cuda::DepthwiseSizes& sizes, int device,
             cudaStream_t stream) {
  size_t lead = c.members() > 0 ? 1 : 0;
  cuda::DepthwiseWeight d{.dw = c.out(0).data,
                          .dy = c.in(0).data,
                          .x = c.in(1).data,
                          .partial = nullptr,
                          .item = cuda::item_of(c.in(0).dtype),
                          .dy_steps = steps_of(c.in(0), lead),
                          .x_steps = steps_of(c.in(1), lead),
                          .sizes = sizes};
  bool is_double = c.in(0).dtype == DType::kFloat64;
  auto options = at::TensorOptions(is_double ? at::kDouble : at::kFloat)
                     .device(at::kCUDA, static_cast<c10::DeviceIndex>(device));
  return [d, options, stream] {
    at::Tensor partial =
        at::empty({cuda::depthwise_partials(d.sizes)}, options);
    auto now = d;
    now.partial = partial.data_ptr();
    cuda::launch_depthwise_weight(now, stream);
    check_cuda(cudaGetLastError(), "depthwise");
  };
}

}  // namespace

void add_cuda_depthwise(KernelTable& table, int index, cudaStream_t stream) {
  table.add("conv2d", [=, general = table.at("conv2d")](const Call& c) {
    auto sizes = sizes_of(c, c.in(0), c.in(1), c.out(0));
    if (!sizes || c.has(2)) return general(c);
    return places(c, *sizes, false, stream);
  });
  table.add("conv2d_backward_input",
            [=, general = table.at("conv2d_backward_input")](const Call& c) {
              auto sizes = sizes_of(c, c.out(0), c.in(1), c.in(0));
              if (!sizes) return general(c);
              return places(c, *sizes, true, stream);
            });
  table.add("conv2d_backward_weight",
            [=, general = table.at("conv2d_backward_weight")](const Call& c) {
              auto sizes = sizes_of(c, c.in(1), c.out(0), c.in(0));
              bool fits =
                  sizes &&
                  (sizes->rows.kernel == 3 || sizes->rows.kernel == 5) &&
                  sizes->columns.kernel == sizes->rows.kernel;
              if (!fits) return general(c);
              return weight(c, *sizes, index, stream);
            });
}

}  // namespace braid::runtime
