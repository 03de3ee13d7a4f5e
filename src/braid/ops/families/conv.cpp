// Convolution and transposed convolution in one to three dimensions.
// N batch, C input channels, O output channels, g groups, K the kernel, S the
// spatial sizes. In an array the members' channels are merged and become
// groups, or members stay apart in one call (lowering.h tells which); a shared
// input makes one dense convolution with B * O outputs.
#include "braid/ops/build/functions.h"
#include "braid/ops/core/channels_last.h"
#include "braid/ops/core/families.h"
#include "braid/ops/core/lowering.h"
#include "braid/ops/core/traits.h"

namespace braid {
namespace {

// One of the six operators.
struct Kind {
  int64_t dims;
  bool transposed;

  std::string name() const {
    return fmt::format("conv{}{}d", transposed ? "_transpose" : "", dims);
  }
};

// The operands of one member: x[N, C, S], w[O, C/g, K] or, of a transposed
// one, [C, O/g, K]. In an array that treats members apart both lead with B.
struct Operands {
  Shape x, w;
};

Shape member_shape(const NodeView& v, size_t i) {
  v.expect_members(i);
  const Shape& shape = v.shape(i);
  return {shape.begin() + (v.members() > 0 ? 1 : 0), shape.end()};
}

void check_sizes(const NodeView& v, const char* name, int64_t least,
                 int64_t dims) {
  constexpr int64_t kMost = int64_t{1} << 31;  // larger ones overflow
  const Ints& list = v.attrs().ints(name);
  bool good = static_cast<int64_t>(list.size()) == dims;
  for (int64_t size : list) good = good && size >= least && size <= kMost;
  if (!good) v.fail("{} = {} is no list of sizes", name, shape_text(list));
}

void check_attrs(const NodeView& v, const Kind& kind) {
  check_sizes(v, "stride", 1, kind.dims);
  check_sizes(v, "padding", 0, kind.dims);
  check_sizes(v, "dilation", 1, kind.dims);
  if (kind.transposed) check_sizes(v, "output_padding", 0, kind.dims);
}

// Elements that a kernel spans beside its first.
int64_t reach_of(const NodeView& v, const Operands& o, size_t d) {
  int64_t kernel = o.w[d + 2];
  if (kernel < 1) v.fail("the kernel is empty");
  return num_elements({v.attrs().ints("dilation")[d], kernel - 1});
}

int64_t conv_size(const NodeView& v, const Operands& o, size_t d) {
  const Attrs& a = v.attrs();
  int64_t room = o.x[d + 2] + 2 * a.ints("padding")[d] - 1 - reach_of(v, o, d);
  if (room < 0) v.fail("the kernel is larger than the padded input");
  return room / a.ints("stride")[d] + 1;
}

int64_t transposed_size(const NodeView& v, const Operands& o, size_t d) {
  const Attrs& a = v.attrs();
  int64_t input = o.x[d + 2];
  int64_t extra = a.ints("output_padding")[d];
  if (extra >= std::max(a.ints("stride")[d], a.ints("dilation")[d])) {
    v.fail("output_padding {} must be less than stride or dilation", extra);
  }
  if (input < 1) v.fail("the input is empty");
  int64_t size = num_elements({input - 1, a.ints("stride")[d]}) +
                 reach_of(v, o, d) + extra + 1 - 2 * a.ints("padding")[d];
  if (size < 1) v.fail("the padding leaves nothing of the output");
  return size;
}

Operands checked_operands(const NodeView& v, const Kind& kind) {
  Operands o{member_shape(v, 0), member_shape(v, 1)};
  auto rank = static_cast<size_t>(kind.dims + 2);
  int64_t groups = v.attrs().integer("groups");
  if (o.x.size() != rank || o.w.size() != rank) {
    v.fail("input and weight need rank {}", rank);
  }
  int64_t inputs = kind.transposed ? o.w[0] : o.w[1] * groups;
  if (groups < 1 || o.x[1] != inputs || o.w[0] % groups != 0 ||
      v.dtype(0) != v.dtype(1) || !is_floating(v.dtype(0))) {
    v.fail("input {} does not fit weight {} in {} groups",
           shape_text(v.shape(0)), shape_text(v.shape(1)), groups);
  }
  return o;
}

std::vector<ValueType> conv_shape(const NodeView& v, const Kind& kind) {
  check_attrs(v, kind);
  Operands o = checked_operands(v, kind);
  int64_t outputs = o.w[0];
  if (kind.transposed) outputs = o.w[1] * v.attrs().integer("groups");
  if (v.has(2) &&
      (v.dtype(2) != v.dtype(0) || member_shape(v, 2) != Shape{outputs})) {
    v.fail("bias {} does not fit", shape_text(v.shape(2)));
  }
  Shape shape{o.x[0], outputs};
  for (size_t d = 0; d < static_cast<size_t>(kind.dims); ++d) {
    shape.push_back(kind.transposed ? transposed_size(v, o, d)
                                    : conv_size(v, o, d));
  }
  if (v.members() > 0) shape.insert(shape.begin(), v.members());
  return {{v.dtype(0), shape}};
}

void conv_vjp(VjpContext& c) {
  const std::string& op = c.node().op->name;
  Var dy = c.grad(0);
  auto with_shape = [&](Var like) {
    Attrs attrs = c.attrs();
    return attrs.set("shape", like.shape());
  };
  if (c.needs(0)) {
    c.give(0,
           apply(op + "_backward_input", {dy, c.in(1)}, with_shape(c.in(0))));
  }
  if (c.needs(1)) {
    c.give(1,
           apply(op + "_backward_weight", {dy, c.in(0)}, with_shape(c.in(1))));
  }
  if (!c.needs(2)) return;
  int64_t batch = c.attrs().has("members") ? 1 : 0;
  Ints dims{batch};
  for (int64_t d = batch + 2; d < dy.rank(); ++d) dims.push_back(d);
  c.give(2, sum(dy, dims));
}

void array_grouped(ArrayContext& c, const Kind& kind) {
  Attrs attrs = c.attrs();
  bool dense = c.shared(0) && attrs.integer("groups") == 1;
  if (!dense) attrs.set("groups", attrs.integer("groups") * c.members());
  if (c.lowering() == Lowering::kGroupedLast) attrs.set("channels_last", true);
  Var x = dense ? c.in(0) : c.merged(0);
  // A transposed weight has its outputs second: [C, B * O, K...].
  Var w = dense && kind.transposed ? c.merged(1) : c.rows(1);
  c.emit(0, apply(kind.name(), {x, w, c.rows(2)}, attrs), MemberAxis::kMerged);
}

// One element per image: a layer like any other.
void array_linear(ArrayContext& c) {
  const Shape& w = c.one().shape(1);
  Shape y = c.one().output(0).type.shape;
  y.insert(y.begin(), c.members());
  Var rows = reshape(c.leading(0), {c.members(), y[1], w[1]});
  Var weight = reshape(c.leading(1), {c.members(), w[0], w[1]});
  Var bias = c.has(2) ? c.leading(2) : Var{};
  Var product =
      apply("linear", {rows, weight, bias}, {{"members", c.members()}});
  c.emit(0, reshape(product, y), MemberAxis::kLeading);
}

void array_apart(ArrayContext& c) {
  bool gemm = c.lowering() == Lowering::kGemm;
  const Shape& x = c.one().shape(0);
  if (gemm && num_elements(Shape(x.begin() + 2, x.end())) == 1) {
    return array_linear(c);
  }
  Attrs attrs = c.attrs();
  attrs.set("members", c.members());
  if (gemm) attrs.set("gemm", true);
  array_shifted(c, attrs);
}

void conv_array(ArrayContext& c, const Kind& kind) {
  bool dense = c.shared(0) && c.attrs().integer("groups") == 1;
  if (dense || !leads(c.lowering())) return array_grouped(c, kind);
  array_apart(c);
}

// Two flops for each element of `each` (the output; of a transposed one the
// input) and each of its weights, which begin at dimension `from` of w.
Cost conv_cost(const Shape& each, const Shape& w, size_t from) {
  double per_element = 2;
  for (size_t d = from; d < w.size(); ++d) {
    per_element *= static_cast<double>(w[d]);
  }
  return {static_cast<double>(num_elements(each)) * per_element, 0};
}

std::vector<ValueType> given_shape(const NodeView& v, const Kind& kind) {
  int64_t rank = kind.dims + (v.members() > 0 ? 3 : 2);
  const Ints& shape = v.attrs().ints("shape");
  if (v.rank(0) != rank || v.rank(1) != rank ||
      static_cast<int64_t>(shape.size()) != rank) {
    v.fail("operands and result need rank {}", rank);
  }
  return {{v.dtype(0), shape}};
}

Op conv_op(const Kind& kind) {
  return {.name = kind.name(),
          .summary = kind.transposed
                         ? "y[N, O, S'] = the gradient of a convolution with "
                           "w[C, O/g, K] at x[N, C, S], + b[O]"
                         : "y[N, O, S'] = x[N, C, S] conv w[O, C/g, K] + b[O]",
          .kind = kind.transposed ? OpKind::kTransposedConvolution
                                  : OpKind::kConvolution,
          .min_inputs = 2,
          .max_inputs = 3,
          .shape = [=](const NodeView& v) { return conv_shape(v, kind); },
          .vjp = conv_vjp,
          .array = [=](ArrayContext& c) { conv_array(c, kind); },
          .array_rule = ArrayRule::kLowered,
          .cost =
              [=](const NodeView& v) {
                return conv_cost(
                    kind.transposed ? v.shape(0) : v.output(0).type.shape,
                    v.shape(1), v.members() > 0 ? 2 : 1);
              },
          .strides = strides_as_told};
}

// Narrow gradients of weights come as libraries make them; others are rows.
Strides strides_of_weight(const NodeView& v) {
  const ValueType& type = v.output(0).type;
  bool narrow = item_bytes(type.dtype) < 4;
  return narrow ? strides_as_told(v) : contiguous_strides(type.shape);
}

Op backward_op(const Kind& kind, bool of_input) {
  return {
      .name = kind.name() + (of_input ? "_backward_input" : "_backward_weight"),
      .summary = of_input ? "dx from (dy, w)" : "dw from (dy, x)",
      .kind = OpKind::kConvolutionBackward,
      .min_inputs = 2,
      .max_inputs = 2,
      .shape = [=](const NodeView& v) { return given_shape(v, kind); },
      .cost =
          [=](const NodeView& v) {
            const Shape& result = v.output(0).type.shape;
            const Shape& x = of_input ? result : v.shape(1);
            return conv_cost(kind.transposed ? x : v.shape(0),
                             of_input ? v.shape(1) : result,
                             v.members() > 0 ? 2 : 1);
          },
      .strides = of_input ? strides_as_told : strides_of_weight};
}

}  // namespace

void add_conv_ops(OpTable& table) {
  for (bool transposed : {false, true}) {
    for (int64_t dims : {1, 2, 3}) {
      Kind kind{dims, transposed};
      table.add(conv_op(kind));
      table.add(backward_op(kind, true));
      table.add(backward_op(kind, false));
    }
  }
}

}  // namespace braid
