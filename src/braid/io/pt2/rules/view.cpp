// Operators whose results share memory with their argument. Whether a reshape
// does is decided by the strides that the file tells.
#include "braid/base/error.h"
#include "braid/io/pt2/rule.h"

namespace braid::io::pt2 {
namespace {

// The same elements in another shape.
ViewStep reshaped(const Shape& shape) {
  return {[shape](Var x) { return reshape(x, shape); },
          [](Var base, Var view) { return reshape(view, base.shape()); }};
}

ViewStep permuted(const Ints& dims) {
  Ints back(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    back[static_cast<size_t>(dims[i])] = static_cast<int64_t>(i);
  }
  return {[dims](Var x) { return permute(x, dims); },
          [back](Var, Var view) { return permute(view, back); }};
}

ViewStep sliced(int64_t dim, int64_t start, int64_t end, int64_t step) {
  return {[=](Var x) { return slice(x, dim, start, end, step); },
          [=](Var base, Var view) {
            return slice_scatter(base, view, dim, start, end, step);
          }};
}

ViewStep selected(int64_t dim, int64_t index) {
  return {[=](Var x) { return select(x, dim, index); },
          [=](Var base, Var view) {
            return select_scatter(base, view, dim, index);
          }};
}

ViewStep same() {
  return {[](Var x) { return x; }, [](Var, Var view) { return view; }};
}

ViewStep detached() {
  return {[](Var x) { return detach(x); }, [](Var, Var view) { return view; }};
}

int64_t place(int64_t dim, Var x, const char* where) {
  return normalize_dim(dim, x.rank(), where);
}

// Sizes and strides as the file tells them; nothing when they are symbols.
std::optional<std::pair<Shape, Strides>> layout_of(const TensorMeta* meta) {
  if (!meta) return std::nullopt;
  Shape sizes;
  Strides strides;
  for (const Size& size : meta->sizes) {
    if (!size.symbol.empty()) return std::nullopt;
    sizes.push_back(size.value);
  }
  for (const Size& stride : meta->strides) {
    if (!stride.symbol.empty()) return std::nullopt;
    strides.push_back(stride.value);
  }
  return std::pair(sizes, strides);
}

// Whether a reshape of the argument shares its memory. Symbolic sizes are
// taken for row-major ones: such tensors are written to in no known model.
bool is_view(RuleContext& c, const Shape& shape) {
  auto layout = layout_of(c.meta_of("self"));
  if (!layout) return true;
  if (num_elements(layout->first) != num_elements(shape)) return true;
  return view_strides(layout->first, layout->second, shape).has_value();
}

void give_reshaped(RuleContext& c, Shape shape) {
  if (is_view(c, shape)) return c.give_view("self", reshaped(shape));
  c.give(reshape(c.tensor("self"), std::move(shape)));
}

Shape resolved(Var x, Shape shape) {
  int64_t known = 1;
  for (int64_t size : shape) known *= size == -1 ? 1 : size;
  for (int64_t& size : shape) {
    if (size == -1) size = known == 0 ? 0 : x.numel() / known;
  }
  return shape;
}

void view_rule(RuleContext& c) {
  if (c.overload() == "dtype") fail_usage("bits as another type");
  const char* name = c.name() == "reshape" ? "shape" : "size";
  give_reshaped(c, resolved(c.tensor("self"), c.ints(name)));
}

void as_other_rule(RuleContext& c) {
  give_reshaped(c, c.tensor("other").shape());
}

void flatten_rule(RuleContext& c) {
  Var x = c.tensor("self");
  if (x.rank() == 0) return give_reshaped(c, {1});
  auto start =
      static_cast<size_t>(place(c.integer_or("start_dim", 0), x, "flatten"));
  auto end =
      static_cast<size_t>(place(c.integer_or("end_dim", -1), x, "flatten"));
  Shape shape(x.shape().begin(), x.shape().begin() + start);
  int64_t middle = 1;
  for (size_t d = start; d <= end; ++d) middle *= x.shape()[d];
  shape.push_back(middle);
  shape.insert(shape.end(), x.shape().begin() + end + 1, x.shape().end());
  give_reshaped(c, shape);
}

void unflatten_rule(RuleContext& c) {
  Var x = c.tensor("self");
  give_reshaped(c, unflatten(x, c.integer("dim"), c.ints("sizes")).shape());
}

void unsqueeze_rule(RuleContext& c) {
  Var x = c.tensor("self");
  give_reshaped(c, unsqueeze(x, c.integer("dim")).shape());
}

void squeeze_rule(RuleContext& c) {
  Var x = c.tensor("self");
  Var y = c.has("dim") ? squeeze(x, c.ints("dim")) : squeeze(x);
  give_reshaped(c, y.shape());
}

void permute_rule(RuleContext& c) {
  Ints dims = c.ints("dims");
  for (int64_t& d : dims) d = place(d, c.tensor("self"), "permute");
  c.give_view("self", permuted(dims));
}

void swap_dims(RuleContext& c, int64_t a, int64_t b) {
  Var x = c.tensor("self");
  if (x.rank() == 0) return c.give_view("self", same());
  Ints dims;
  for (int64_t d = 0; d < x.rank(); ++d) dims.push_back(d);
  std::swap(dims[static_cast<size_t>(place(a, x, "transpose"))],
            dims[static_cast<size_t>(place(b, x, "transpose"))]);
  c.give_view("self", permuted(dims));
}

void transpose_rule(RuleContext& c) {
  bool axes = c.has("axis0");
  swap_dims(c, c.integer(axes ? "axis0" : "dim0"),
            c.integer(axes ? "axis1" : "dim1"));
}

void t_rule(RuleContext& c) {
  if (c.tensor("self").rank() < 2) return c.give_view("self", same());
  swap_dims(c, 0, 1);
}

void last_two_rule(RuleContext& c) { swap_dims(c, -2, -1); }

void reversed_rule(RuleContext& c) {
  Ints dims;
  for (int64_t d = c.tensor("self").rank(); d-- > 0;) dims.push_back(d);
  c.give_view("self", permuted(dims));
}

void movedim_rule(RuleContext& c) {
  Var x = c.tensor("self");
  Ints from = c.ints("source"), to = c.ints("destination");
  if (from.size() != to.size()) fail_usage("movedim to other dimensions");
  Ints dims(static_cast<size_t>(x.rank()), -1);
  std::vector<bool> used(dims.size(), false);
  for (size_t i = 0; i < from.size(); ++i) {
    int64_t source = place(from[i], x, "movedim");
    dims[static_cast<size_t>(place(to[i], x, "movedim"))] = source;
    used[static_cast<size_t>(source)] = true;
  }
  size_t next = 0;
  for (int64_t& d : dims) {
    if (d != -1) continue;
    while (used[next]) ++next;
    d = static_cast<int64_t>(next++);
  }
  c.give_view("self", permuted(dims));
}

// -1 keeps the size.
Shape expanded_shape(Var x, Shape shape) {
  size_t more = shape.size() - x.shape().size();
  for (size_t d = more; d < shape.size(); ++d) {
    if (shape[d] == -1) shape[d] = x.shape()[d - more];
  }
  return shape;
}

void give_expanded(RuleContext& c, Shape shape) {
  c.give_view("self", {[shape = std::move(shape)](Var x) {
                return x.shape() == shape ? x : expand(x, shape);
              }});
}

void expand_rule(RuleContext& c) {
  Shape shape = c.ints("size");
  if (shape.size() < c.tensor("self").shape().size()) {
    fail_usage("expand to fewer dimensions");
  }
  give_expanded(c, expanded_shape(c.tensor("self"), shape));
}

void expand_as_rule(RuleContext& c) {
  give_expanded(c, c.tensor("other").shape());
}

// Ends past the size mean the size, negative ones count from it.
int64_t bounded(int64_t at, int64_t size) {
  return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
}

void slice_rule(RuleContext& c) {
  Var x = c.tensor("self");
  int64_t dim = place(c.integer_or("dim", 0), x, "slice");
  int64_t size = x.dim(dim);
  int64_t start = bounded(c.integer_or("start", 0), size);
  int64_t end = bounded(c.integer_or("end", size), size);
  c.give_view("self", sliced(dim, start, std::max(start, end),
                             c.integer_or("step", 1)));
}

void narrow_rule(RuleContext& c) {
  Var x = c.tensor("self");
  int64_t dim = place(c.integer("dim"), x, "narrow");
  int64_t start = bounded(c.integer("start"), x.dim(dim));
  c.give_view("self", sliced(dim, start, start + c.integer("length"), 1));
}

void select_rule(RuleContext& c) {
  Var x = c.tensor("self");
  int64_t dim = place(c.integer("dim"), x, "select");
  int64_t index = c.integer("index");
  c.give_view("self", selected(dim, index < 0 ? index + x.dim(dim) : index));
}

void unbind_rule(RuleContext& c) {
  Var x = c.tensor("self");
  int64_t dim = place(c.integer_or("dim", 0), x, "unbind");
  for (int64_t i = 0; i < x.dim(dim); ++i) {
    c.give_view("self", selected(dim, i));
  }
}

void give_parts(RuleContext& c, int64_t dim, const Ints& sizes) {
  int64_t start = 0;
  for (int64_t size : sizes) {
    c.give_view("self", sliced(dim, start, start + size, 1));
    start += size;
  }
}

// Parts of one size, the last may be shorter; there is at least one.
Ints equal_parts(int64_t total, int64_t size) {
  Ints sizes;
  for (int64_t left = total; left > 0; left -= size) {
    sizes.push_back(std::min(left, size));
    if (size <= 0) break;
  }
  if (sizes.empty()) sizes.push_back(0);
  return sizes;
}

void split_rule(RuleContext& c) {
  Var x = c.tensor("self");
  int64_t dim = place(c.integer_or("dim", 0), x, "split");
  if (c.has("split_sizes")) return give_parts(c, dim, c.ints("split_sizes"));
  if (c.is_list("split_size")) return give_parts(c, dim, c.ints("split_size"));
  give_parts(c, dim, equal_parts(x.dim(dim), c.integer("split_size")));
}

int64_t num_parts(RuleContext& c, const char* name) {
  int64_t count = c.integer(name);
  if (count < 1 || count > 1 << 20) fail_usage("{} is {}", name, count);
  return count;
}

void chunk_rule(RuleContext& c) {
  Var x = c.tensor("self");
  int64_t dim = place(c.integer_or("dim", 0), x, "chunk");
  int64_t count = num_parts(c, "chunks"), total = x.dim(dim);
  int64_t size = (total + count - 1) / count;
  if (size == 0) return give_parts(c, dim, Ints(static_cast<size_t>(count), 0));
  give_parts(c, dim, equal_parts(total, size));
}

// Sections of nearly equal size, the first ones larger.
void tensor_split_rule(RuleContext& c) {
  if (!c.has("sections")) fail_usage("split by places is not supported");
  Var x = c.tensor("self");
  int64_t dim = place(c.integer_or("dim", 0), x, "tensor_split");
  int64_t count = num_parts(c, "sections"), total = x.dim(dim);
  Ints sizes;
  for (int64_t i = 0; i < count; ++i) {
    sizes.push_back(total / count + (i < total % count ? 1 : 0));
  }
  give_parts(c, dim, sizes);
}

void diagonal_rule(RuleContext& c) {
  int64_t offset = c.integer_or("offset", 0);
  int64_t a = c.integer_or("dim1", 0), b = c.integer_or("dim2", 1);
  c.give_view("self", {[=](Var x) { return diagonal(x, offset, a, b); }});
}

void unfold_rule(RuleContext& c) {
  int64_t dim = place(c.integer("dimension"), c.tensor("self"), "unfold");
  int64_t size = c.integer("size"), step = c.integer("step");
  c.give_view("self", {[=](Var x) { return unfold(x, dim, size, step); }});
}

void alias_rule(RuleContext& c) { c.give_same("self"); }

void detach_rule(RuleContext& c) { c.give_view("self", detached()); }

void broadcast_tensors_rule(RuleContext& c) {
  c.give(broadcast_tensors(c.tensors("tensors")));
}

void copy_of(RuleContext& c) { c.give(c.tensor("self")); }

// Row-major already: the same memory.
void contiguous_rule(RuleContext& c) {
  auto layout = layout_of(c.meta_of("self"));
  bool same_memory =
      layout && layout->second == contiguous_strides(layout->first);
  if (same_memory) return c.give_same("self");
  copy_of(c);
}

void to_rule(RuleContext& c) {
  Var x = c.tensor("self");
  DType dtype = c.is_tensor("other") ? c.tensor("other").dtype()
                                     : c.type_or_result("dtype");
  if (x.dtype() == dtype && !c.flag_or("copy", false)) {
    return c.give_same("self");
  }
  c.give(cast(x, dtype));
}

}  // namespace

void add_view_rules(Rules& rules) {
  rules.insert({
      {"view", view_rule},
      {"reshape", view_rule},
      {"_unsafe_view", view_rule},
      {"view_as", as_other_rule},
      {"reshape_as", as_other_rule},
      {"flatten", flatten_rule},
      {"ravel", flatten_rule},
      {"unflatten", unflatten_rule},
      {"unsqueeze", unsqueeze_rule},
      {"squeeze", squeeze_rule},
      {"permute", permute_rule},
      {"transpose", transpose_rule},
      {"swapaxes", transpose_rule},
      {"swapdims", transpose_rule},
      {"t", t_rule},
      {"mT", last_two_rule},
      {"adjoint", last_two_rule},  // of real matrices
      {"mH", last_two_rule},
      {"matrix_H", last_two_rule},
      {"numpy_T", reversed_rule},
      {"movedim", movedim_rule},
      {"moveaxis", movedim_rule},
      {"expand", expand_rule},
      {"broadcast_to", expand_rule},
      {"expand_as", expand_as_rule},
      {"broadcast_tensors", broadcast_tensors_rule},
      {"slice", slice_rule},
      {"narrow", narrow_rule},
      {"select", select_rule},
      {"unbind", unbind_rule},
      {"split", split_rule},
      {"split_with_sizes", split_rule},
      {"chunk", chunk_rule},
      {"tensor_split", tensor_split_rule},
      {"diagonal", diagonal_rule},
      {"unfold", unfold_rule},
      {"alias", alias_rule},
      {"resolve_conj", alias_rule},
      {"resolve_neg", alias_rule},
      {"lift_fresh", alias_rule},
      {"detach", detach_rule},
      {"detach_", detach_rule},
      {"clone", copy_of},
      {"lift_fresh_copy", copy_of},
      {"contiguous", contiguous_rule},
      {"to", to_rule},
      {"_to_copy", to_rule},
      {"type_as", to_rule},
  });
}

}  // namespace braid::io::pt2
