// Casts and copies that turn images from rows to channels that lie last, or
// back.
#include "braid/ops/core/channels_last.h"
#include "braid/runtime/kernels/cuda/cuda_handles.h"
#include "braid/runtime/kernels/cuda/cuda_kernels.h"
#include "braid/runtime/kernels/kernel.h"

namespace braid::runtime {
namespace {

std::optional<cuda::Item> item_of(DType dtype) {
  switch (dtype) {
    case DType::kBFloat16: return cuda::Item::kBFloat16;
    case DType::kFloat16: return cuda::Item::kFloat16;
    case DType::kFloat32: return cuda::Item::kFloat32;
    default: return std::nullopt;
  }
}

bool is_last(const Tensor& t) {
  return !t.contiguous() && t.strides == channels_last_strides(t.shape);
}

std::optional<cuda::Turn> turn_of(const Call& call) {
  const Tensor &x = call.in(0), &y = call.out(0);
  size_t rank = x.shape.size();
  auto from = item_of(x.dtype), to = item_of(y.dtype);
  if ((rank != 4 && rank != 5) || x.numel() == 0 || !from || !to) {
    return std::nullopt;
  }
  bool to_last = x.contiguous() && is_last(y);
  if (!to_last && !(is_last(x) && y.contiguous())) return std::nullopt;
  int64_t channels = x.shape[rank - 3];
  int64_t places = x.shape[rank - 2] * x.shape[rank - 1];
  int64_t images = x.numel() / (channels * places);
  if (x.numel() >= int64_t{1} << 31) return std::nullopt;  // blocks
  return cuda::Turn{y.data,  x.data, *to,      *from,
                    to_last, images, channels, places};
}

}  // namespace

void add_cuda_turns(KernelTable& table, cudaStream_t stream) {
  for (const char* op : {"to", "copy"}) {
    table.add(op, [stream, general = table.at(op)](const Call& call) -> Thunk {
      auto turn = turn_of(call);
      if (!turn) return general(call);
      return [turn = *turn, stream] {
        cuda::launch_turn(turn, stream);
        check_cuda(cudaGetLastError(), "turn");
      };
    });
  }
}

}  // namespace braid::runtime
