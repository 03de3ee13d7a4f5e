// Pooling over [N, C, S] with one to three spatial sizes S. Each channel is
// treated apart, so members may lie in the batch or in the channels.
#include "braid/ops/build/functions.h"
#include "braid/ops/core/channels_last.h"
#include "braid/ops/core/families.h"
#include "braid/ops/core/traits.h"

namespace braid {
namespace {

// The entry of an optional list, which is all `fallback` when missing.
int64_t entry(const NodeView& v, const char* name, size_t d, int64_t fallback) {
  return v.attrs().has(name) ? v.attrs().ints(name).at(d) : fallback;
}

// How PyTorch counts windows: with ceil_mode the last one may reach over the
// end, but must begin in the input or in the padding before it.
int64_t pooled_size(const NodeView& v, int64_t input, size_t d) {
  int64_t kernel = v.attrs().ints("kernel").at(d);
  int64_t stride = v.attrs().ints("stride").at(d);
  int64_t padding = v.attrs().ints("padding").at(d);
  int64_t dilation = entry(v, "dilation", d, 1);
  bool good = kernel >= 1 && stride >= 1 && padding >= 0 && dilation >= 1;
  int64_t reach = good ? num_elements({dilation, kernel - 1}) + 1 : 0;
  if (!good || padding > reach / 2) {
    v.fail("kernel {}, stride {}, padding {}, dilation {} do not fit", kernel,
           stride, padding, dilation);
  }
  bool ceil = v.attrs().flag_or("ceil_mode", false);
  int64_t room = input - (reach - 2 * padding) + (ceil ? stride - 1 : 0);
  if (room < 0) v.fail("the window is larger than the input");
  int64_t size = room / stride + 1;
  if (ceil && (size - 1) * stride >= input + padding) --size;
  if (size < 1) v.fail("the window is larger than the input");
  return size;
}

void check_input(const NodeView& v, int64_t dims) {
  if (v.rank(0) != dims + 2) v.fail("the input needs rank {}", dims + 2);
}

ValueType pooled(const NodeView& v, int64_t dims) {
  check_input(v, dims);
  for (const char* name : {"kernel", "stride", "padding", "dilation"}) {
    if (!v.attrs().has(name)) continue;
    const Ints& list = v.attrs().ints(name);
    if (static_cast<int64_t>(list.size()) != dims) {
      v.fail("{} = {} needs {} sizes", name, shape_text(list), dims);
    }
  }
  Shape shape{v.dim(0, 0), v.dim(0, 1)};
  for (int64_t d = 0; d < dims; ++d) {
    shape.push_back(pooled_size(v, v.dim(0, d + 2), static_cast<size_t>(d)));
  }
  return {v.dtype(0), shape};
}

ValueType averaged(const NodeView& v, int64_t dims) {
  if (!is_floating(v.dtype(0)))
    v.fail("{} is no float", dtype_name(v.dtype(0)));
  if (v.attrs().integer_or("divisor_override", 1) == 0) {
    v.fail("divisor_override is 0");
  }
  return pooled(v, dims);
}

// As many windows as `size` says, spread evenly over the input.
ValueType adapted(const NodeView& v, int64_t dims) {
  check_input(v, dims);
  const Ints& size = v.attrs().ints("size");
  if (static_cast<int64_t>(size.size()) != dims) {
    v.fail("size = {} needs {} sizes", shape_text(size), dims);
  }
  Shape shape{v.dim(0, 0), v.dim(0, 1)};
  for (int64_t d = 0; d < dims; ++d) {
    if (v.dim(0, d + 2) < 1) v.fail("the input is empty");
    shape.push_back(size[static_cast<size_t>(d)]);
  }
  return {v.dtype(0), shape};
}

std::vector<ValueType> with_places(ValueType type) {
  ValueType places{DType::kInt64, type.shape};
  return {std::move(type), std::move(places)};
}

Attrs with_input_shape(VjpContext& c) {
  Attrs attrs = c.attrs();
  return attrs.set("shape", c.in(0).shape());
}

void max_vjp(VjpContext& c) {
  c.give(0, apply(c.node().op->name + "_backward", {c.grad(0), c.out(1)},
                  with_input_shape(c)));
}

void avg_vjp(VjpContext& c) {
  c.give(0, apply(c.node().op->name + "_backward", {c.grad(0)},
                  with_input_shape(c)));
}

// One comparison or addition per element of a window.
Cost window_cost(const NodeView& v) {
  auto flops = static_cast<double>(num_elements(v.output(0).type.shape));
  for (int64_t k : v.attrs().ints("kernel")) flops *= static_cast<double>(k);
  return {flops, 0};
}

// Adaptive windows together hold each element about once.
Cost adaptive_cost(const NodeView& v) {
  return {static_cast<double>(num_elements(v.shape(0))), 0};
}

// The commonest pool of images goes on in the order of its input; kernels of
// the others want rows.
Strides window_strides(const NodeView& v) {
  if (v.node().op->name.starts_with("max_pool2d")) return strides_of_input(v);
  return contiguous_strides(v.output(0).type.shape);
}

Op pool_op(std::string name, std::string summary, Op::ShapeRule shape,
           std::function<void(VjpContext&)> vjp,
           std::function<Cost(const NodeView&)> cost) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .shape = std::move(shape),
          .vjp = std::move(vjp),
          .array = array_channels,
          .array_rule = ArrayRule::kChannels,
          .cost = std::move(cost),
          .strides = window_strides};
}

