// Images made larger or smaller. Inputs are made contiguous first: for
// channels that lie last libtorch would want outputs that lie so too.
#include "braid/runtime/kernels/aten/bind.h"
#include "braid/runtime/kernels/aten/separable.h"

namespace braid::runtime {
namespace {

using Scale = std::optional<double>;

// The factors that the user gave, of the last three dimensions.
struct Scales {
  explicit Scales(const Attrs& a)
      : d(read(a, "scale_d")), h(read(a, "scale_h")), w(read(a, "scale_w")) {}
  static Scale read(const Attrs& a, const char* name) {
    return a.has(name) ? Scale(a.number(name)) : std::nullopt;
  }
  Scale d, h, w;
};

// One call of libtorch: `to` from `from`, forward or backward.
struct Resize {
  at::Tensor& to;
  at::Tensor from;
  const Ints& size;   // of the result of forward
  const Ints& shape;  // of the input of forward; backward only
  Scales scales;
  bool align;
};

using Step = void (*)(const Resize&);

// Whether values between elements are made, and how.
enum class Blend { kNone, kLinear, kCubic };

struct Method {
  const char* op;
  Step forward, backward;
  Blend blend = Blend::kNone;
};

constexpr Method kMethods[] = {
    {"upsample_nearest1d",
     [](const Resize& r) {
       at::upsample_nearest1d_out(r.to, r.from, r.size, r.scales.w);
     },
     [](const Resize& r) {
       at::upsample_nearest1d_backward_out(r.to, r.from, r.size, r.shape,
                                           r.scales.w);
     }},
    {"upsample_nearest2d",
     [](const Resize& r) {
       at::upsample_nearest2d_out(r.to, r.from, r.size, r.scales.h, r.scales.w);
     },
     [](const Resize& r) {
       at::upsample_nearest2d_backward_out(r.to, r.from, r.size, r.shape,
                                           r.scales.h, r.scales.w);
     }},
    {"upsample_nearest3d",
     [](const Resize& r) {
       at::upsample_nearest3d_out(r.to, r.from, r.size, r.scales.d, r.scales.h,
                                  r.scales.w);
     },
     [](const Resize& r) {
       at::upsample_nearest3d_backward_out(r.to, r.from, r.size, r.shape,
                                           r.scales.d, r.scales.h, r.scales.w);
     }},
    {"_upsample_nearest_exact1d",
     [](const Resize& r) {
       at::_upsample_nearest_exact1d_out(r.to, r.from, r.size, r.scales.w);
     },
     [](const Resize& r) {
       at::_upsample_nearest_exact1d_backward_out(r.to, r.from, r.size, r.shape,
                                                  r.scales.w);
     }},
    {"_upsample_nearest_exact2d",
     [](const Resize& r) {
       at::_upsample_nearest_exact2d_out(r.to, r.from, r.size, r.scales.h,
                                         r.scales.w);
     },
     [](const Resize& r) {
       at::_upsample_nearest_exact2d_backward_out(r.to, r.from, r.size, r.shape,
                                                  r.scales.h, r.scales.w);
     }},
    {"_upsample_nearest_exact3d",
     [](const Resize& r) {
       at::_upsample_nearest_exact3d_out(r.to, r.from, r.size, r.scales.d,
                                         r.scales.h, r.scales.w);
     },
     [](const Resize& r) {
       at::_upsample_nearest_exact3d_backward_out(
           r.to, r.from, r.size, r.shape, r.scales.d, r.scales.h, r.scales.w);
     }},
    {"upsample_linear1d",
     [](const Resize& r) {
       at::upsample_linear1d_out(r.to, r.from, r.size, r.align, r.scales.w);
     },
     [](const Resize& r) {
       at::upsample_linear1d_backward_out(r.to, r.from, r.size, r.shape,
                                          r.align, r.scales.w);
     },
     Blend::kLinear},
    {"upsample_bilinear2d",
     [](const Resize& r) {
       at::upsample_bilinear2d_out(r.to, r.from, r.size, r.align, r.scales.h,
                                   r.scales.w);
     },
     [](const Resize& r) {
       at::upsample_bilinear2d_backward_out(r.to, r.from, r.size, r.shape,
                                            r.align, r.scales.h, r.scales.w);
     },
     Blend::kLinear},
    {"upsample_trilinear3d",
     [](const Resize& r) {
       at::upsample_trilinear3d_out(r.to, r.from, r.size, r.align, r.scales.d,
                                    r.scales.h, r.scales.w);
     },
     [](const Resize& r) {
       at::upsample_trilinear3d_backward_out(r.to, r.from, r.size, r.shape,
                                             r.align, r.scales.d, r.scales.h,
                                             r.scales.w);
     },
     Blend::kLinear},
    {"upsample_bicubic2d",
     [](const Resize& r) {
       at::upsample_bicubic2d_out(r.to, r.from, r.size, r.align, r.scales.h,
                                  r.scales.w);
     },
     [](const Resize& r) {
       at::upsample_bicubic2d_backward_out(r.to, r.from, r.size, r.shape,
                                           r.align, r.scales.h, r.scales.w);
     },
     Blend::kCubic},
};

void run(Bound& b, Step step) {
  static const Ints none;
  const Attrs& a = b.attrs();
  if (b.out[0].numel() == 0) return;
  step({b.out[0], b.in[0].contiguous(), a.ints("size"),
        a.has("shape") ? a.ints("shape") : none, Scales(a),
        a.flag_or("align_corners", false)});
}

// [I, O]: what one dimension makes of each unit vector, as rows of an image
// of height 1.
at::Tensor matrix_of(const at::Tensor& like, int64_t inputs, int64_t outputs,
                     bool align, Scale scale, bool cubic) {
  at::Tensor units = at::eye(inputs, like.options()).view({inputs, 1, 1, -1});
  at::Tensor rows =
      cubic ? at::upsample_bicubic2d(units, {1, outputs}, align, {}, scale)
            : at::upsample_bilinear2d(units, {1, outputs}, align, {}, scale);
  return rows.view({inputs, outputs});
}

// For CUDA, where libtorch adds the gradients of neighbours in no fixed order.
void backward_in_order(Bound& b, bool cubic) {
  const Attrs& a = b.attrs();
  Scales scales(a);
  const at::Tensor& dy = b.in[0];
  if (b.out[0].numel() == 0) return;
  const Scale all[] = {scales.d, scales.h, scales.w};
  std::vector<at::Tensor> matrices;
  for (int64_t d = 2; d < dy.dim(); ++d) {
    matrices.push_back(matrix_of(dy, b.out[0].size(d), dy.size(d),
                                 a.flag_or("align_corners", false),
                                 all[3 + d - dy.dim()], cubic));
  }
  b.out[0].copy_(separable_backward(dy, matrices));
}

}  // namespace

void add_aten_upsample(KernelTable& table, at::Device device) {
  for (const Method& method : kMethods) {
    std::string op = method.op;
    auto add = [&](const std::string& name, Body body) {
      table.add(name, aten_kernel(device, std::move(body)));
    };
    add(op, [step = method.forward](Bound& b) { run(b, step); });
    if (device.is_cuda() && method.blend != Blend::kNone) {
      bool cubic = method.blend == Blend::kCubic;
      add(op + "_backward", [=](Bound& b) { backward_in_order(b, cubic); });
    } else {
      add(op + "_backward",
          [step = method.backward](Bound& b) { run(b, step); });
    }
  }
}

}  // namespace braid::runtime
