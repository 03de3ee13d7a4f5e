// Rows of the table for own CUDA kernels: each looks at a call when it is
// prepared, fills the launcher's arguments once and leaves what is strided,
// empty or of another type to the general kernel.
#include "braid/runtime/kernels/cuda/cuda_kernels.h"

#include "braid/ops/core/update_kinds.h"
#include "braid/runtime/kernels/aten/bind.h"
#include "braid/runtime/kernels/cuda/cuda_handles.h"
#include "braid/runtime/kernels/cuda/generated.h"
#include "braid/runtime/kernels/cuda/item_of.h"
#include "braid/runtime/kernels/cuda/linear.h"

namespace braid::runtime {
namespace {

// Where and how kernels of one device run.
struct Place {
  at::Device device;
  cudaStream_t stream;

  // Scratch of a call; lies in its workspace.
  at::Tensor empty(int64_t count, at::ScalarType type) const {
    return at::empty({count}, at::TensorOptions(type).device(device));
  }
};

template <class T>
constexpr at::ScalarType kScalar =
    std::is_same_v<T, double> ? at::kDouble : at::kFloat;

int64_t sets_of(const Call& c) { return std::max<int64_t>(c.members(), 1); }

// A missing operand is null.
template <class T>
T* pointer(const Call& c, size_t input) {
  return c.has(input) ? c.in(input).as<T>() : nullptr;
}

bool is_plain(const Tensor& t) { return !t || t.contiguous(); }

bool is_float(const Tensor& t) {
  return t.dtype == DType::kFloat32 || t.dtype == DType::kFloat64;
}

// Contiguous, not empty, of a float type by `main`; f32 or f64.
bool fits_any(const Call& c, const Tensor& main) {
  return is_floating(main.dtype) && main.numel() > 0 &&
         sets_of(c) <= cuda::kMaxMembers &&
         std::all_of(c.inputs.begin(), c.inputs.end(), is_plain) &&
         std::all_of(c.outputs.begin(), c.outputs.end(), is_plain);
}

bool fits(const Call& c, const Tensor& main) {
  return is_float(main) && fits_any(c, main);
}

// A mean over rows with a class each, all classes alike; the class weights
// would be input `weight`.
bool is_plain_mean(const Call& c, const Tensor& target, size_t weight) {
  return target.dtype == DType::kInt64 && !c.has(weight) &&
         (!c.attrs().has("reduction") || c.attrs().text("reduction") == "mean");
}

bool fits_cross_entropy(const Call& c, const Tensor& logits) {
  return fits_any(c, logits) && is_plain_mean(c, c.in(1), 2);
}

bool fits_cross_entropy_backward(const Call& c, const Tensor& logits) {
  return fits_any(c, logits) && is_plain_mean(c, c.in(2), 5);
}

int64_t ignored_target(const Call& c) {
  return c.attrs().integer_or("ignore_index", -100);
}

void check_launch(const char* kernel) {
  check_cuda(cudaGetLastError(), kernel);
}

Thunk dropout(const Call& c, const Place& place) {
  if (c.out(0).numel() == 0) return [] {};
  cuda::Dropout d{.y = c.out(0).data,
                  .x = c.in(0).data,
                  .item = cuda::item_of(c.in(0).dtype),
                  .p = c.in(1).as<double>(),
                  .seed = c.in(2).as<int64_t>(),
                  .step = c.in(3).as<int64_t>(),
                  .micro = c.in(4).as<int64_t>(),
                  .rng_key = c.node->rng_key,
                  .members = sets_of(c),
                  .count = c.out(0).numel() / sets_of(c)};
  auto run = [d, place] {
    cuda::launch_dropout(d, place.stream);
    check_launch("dropout");
  };
  if (c.in(0).contiguous()) return run;
  // Strided input: rows first, then in place.
  d.x = d.y;
  at::Tensor x = bind(c.in(0), place.device);
  at::Tensor y = bind(c.out(0), place.device);
  return [d, place, x, y] {
    y.copy_(x);
    cuda::launch_dropout(d, place.stream);
    check_launch("dropout");
  };
}

// Layout makes all operands of updates row-major; anything else is our bug.
void check_update(const Call& c) {
  bool rows = std::all_of(c.inputs.begin(), c.inputs.end(), is_plain) &&
              std::all_of(c.outputs.begin(), c.outputs.end(), is_plain);
  if (rows && is_float(c.in(0)) && sets_of(c) <= cuda::kMaxMembers) return;
  fail_usage(
      "[{}] the CUDA kernel takes row-major f32 or f64 of up to {} members, "
      "got {} {} of {}, gradient {}",
      c.node->op->name, cuda::kMaxMembers, dtype_name(c.in(0).dtype),
      shape_text(c.in(0).shape), sets_of(c),
      c.in(1).contiguous() ? "row-major" : "strided");
}

unsigned states_of(const Call& c, const UpdateKind& kind) {
  unsigned has = 0;
  for (size_t k = 0; k < kind.states.size(); ++k) {
    has |= static_cast<unsigned>(c.has(2 + k)) << k;
  }
  return has;
}

// Outputs of missing states are missing too, so they are counted along.
template <class T>
cuda::Update<T> update_of(const Call& c, const UpdateKind& kind) {
  cuda::Update<T> u{};
  u.p_out = c.out(0).as<T>();
  u.p = c.in(0).as<T>();
  u.gradient = c.in(1).data;
  u.is_narrow = c.in(1).dtype == DType::kBFloat16;
  size_t output = 1;
  for (size_t k = 0; k < kind.states.size(); ++k) {
    if (!c.has(2 + k)) continue;
    u.states[k] = c.in(2 + k).as<T>();
    u.states_out[k] = c.out(output++).as<T>();
  }
  u.step = c.in(kind.step_input()).as<int64_t>();
  for (size_t i = 0; i < kind.values.size(); ++i) {
    u.values[i] = c.in(kind.value_input(i)).as<double>();
  }
  if (kind.has_extra) u.extra = pointer<double>(c, kind.extra_input());
  u.scale = pointer<double>(c, kind.scale_input());
  u.keep = pointer<double>(c, kind.keep_input());
  u.nesterov = c.attrs().flag_or("nesterov", false);
  u.decoupled = c.attrs().flag_or("decoupled", false);
  u.members = sets_of(c);
  u.count = c.in(0).numel() / u.members;
  return u;
}

template <class T>
Thunk prepare_update(const Call& c, const UpdateKind& kind,
                     const Place& place) {
  auto launch = cuda::find_update<T>(kind.name, states_of(c, kind));
  if (!launch) {
    fail_usage("[{}] there is no CUDA kernel for these states",
               c.node->op->name);
  }
  return [u = update_of<T>(c, kind), launch, place] {
    launch({&u, 1}, place.stream);
    check_launch("update");
  };
}

// Those that share their numbers, in one launch or a few.
template <class T>
struct UpdateBatch {
  cuda::UpdateLauncher<T> launch;
  std::vector<cuda::Update<T>> updates;
};

template <class T>
void add_to_batches(const Call& c, const UpdateKind& kind,
                    std::vector<UpdateBatch<T>>& batches) {
  auto launch = cuda::find_update<T>(kind.name, states_of(c, kind));
  cuda::Update<T> u = update_of<T>(c, kind);
  auto mine = std::ranges::find_if(batches, [&](const UpdateBatch<T>& batch) {
    return batch.launch == launch &&
           cuda::have_same_numbers(batch.updates[0], u);
  });
  if (mine == batches.end()) mine = batches.insert(mine, {launch, {}});
  mine->updates.push_back(u);
}

template <class T>
void launch_batches(const std::vector<UpdateBatch<T>>& batches,
                    const Place& place) {
  for (const UpdateBatch<T>& batch : batches) {
    batch.launch(batch.updates, place.stream);
    check_launch("update");
  }
}

// Each call was prepared alone before, so each is one that can be done.
Thunk updates(std::span<const Call> calls, const UpdateKind& kind,
              const Place& place) {
  std::vector<UpdateBatch<float>> singles;
  std::vector<UpdateBatch<double>> doubles;
  for (const Call& c : calls) {
    if (c.in(0).numel() == 0) continue;
    if (c.in(0).dtype == DType::kFloat64) {
      add_to_batches(c, kind, doubles);
    } else {
      add_to_batches(c, kind, singles);
    }
  }
  return [singles, doubles, place] {
    launch_batches(singles, place);
    launch_batches(doubles, place);
  };
}

Thunk update(const Call& c, const UpdateKind& kind, const Place& place) {
  check_update(c);
  if (c.in(0).numel() == 0) return [] {};
  return c.in(0).dtype == DType::kFloat64
             ? prepare_update<double>(c, kind, place)
             : prepare_update<float>(c, kind, place);
}

template <class T>
Thunk prepare_sum_squares(const Call& c, const Place& place) {
  int64_t members = sets_of(c), count = c.in(0).numel() / members;
  int64_t partials = members * cuda::sum_squares_blocks(count);
  auto *sum = c.out(0).as<double>(), *none = static_cast<double*>(nullptr);
  auto* x = static_cast<const T*>(c.in(0).as<T>());
  if (partials == members) {
    return [=] {
      cuda::launch_sum_squares(sum, none, x, members, count, place.stream);
      check_launch("sum_squares");
    };
  }
  return [=] {
    at::Tensor partial = place.empty(partials, at::kDouble);
    cuda::launch_sum_squares(sum, partial.data_ptr<double>(), x, members, count,
                             place.stream);
    check_launch("sum_squares");
  };
}

template <class T>
Thunk prepare_cross_entropy(const Call& c, const Place& place) {
  double smoothing = c.attrs().number_or("label_smoothing", 0);
  cuda::CrossEntropy<T> e{.loss = c.out(0).as<T>(),
                          .total = c.out(1).as<T>(),
                          .number = c.out(2).as<T>(),
                          .row_loss = nullptr,
                          .logits = c.in(0).data,
                          .item = cuda::item_of(c.in(0).dtype),
                          .target = c.in(1).as<int64_t>(),
                          .smoothing = static_cast<T>(smoothing),
                          .smoothings = pointer<double>(c, 3),
                          .ignored = ignored_target(c),
                          .members = sets_of(c),
                          .rows = c.in(1).numel() / sets_of(c),
                          .classes = c.in(0).shape.back()};
  return [e, place] {
    at::Tensor row_loss = place.empty(e.members * e.rows, kScalar<T>);
    auto now = e;
    now.row_loss = row_loss.data_ptr<T>();
    cuda::launch_cross_entropy(now, place.stream);
    check_launch("cross_entropy_loss");
  };
}

template <class T>
Thunk prepare_cross_entropy_backward(const Call& c, const Place& place) {
  double smoothing = c.attrs().number_or("label_smoothing", 0);
  cuda::CrossEntropyBackward<T> e{.dx = c.out(0).data,
                                  .dy = c.in(0).as<T>(),
                                  .logits = c.in(1).data,
                                  .item = cuda::item_of(c.in(1).dtype),
                                  .total = c.in(3).as<T>(),
                                  .number = c.in(4).as<T>(),
                                  .target = c.in(2).as<int64_t>(),
                                  .smoothing = static_cast<T>(smoothing),
                                  .smoothings = pointer<double>(c, 6),
                                  .ignored = ignored_target(c),
                                  .members = sets_of(c),
                                  .rows = c.in(2).numel() / sets_of(c),
                                  .classes = c.in(1).shape.back()};
  return [e, place] {
    cuda::launch_cross_entropy_backward(e, place.stream);
    check_launch("cross_entropy_loss_backward");
  };
}

template <class T>
Thunk prepare_layer_norm_backward(const Call& c, const Place& place) {
  int64_t columns = c.in(1).shape.back();
  cuda::LayerNormBackward<T> n{.dx = c.out(0).as<T>(),
                               .dw = c.out(1).as<T>(),
                               .db = c.out(2).as<T>(),
                               .partial = nullptr,
                               .dy = c.in(0).as<T>(),
                               .x = c.in(1).as<T>(),
                               .w = pointer<T>(c, 2),
                               .mean = c.in(3).as<T>(),
                               .rstd = c.in(4).as<T>(),
                               .members = sets_of(c),
                               .rows = c.in(1).numel() / columns / sets_of(c),
                               .columns = columns};
  int64_t chunks = cuda::layer_norm_chunks(n.rows);
  int64_t partials = chunks == 1 ? 0 : 2 * chunks * n.members * columns;
  return [n, partials, place] {
    at::Tensor partial = place.empty(partials, kScalar<T>);
    auto now = n;
    now.partial = partial.data_ptr<T>();
    cuda::launch_layer_norm_backward(now, place.stream);
    check_launch("layer_norm_backward");
  };
}

using Prepare = Thunk (*)(const Call&, const Place&);

// One kernel in both types, and the operand that tells which.
struct Row {
  const char* op;
  size_t main;
  bool (*fits)(const Call&, const Tensor& main);
  Prepare in_float, in_double;
};

constexpr Row kRows[] = {
    {"sum_squares", 0, fits, prepare_sum_squares<float>,
     prepare_sum_squares<double>},
    {"cross_entropy_loss", 0, fits_cross_entropy, prepare_cross_entropy<float>,
     prepare_cross_entropy<double>},
    {"cross_entropy_loss_backward", 1, fits_cross_entropy_backward,
     prepare_cross_entropy_backward<float>,
     prepare_cross_entropy_backward<double>},
    {"layer_norm_backward", 1, fits, prepare_layer_norm_backward<float>,
     prepare_layer_norm_backward<double>},
};

}  // namespace

void add_cuda_kernels(KernelTable& table, int index, cudaStream_t stream) {
  Place place{at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(index)),
              stream};
  for (const Row& row : kRows) {
    table.add(
        row.op,
        [row, place, general = table.at(row.op)](const Call& call) -> Thunk {
          if (!row.fits(call, call.in(row.main))) return general(call);
          bool is_double = call.in(row.main).dtype == DType::kFloat64;
          return (is_double ? row.in_double : row.in_float)(call, place);
        });
  }
  for (const UpdateKind& kind : update_kinds()) {
    table.add(kind.op(), [&kind, place](const Call& call) {
      return update(call, kind, place);
    });
    table.add_group(kind.op(), [&kind, place](std::span<const Call> calls) {
      return updates(calls, kind, place);
    });
  }
  table.add("dropout",
            [place](const Call& call) { return dropout(call, place); });
  add_cuda_members(table, index);
  add_cuda_depthwise(table, index, stream);
  add_cuda_turns(table, stream);
  add_cuda_batch_norm(table, index, stream);
  if (cuda::can_generate()) add_cuda_fusion(table, index, stream);
  add_cuda_linear(table, index, stream);
}

}  // namespace braid::runtime
