#include "braid/runtime/kernels/aten/members.h"

#include <ATen/Parallel.h>
#include <omp.h>

#include <algorithm>
#include <memory>

#include "braid/base/bytes.h"
#include "braid/plan/program.h"

namespace braid::runtime {
namespace {

Tensor member_of(const Tensor& all, int64_t member) {
  if (!all) return {};
  Tensor one = all;
  one.data += member * all.strides[0] * item_bytes(all.dtype);
  one.shape.erase(one.shape.begin());
  one.strides.erase(one.strides.begin());
  return one;
}

// All members of one call. Those of a lane run one after the other in one
// thread and in the lane's part of the workspace.
class Members {
 public:
  Members(const Call& call, const Kernel& one)
      : workspace_(call.workspace),
        spaces_(static_cast<size_t>(call.members())) {
    for (int64_t m = 0; m < call.members(); ++m) {
      runs_.push_back(
          one(member_of(call, m, &spaces_[static_cast<size_t>(m)])));
    }
  }

  void run(int64_t lanes) {
    share_workspace(lanes);
    auto run_lanes = [&](int64_t from, int64_t to) {
      for (size_t m = 0; m < runs_.size(); ++m) {
        int64_t lane = lane_of(m, lanes);
        if (lane >= from && lane < to) runs_[m]();
      }
    };
    if (lanes == 1) {
      run_lanes(0, 1);
    } else {
      at::parallel_for(0, lanes, 1, [&](int64_t from, int64_t to) {
        // oneDNN would make kernels for all threads that wait for each other
        // in vain. This holds for the present part of the loop alone.
        if (omp_in_parallel()) omp_set_num_threads(1);
        run_lanes(from, to);
      });
    }
    report(lanes);
  }

 private:
  int64_t lane_of(size_t member, int64_t lanes) const {
    return static_cast<int64_t>(member) * lanes /
           static_cast<int64_t>(runs_.size());
  }

  void share_workspace(int64_t lanes) {
    int64_t each = workspace_->bytes / lanes;
    each -= each % plan::kAlignment;
    for (size_t m = 0; m < spaces_.size(); ++m) {
      spaces_[m] = *workspace_;
      spaces_[m].bytes = each;
      if (spaces_[m].data) spaces_[m].data += lane_of(m, lanes) * each;
    }
  }

  void report(int64_t lanes) {
    int64_t needed = 0;
    for (const Workspace& space : spaces_) {
      needed = std::max(needed, space.needed_bytes);
    }
    workspace_->needed_bytes = std::max(
        workspace_->needed_bytes, align_up(needed, plan::kAlignment) * lanes);
  }

  Workspace* workspace_;
  std::vector<Workspace> spaces_;  // by member
  std::vector<Thunk> runs_;
};

}  // namespace

Call member_of(const Call& all, int64_t member, Workspace* workspace) {
  Call one{
      .node = all.node, .inputs = {}, .outputs = {}, .workspace = workspace};
  for (const Tensor& t : all.inputs) one.inputs.push_back(member_of(t, member));
  for (const Tensor& t : all.outputs) {
    one.outputs.push_back(member_of(t, member));
  }
  return one;
}

Kernel each_member(at::Device device, Kernel one) {
  return [device, one = std::move(one)](const Call& call) -> Thunk {
    int64_t count = call.members();
    if (count == 0) return one(call);
    auto members = std::make_shared<Members>(call, one);
    return [=] {
      int64_t threads = device.is_cpu() ? at::get_num_threads() : 1;
      // Fewer members than threads share all threads, one after the other.
      members->run(count >= threads ? threads : 1);
    };
  };
}

}  // namespace braid::runtime
