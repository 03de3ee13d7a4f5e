// Calls of the sums of batch norm, for every order in which channels or places
// are neighbours.
#include <cuda_runtime_api.h>

#include "braid/runtime/kernels/aten/bind.h"
#include "braid/runtime/kernels/cuda/cuda_handles.h"
#include "braid/runtime/kernels/cuda/item_of.h"

namespace braid::runtime {
namespace {

// Nothing where places do not lie in one even row.
std::optional<cuda::ChannelSizes> channel_sizes(const Tensor& x,
                                                int64_t members) {
  size_t lead = members > 0 ? 1 : 0;
  cuda::ChannelSizes s{.members = std::max<int64_t>(members, 1),
                       .batch = x.shape[lead],
                       .channels = x.shape[lead + 1],
                       .places = 1,
                       .member_step = lead > 0 ? x.strides[0] : 0,
                       .batch_step = x.strides[lead],
                       .channel_step = x.strides[lead + 1],
                       .place_step = 1};
  for (size_t d = x.shape.size(); d-- > lead + 2;) {
    if (x.shape[d] == 1) continue;
    if (s.places == 1) s.place_step = x.strides[d];
    if (x.strides[d] != s.places * s.place_step) return std::nullopt;
    s.places *= x.shape[d];
  }
  bool fits = s.members <= cuda::kMaxMembers && s.channels > 0 &&
              s.batch * s.places > 0 &&
              (s.channel_step == 1 || s.channels < cuda::kMaxMembers);
  return fits ? std::optional(s) : std::nullopt;
}

bool are_rows(const Call& c, size_t first) {
  auto is_plain = [](const Tensor& t) { return !t || t.contiguous(); };
  return std::all_of(c.inputs.begin() + static_cast<std::ptrdiff_t>(first),
                     c.inputs.end(), is_plain) &&
         std::all_of(c.outputs.begin(), c.outputs.end(), is_plain);
}

template <class T>
T* pointer(const Call& c, size_t input) {
  return c.has(input) ? c.in(input).as<T>() : nullptr;
}

template <class T>
at::Tensor partials(const cuda::ChannelSizes& sizes, int device) {
  auto type = std::is_same_v<T, double> ? at::kDouble : at::kFloat;
  return at::empty({cuda::norm_partials(sizes)},
                   at::TensorOptions(type).device(
                       at::kCUDA, static_cast<c10::DeviceIndex>(device)));
}

template <class T>
Thunk statistics(const Call& c, const cuda::ChannelSizes& sizes, int device,
                 cudaStream_t stream) {
  bool running = c.outputs.size() == 5;
  cuda::NormStatistics<T> n{
      .mean = c.out(0).as<T>(),
      .rstd = c.out(1).as<T>(),
      .scale = c.out(2).as<T>(),
      .running_mean = running ? c.out(3).as<T>() : nullptr,
      .running_var = running ? c.out(4).as<T>() : nullptr,
      .before_mean = pointer<T>(c, 2),
      .before_var = pointer<T>(c, 3),
      .weight = pointer<T>(c, 1),
      .x = c.in(0).data,
      .partial = nullptr,
      .momentum = c.attrs().number("momentum"),
      .eps = c.attrs().number("eps")};
  return [=, item = cuda::item_of(c.in(0).dtype)] {
    at::Tensor partial = partials<T>(sizes, device);
    auto now = n;
    now.partial = partial.data_ptr<T>();
    cuda::launch_norm_statistics(now, sizes, item, stream);
    check_cuda(cudaGetLastError(), "batch_norm_statistics");
  };
}

template <class T>
Thunk sums(const Call& c, const cuda::ChannelSizes& sizes, int device,
           cudaStream_t stream) {
  cuda::NormSums<T> n{.dw = c.out(0).as<T>(),
                      .db = c.out(1).as<T>(),
                      .shift = c.out(2).as<T>(),
                      .slope = c.out(3).as<T>(),
                      .scale = c.out(4).as<T>(),
                      .mean = c.in(3).as<T>(),
                      .rstd = c.in(4).as<T>(),
                      .weight = pointer<T>(c, 2),
                      .dy = c.in(0).data,
                      .x = c.in(1).data,
                      .partial = nullptr};
  return [=, item = cuda::item_of(c.in(1).dtype)] {
    at::Tensor partial = partials<T>(sizes, device);
    auto now = n;
    now.partial = partial.data_ptr<T>();
    cuda::launch_norm_sums(now, sizes, item, stream);
    check_cuda(cudaGetLastError(), "batch_norm_sums");
  };
}

}  // namespace

void add_cuda_batch_norm(KernelTable& table, int index, cudaStream_t stream) {
  table.add(
      "batch_norm_statistics",
      [=, general = table.at("batch_norm_statistics")](const Call& c) -> Thunk {
        auto sizes = channel_sizes(c.in(0), c.members());
        if (!sizes || !are_rows(c, 1)) return general(c);
        return c.in(0).dtype == DType::kFloat64
                   ? statistics<double>(c, *sizes, index, stream)
                   : statistics<float>(c, *sizes, index, stream);
      });
  table.add("batch_norm_sums",
            [=, general = table.at("batch_norm_sums")](const Call& c) -> Thunk {
              auto sizes = channel_sizes(c.in(1), c.members());
              bool alike = c.in(0).strides == c.in(1).strides;
              if (!sizes || !alike || !are_rows(c, 2)) return general(c);
              return c.in(1).dtype == DType::kFloat64
                         ? sums<double>(c, *sizes, index, stream)
                         : sums<float>(c, *sizes, index, stream);
            });
}

}  // namespace braid::runtime
