// Elementary functions, powers, clamping, interpolation.
#include "braid/runtime/kernels/aten/numbers.h"

namespace braid::runtime {
namespace {

using Add = std::function<void(const char*, Body)>;

void add_unary(KernelTable& table, at::Device device) {
  const UnaryRow rows[] = {
      {"rsqrt", at::rsqrt_out},     {"reciprocal", at::reciprocal_out},
      {"square", at::square_out},   {"abs", at::abs_out},
      {"sign", at::sign_out},       {"sin", at::sin_out},
      {"cos", at::cos_out},         {"tan", at::tan_out},
      {"asin", at::asin_out},       {"acos", at::acos_out},
      {"atan", at::atan_out},       {"sinh", at::sinh_out},
      {"cosh", at::cosh_out},       {"asinh", at::asinh_out},
      {"acosh", at::acosh_out},     {"atanh", at::atanh_out},
      {"log1p", at::log1p_out},     {"log2", at::log2_out},
      {"log10", at::log10_out},     {"expm1", at::expm1_out},
      {"exp2", at::exp2_out},       {"erf", at::erf_out},
      {"erfc", at::erfc_out},       {"lgamma", at::lgamma_out},
      {"digamma", at::digamma_out}, {"floor", at::floor_out},
      {"ceil", at::ceil_out},       {"trunc", at::trunc_out},
      {"frac", at::frac_out},
  };
  for (const UnaryRow& row : rows) add_row(table, device, row);
}

// libtorch throws when an integer is divided by 0. Zeros by zeros give zeros
// here: workspaces are measured on memory that holds nothing else.
template <class Function>
Body division(Function divide) {
  return [divide](Bound& b) {
    try {
      divide(b);
    } catch (const c10::Error&) {
      bool on_cpu = b.out[0].is_cpu();
      if (!on_cpu || b.in[0].any().item<bool>()) throw;
      if (b.in[1].any().item<bool>()) throw;
      b.out[0].zero_();
    }
  };
}

void add_trigamma(const Add& add) {
  add("trigamma", [](Bound& b) { at::polygamma_out(b.out[0], 1, b.in[0]); });
}

void add_divisions(const Add& add) {
  add("fmod",
      division([](Bound& b) { at::fmod_out(b.out[0], b.in[0], b.in[1]); }));
  add("remainder", division([](Bound& b) {
        at::remainder_out(b.out[0], b.in[0], b.in[1]);
      }));
  add("div_mode", division([](Bound& b) {
        at::div_out(b.out[0], b.in[0], b.in[1], b.attrs().text("rounding"));
      }));
  add("div_mode_scalar", [](Bound& b) {
    at::div_out(b.out[0], b.in[0], wrapped(b, "value"),
                b.attrs().text("rounding"));
  });
}

void add_binary(KernelTable& table, at::Device device) {
  const BinaryRow rows[] = {
      {"pow", at::pow_out},         {"atan2", at::atan2_out},
      {"hypot", at::hypot_out},     {"maximum", at::maximum_out},
      {"minimum", at::minimum_out}, {"xlogy", at::xlogy_out},
  };
  for (const BinaryRow& row : rows) add_row(table, device, row);
  add_scalar_row(table, device, {"fmod", at::fmod_out});
  add_scalar_row(table, device, {"remainder", at::remainder_out});
}

void round(Bound& b) {
  int64_t decimals = b.attrs().integer_or("decimals", 0);
  if (decimals == 0) {
    at::round_out(b.out[0], b.in[0]);
  } else {
    at::round_out(b.out[0], b.in[0], decimals);
  }
}

std::optional<double> optional_double(const Bound& b, const char* name) {
  return b.attrs().has(name) ? std::optional(b.attrs().number(name))
                             : std::nullopt;
}

void nan_to_num(Bound& b) {
  at::nan_to_num_out(b.out[0], b.in[0], optional_double(b, "nan"),
                     optional_double(b, "posinf"),
                     optional_double(b, "neginf"));
}

void add_mixed(const Add& add) {
  add("round", round);
  add("nan_to_num", nan_to_num);
  add("pow_scalar",
      [](Bound& b) { at::pow_out(b.out[0], b.in[0], number(b, "value")); });
  add("clamp", [](Bound& b) {
    at::clamp_out(b.out[0], b.in[0], optional_number(b, "min"),
                  optional_number(b, "max"));
  });
  add("clamp_tensor", [](Bound& b) {
    at::clamp_out(b.out[0], b.in[0], b.optional(1), b.optional(2));
  });
}

void add_sums(const Add& add) {
  add("lerp",
      [](Bound& b) { at::lerp_out(b.out[0], b.in[0], b.in[1], b.in[2]); });
  add("lerp_scalar", [](Bound& b) {
    at::lerp_out(b.out[0], b.in[0], b.in[1], number(b, "weight"));
  });
  add("addcmul", [](Bound& b) {
    at::addcmul_out(b.out[0], b.in[0], b.in[1], b.in[2], number(b, "value"));
  });
  add("addcdiv", [](Bound& b) {
    at::addcdiv_out(b.out[0], b.in[0], b.in[1], b.in[2], number(b, "value"));
  });
}

}  // namespace

void add_aten_math(KernelTable& table, at::Device device) {
  add_unary(table, device);
  add_binary(table, device);
  Add add = [&](const char* op, Body body) {
    table.add(op, aten_kernel(device, std::move(body)));
  };
  add_divisions(add);
  add_trigamma(add);
  add_mixed(add);
  add_sums(add);
}

}  // namespace braid::runtime
