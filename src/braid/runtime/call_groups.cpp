#include "braid/runtime/call_groups.h"

#include <algorithm>

namespace braid::runtime {
namespace {

// Addresses [begin, end); nothing when both are the same.
struct Range {
  uintptr_t begin = 0, end = 0;
};

bool overlap(const Range& a, const Range& b) {
  return std::max(a.begin, b.begin) < std::min(a.end, b.end);
}

Range range_of(const std::byte* data, int64_t bytes) {
  if (!data) return {};
  auto begin = reinterpret_cast<uintptr_t>(data);
  return {begin, begin + static_cast<uintptr_t>(bytes)};
}

// From the first to the last element.
Range range_of(const Tensor& tensor) {
  if (!tensor || tensor.numel() == 0) return {};
  return range_of(tensor.data, span_elements(tensor.shape, tensor.strides) *
                                   item_bytes(tensor.dtype));
}

struct Touched {
  explicit Touched(const Call& call) {
    for (const Tensor& tensor : call.inputs) read.push_back(range_of(tensor));
    for (const Tensor& tensor : call.outputs) {
      written.push_back(range_of(tensor));
    }
    const Workspace* workspace = call.workspace;
    if (!workspace) return;
    written.push_back(range_of(workspace->data, workspace->bytes));
  }
  std::vector<Range> read, written;
};

bool any_overlap(const std::vector<Range>& a, const std::vector<Range>& b) {
  return std::ranges::any_of(a, [&](const Range& one) {
    return std::ranges::any_of(
        b, [&](const Range& other) { return overlap(one, other); });
  });
}

bool are_independent(const Touched& a, const Touched& b) {
  return !any_overlap(a.written, b.written) &&
         !any_overlap(a.written, b.read) && !any_overlap(a.read, b.written);
}

// The groups of one unit, given its instructions in order.
class GroupFinder {
 public:
  GroupFinder(const std::vector<Call>& calls, std::vector<CallGroup>& groups)
      : calls_(calls), groups_(groups) {}

  void add(const plan::Instruction& i) {
    bool computes =
        i.opcode == plan::Opcode::kRun && i.stream == plan::Stream::kCompute;
    if (!computes) return close();
    const Call& call = calls_[static_cast<size_t>(i.call)];
    if (op_ != call.node->op) close();
    Touched touched(call);
    bool joins = std::ranges::all_of(present_, [&](const Touched& other) {
      return are_independent(touched, other);
    });
    if (!joins) close();
    op_ = call.node->op;
    group_.push_back(i.call);
    present_.push_back(std::move(touched));
  }

  void close() {
    if (group_.size() > 1) groups_.push_back(group_);
    group_.clear();
    present_.clear();
    op_ = nullptr;
  }

 private:
  const std::vector<Call>& calls_;
  std::vector<CallGroup>& groups_;
  const Op* op_ = nullptr;
  CallGroup group_;
  std::vector<Touched> present_;  // of the group
};

}  // namespace

bool are_independent(const Call& a, const Call& b) {
  return are_independent(Touched(a), Touched(b));
}

std::vector<CallGroup> call_groups(const plan::Program& program,
                                   const std::vector<Call>& calls) {
  std::vector<CallGroup> groups;
  for (const plan::Unit& unit : program.units) {
    GroupFinder finder(calls, groups);
    for (int32_t at = unit.begin; at < unit.end; ++at) {
      finder.add(program.instructions[static_cast<size_t>(at)]);
    }
    finder.close();
  }
  return groups;
}

}  // namespace braid::runtime
