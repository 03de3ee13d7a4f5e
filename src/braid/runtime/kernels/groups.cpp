#include "braid/runtime/kernels/groups.h"

#include "braid/base/error.h"

namespace braid::runtime {
namespace {

int64_t end_of(const Tensor& offsets, int64_t member, int64_t group) {
  int64_t at = group * offsets.strides.back();
  if (offsets.shape.size() > 1) at += member * offsets.strides[0];
  if (offsets.dtype == DType::kInt32) return offsets.as<int32_t>()[at];
  return offsets.as<int64_t>()[at];
}

}  // namespace

void check_offsets(const Tensor& offsets, int64_t rows) {
  int64_t members = offsets.shape.size() > 1 ? offsets.shape[0] : 1;
  for (int64_t member = 0; member < members; ++member) {
    int64_t begin = 0;
    for (int64_t group = 0; group < offsets.shape.back(); ++group) {
      int64_t end = end_of(offsets, member, group);
      if (end < begin || end > rows) {
        fail_usage(
            "[grouped_mm] group {} ends at row {}, expected {} to {}: offsets "
            "are the numbers of rows, summed up",
            group, end, begin, rows);
      }
      begin = end;
    }
  }
}

GroupRange group_range(const Tensor& offsets, int64_t member, int64_t group) {
  return {group == 0 ? 0 : end_of(offsets, member, group - 1),
          end_of(offsets, member, group)};
}

}  // namespace braid::runtime
