// Training runs on any device, and how two of them are compared.
//
// Lines that begin with "record:" are collected by bench/gpu_step.sh.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>

#include "braid/base/rng.h"
#include "braid/models/models.h"
#include "braid/runtime/cpu_backend.h"
#include "braid/runtime/kernels/cuda_backend.h"
#include "braid/train/trainer.h"
#include "kernels.h"
#include "op_table.h"

namespace braid::gpu_runs {

using runtime::Backend;
using train::Trainer;
using train::TrainerOptions;

struct Setting {
  std::string model;
  DType dtype = DType::kFloat32;
  int64_t members = 0;
  std::string optimizer = "adamw";
  models::Sizes sizes = {{"dropout", 0.1}};
};

inline std::string text(const Setting& s) {
  return fmt::format("{:<11} B={} {} {:<8}", s.model, s.members,
                     dtype_name(s.dtype), s.optimizer);
}

// Between them they use every input of the update kernels.
inline passes::Optimizer optimizer(const Setting& s) {
  passes::Optimizer o = passes::make_optimizer(s.optimizer);
  if (s.optimizer == "sgd") {
    set_option(o, "lr", 0.05);
    set_option(o, "momentum", 0.9);
    set_option(o, "nesterov", 1);
    set_option(o, "weight_decay", 0.01);
    set_option(o, "clip_norm", 1);
    set_option(o, "skip_nonfinite", 1);
  } else {
    // Where a gradient is zero but for rounding, a small eps would turn the
    // rounding into a whole step.
    set_option(o, "eps", 1e-4);
  }
  return o;
}

inline TrainerOptions options(const Setting& s) {
  return {.optimizer = optimizer(s), .members = s.members};
}

// Fixed random content; every 11th target is the one that does not count.
template <class T>
void fill(std::vector<std::byte>& bytes, const Value& value, int64_t seed) {
  ElementRandom random(static_cast<uint64_t>(seed), value.name);
  auto* data = reinterpret_cast<T*>(bytes.data());
  bool is_target = value.name == "y" || value.name == "targets";
  int64_t classes = value.name == "y" ? 4 : 64;
  for (size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    if constexpr (std::is_integral_v<T>) {
      data[i] = is_target && i % 11 == 10
                    ? -100
                    : static_cast<T>(random.uniform(i) *
                                     static_cast<double>(classes));
    } else {
      data[i] = static_cast<T>(random.normal(i));
    }
  }
}

inline std::vector<std::byte> input_content(const Value& value, int64_t seed) {
  std::vector<std::byte> bytes(static_cast<size_t>(
      num_elements(value.type.shape) * item_bytes(value.type.dtype)));
  switch (value.type.dtype) {
    case DType::kFloat32: fill<float>(bytes, value, seed); break;
    case DType::kFloat64: fill<double>(bytes, value, seed); break;
    default: fill<int64_t>(bytes, value, seed);
  }
  return bytes;
}

inline Graph forward(const Setting& s) {
  return models::build_model(table(), s.model, s.dtype, s.sizes);
}

// A trainer with its data.
class Training {
 public:
  static constexpr int64_t kCycle = 4;  // steps with data of their own

  Training(const Setting& setting, Backend& backend)
      : Training(setting, backend, options(setting)) {}
  Training(const Setting& setting, Backend& backend, TrainerOptions how)
      : backend_(backend),
        trainer_(table(), forward(setting), backend, std::move(how)) {
    std::vector<int64_t> seeds{7, 8, 9};
    seeds.resize(static_cast<size_t>(std::max<int64_t>(setting.members, 1)));
    trainer_.initialise(seeds);
  }

  // `change` may edit an input when it is made.
  using Change = std::function<void(const Value&, std::vector<std::byte>&)>;
  void run(int64_t steps, const Change& change = {}) {
    for (int64_t i = 0; i < steps; ++i, ++step_) {
      trainer_.step([&](int64_t micro, ValueId id) {
        int64_t seed = step_ % kCycle * 16 + micro;
        auto [at, fresh] = inputs_.try_emplace({seed, id});
        const Value& value = trainer_.graph().value(id);
        if (fresh) at->second = input_content(value, seed);
        if (fresh && change) change(value, at->second);
        return at->second.data();
      });
    }
    backend_.synchronize();
  }

  Trainer& trainer() { return trainer_; }
  runtime::State& state() { return trainer_.state(); }

 private:
  Backend& backend_;
  Trainer trainer_;
  std::map<std::pair<int64_t, ValueId>, std::vector<std::byte>> inputs_;
  int64_t step_ = 0;
};

inline std::vector<double> numbers(const std::vector<std::byte>& bytes,
                                   DType dtype) {
  std::vector<double> values;
  auto add = [&]<class T>(T) {
    auto* data = reinterpret_cast<const T*>(bytes.data());
    for (size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
      values.push_back(static_cast<double>(data[i]));
    }
  };
  switch (dtype) {
    case DType::kFloat32: add(float{}); break;
    case DType::kFloat64: add(double{}); break;
    default: add(int64_t{});
  }
  return values;
}

// The largest max|a - b| / max|b| of a slot, and whose it is.
struct Gap {
  double size = 0;
  std::string slot = "-";
};

inline Gap gap(Training& a, Training& b) {
  Gap worst;
  for (size_t i = 0; i < a.state().slots().size(); ++i) {
    const Slot& slot = a.state().slots()[i];
    SlotId id = static_cast<SlotId>(i), other = b.state().find(slot.name);
    auto x = numbers(a.state().read(id), slot.dtype);
    auto y = numbers(b.state().read(other), slot.dtype);
    double error = 0, scale = 1e-30;
    for (size_t k = 0; k < x.size(); ++k) {
      double d = std::abs(x[k] - y[k]);
      error = std::isnan(d) ? INFINITY : std::max(error, d);
      scale = std::max(scale, std::abs(y[k]));
    }
    if (error / scale > worst.size) worst = {error / scale, slot.name};
  }
  return worst;
}

// Names of the slots whose bytes differ.
inline std::vector<std::string> differing(Training& a, Training& b) {
  std::vector<std::string> names;
  for (size_t i = 0; i < a.state().slots().size(); ++i) {
    const std::string& name = a.state().slots()[i].name;
    if (a.state().read(static_cast<SlotId>(i)) !=
        b.state().read(b.state().find(name))) {
      names.push_back(name);
    }
  }
  return names;
}

inline void record(const std::string& line) {
  fmt::print("record: {}\n", line);
  std::fflush(stdout);
}

class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!runtime::has_cuda()) GTEST_SKIP() << "no CUDA device here";
    gpu_ = runtime::make_cuda_backend(kernels(), {});
  }
  Backend& gpu() { return *gpu_; }

 private:
  std::unique_ptr<Backend> gpu_;
};

}  // namespace braid::gpu_runs
