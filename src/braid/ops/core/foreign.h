// Operators of ATen without rules of their own. A node `torch_op` names one
// and its arguments; the runtime runs it through libtorch's dispatcher, its
// gradient by running it again under libtorch's autograd, members one by one.
//
//   %1: f32[4] = torch_op(%0) {target="aten::erfinv", args="$0",
//   types="f32[4]"}
//
// `args` has the arguments of the op's schema in order, then those by name:
// "$0, [1, 2], keepdim=true". $0 is the first input of the node; what is left
// out has its default. `types` are those of the outputs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "braid/ops/core/op.h"

namespace braid {

// One argument, or an entry of a list.
struct ForeignValue {
  enum class Kind {
    kMissing,
    kInput,  // `integer` is the place among the node's inputs
    kBool,
    kInteger,
    kNumber,
    kText,
    kType,
    kList,
  };
  Kind kind = Kind::kMissing;
  int64_t integer = 0;  // of inputs, bools and integers
  double number = 0;
  std::string text = {};
  DType dtype = DType::kFloat32;
  std::vector<ForeignValue> list = {};

  static ForeignValue none() { return {}; }
  static ForeignValue input(size_t place);
  static ForeignValue boolean(bool value);
  static ForeignValue whole(int64_t value);
  static ForeignValue real(double value);
  static ForeignValue word(std::string value);
  static ForeignValue type(DType value);
  static ForeignValue of(std::vector<ForeignValue> list);
};

struct ForeignArg {
  std::string name = {};  // empty: by position
  ForeignValue value;
};

std::string print_foreign_args(const std::vector<ForeignArg>& args);
// Throws std::invalid_argument when the text is not of this form.
std::vector<ForeignArg> parse_foreign_args(std::string_view text);

// "f32[4, 2] i64[4]"
std::string print_types(const std::vector<ValueType>& types);
std::vector<ValueType> parse_types(std::string_view text);

// A torch_op or the gradient of one.
inline bool is_foreign(const Node& node) {
  return node.is(OpKind::kForeign) || node.is(OpKind::kForeignBackward);
}

// What is known about ATen's operators; the runtime implements it.
class ForeignOps {
 public:
  virtual ~ForeignOps() = default;
  // Types of the results. Throws std::invalid_argument when there is no such
  // op, the arguments do not fit it, or it may not run as a torch_op: random,
  // with shapes that depend on data, writing to or aliasing its arguments.
  virtual std::vector<ValueType> infer(
      const std::string& target, const std::vector<ForeignArg>& args,
      const std::vector<ValueType>& inputs) const = 0;
};

// Appends a node for the op `target` ("aten::erfinv", "aten::sum.IntList_out").
std::vector<Var> torch_op(const ForeignOps& foreign, const std::string& target,
                          const std::vector<ForeignArg>& args,
                          const std::vector<Var>& inputs);

}  // namespace braid
