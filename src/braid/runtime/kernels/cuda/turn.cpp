// Casts and copies that turn images from rows to channels that lie last, or
// back.
#include "braid/ops/core/channels_last.h"
#include "braid/runtime/kernels/cuda/cuda_handles.h"
#include "braid/runtime/kernels/cuda/item_of.h"
#include "braid/runtime/kernels/kernel.h"

namespace braid::runtime {
namespace {

bool is_small_float(DType dtype) {
  return is_floating(dtype) && dtype != DType::kFloat64;
}

bool is_last(const Tensor& t) {
  return !t.contiguous() && t.strides == channels_last_strides(t.shape);
}

std::optional<cuda::Turn> turn_of(const Call& call) {
  const Tensor &x = call.in(0), &y = call.out(0);
  size_t rank = x.shape.size();
  bool known = is_small_float(x.dtype) && is_small_float(y.dtype);
  if ((rank != 4 && rank != 5) || x.numel() == 0 || !known) {
    return std::nullopt;
  }
  bool to_last = x.contiguous() && is_last(y);
  if (!to_last && !(is_last(x) && y.contiguous())) return std::nullopt;
  int64_t channels = x.shape[rank - 3];
  int64_t places = x.shape[rank - 2] * x.shape[rank - 1];
  int64_t images = x.numel() / (channels * places);
  if (x.numel() >= int64_t{1} << 31) return std::nullopt;  // blocks
  return cuda::Turn{.y = y.data,
                    .x = x.data,
                    .to = cuda::item_of(y.dtype),
                    .from = cuda::item_of(x.dtype),
                    .to_last = to_last,
                    .images = images,
                    .channels = channels,
                    .places = places};
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
