// An operator is one struct: what it yields, its gradient, how members of an
// array become one op, what it costs, and facts that passes decide by. Kernels
// live in runtime/kernels, rules in ops/families.
//
// Rules are plain functions over small contexts (ops/core/op.h). Every field
// has a default; families share rules by trait (ops/core/traits.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "braid/base/dtype.h"
#include "braid/base/shape.h"

namespace braid {

class ArrayContext;
class NodeView;
class VjpContext;
struct FusionOp;
struct UpdateKind;

struct ValueType {
  DType dtype = DType::kFloat32;
  Shape shape;
  bool operator==(const ValueType&) const = default;
};

// Ops that passes treat in a way of their own; all others are kGeneral.
enum class OpKind {
  kGeneral,
  kRead,        // a slot's content as a value
  kAssign,      // a value becomes a slot's content
  kAccumulate,  // a value is added to a slot's content
  kReshape,     // a view or a copy, as strides allow: the layout pass decides
  kView,
  kCopy,
  kPermute,
  kSlice,
  kSliceBackward,
  kCast,
  kConvolution,
  kTransposedConvolution,
  kConvolutionBackward,  // of either
  kProduct,              // linear, matmul
  kRelu,
  kMaxPool,  // the greatest of some elements and its place; also `max`
  kBatchNorm,
  kBatchNormBackward,
  kGroupNorm,
  kDropout,
  kEmbedding,
  kCrossEntropy,  // losses over classes: scores [..., C] and targets [...]
  kNllLoss,
  kClipValue,
  kForeign,          // torch_op
  kForeignBackward,  // torch_op_backward
};

// What an array makes of an op.
enum class ArrayRule {
  kNone,  // made after arrays
  kPointwise,
  kShiftDims,
  kFoldBatch,
  kChannels,
  kMergeChannels,
  kLowered,
  kMembers,
  kOwn,
  kLoop,
};

// In which type an op computes when the step is narrow.
enum class Precision {
  kFollow,      // as its operands come, all in the widest type among them
  kLow,         // the narrow type: products, convolutions, attention
  kFull,        // f32: losses, softmax, norms, long sums, exp, log, powers
  kFullInside,  // f32, but its result comes back in the type of operand 0
};

struct Cost {
  double flops = 0;
  double bytes = 0;  // read and written once each
};

// How an output that aliases input 0 lies in that input's memory.
struct View {
  Strides strides;
  int64_t offset = 0;
};

// An output that may take over the bytes of an input nobody reads any more.
struct InPlace {
  size_t output;
  size_t input;
};

struct Op {
  using ShapeRule = std::function<std::vector<ValueType>(const NodeView&)>;

  std::string name;
  std::string summary = {};  // what it computes, with shapes in letters
  std::string family = {};   // set by the table
  OpKind kind = OpKind::kGeneral;
  size_t min_inputs = 1;
  size_t max_inputs = 1;
  ShapeRule shape = {};
  std::function<void(VjpContext&)> vjp = {};  // none: an error to ask
  bool takes_all_gradients = false;  // else the first output alone has one
  std::function<void(ArrayContext&)> array = {};   // none: made after arrays
  ArrayRule array_rule = ArrayRule::kNone;         // which one that is
  std::function<Cost(const NodeView&)> cost = {};  // default: bytes touched
  // Output 0 is a view of input 0; nothing when its strides do not allow it.
  std::function<std::optional<View>(const NodeView&)> view = {};
  // Strides of output 0 when they are not row-major.
  std::function<Strides(const NodeView&)> strides = {};
  std::vector<InPlace> in_place = {};
  // Each element of the output is made of the elements in its place.
  bool pointwise = false;
  bool ignores_inputs = false;  // a factory: an input only names the graph
  bool random = false;          // draws from the counter RNG
  bool writes_slot = false;     // assign, accumulate
  bool updates = false;         // makes new content of a parameter
  const UpdateKind* update_kind = nullptr;  // of those: which inputs it has
  bool follows_update = false;  // works on that content, where it was made
  // Its kernel looks at values on the host, so a device cannot record it.
  bool reads_on_host = false;
  // Set by the table.
  Precision precision = Precision::kFollow;
  const FusionOp* fusible = nullptr;  // the step that it is in a fusion, if any
  size_t index = 0;                   // in the order in which ops were added

  bool is(OpKind of) const { return kind == of; }
  // Whether nodes of this op name a slot.
  bool uses_slot() const {
    return is(OpKind::kRead) || is(OpKind::kAssign) || is(OpKind::kAccumulate);
  }
  bool is_class_loss() const {
    return is(OpKind::kCrossEntropy) || is(OpKind::kNllLoss);
  }
};

}  // namespace braid