Op backward_op(std::string name, std::string summary, size_t inputs) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .min_inputs = inputs,
          .max_inputs = inputs,
          .shape = [](const NodeView& v) -> std::vector<ValueType> {
            const Ints& shape = v.attrs().ints("shape");
            if (shape.size() != v.shape(0).size()) v.fail("the ranks differ");
            return {{v.dtype(0), shape}};
          },
          .strides = window_strides};
}

void add_window_pools(OpTable& table, int64_t dims) {
  std::string max = fmt::format("max_pool{}d", dims);
  std::string avg = fmt::format("avg_pool{}d", dims);
  Op largest = pool_op(
      max, "largest of each window of x[N, C, S]; also its place in S",
      [=](const NodeView& v) { return with_places(pooled(v, dims)); }, max_vjp,
      window_cost);
  largest.kind = OpKind::kMaxPool;
  table.add(std::move(largest));
  table.add(backward_op(max + "_backward", "dx from (dy, places)", 2));
  table.add(pool_op(
      avg,
      "mean of each window of x[N, C, S]; the padding counts unless "
      "count_include_pad is false",
      [=](const NodeView& v) { return std::vector{averaged(v, dims)}; },
      avg_vjp, window_cost));
  table.add(backward_op(avg + "_backward", "dx from dy", 1));
}

void add_adaptive_pools(OpTable& table, int64_t dims) {
  std::string max = fmt::format("adaptive_max_pool{}d", dims);
  std::string avg = fmt::format("adaptive_avg_pool{}d", dims);
  table.add(pool_op(
      max, "largest of `size` windows over x[N, C, S]; also its place in S",
      [=](const NodeView& v) { return with_places(adapted(v, dims)); }, max_vjp,
      adaptive_cost));
  table.add(backward_op(max + "_backward", "dx from (dy, places)", 2));
  table.add(pool_op(
      avg, "mean of `size` windows over x[N, C, S]",
      [=](const NodeView& v) { return std::vector{adapted(v, dims)}; }, avg_vjp,
      adaptive_cost));
  table.add(backward_op(avg + "_backward", "dx from dy", 1));
}

}  // namespace

void add_pool_ops(OpTable& table) {
  for (int64_t dims : {1, 2, 3}) {
    add_window_pools(table, dims);
    add_adaptive_pools(table, dims);
  }
}

}  // namespace braid
