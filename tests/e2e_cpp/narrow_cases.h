// Small models for tests of steps in narrow types, and data that fit them.
#pragma once

#include "gpu_runs.h"

namespace braid::gpu_runs {

struct NarrowCase {
  std::string model;
  models::Sizes sizes;
};

inline const NarrowCase kNarrowCases[] = {
    {"lenet", {{"batch", 16}}},
    {"resblock", {{"batch", 16}, {"channels", 8}, {"side", 8}}},
    {"resnet18",
     {{"batch", 16},
      {"width", 8},
      {"side", 16},
      {"classes", 4},
      {"small_stem", 1}}},
    {"mobilenet_v3_large",
     {{"batch", 16},
      {"width", 0.25},
      {"side", 64},
      {"classes", 4},
      {"dropout", 0}}},
    {"dcgan_discriminator", {{"batch", 16}, {"width", 8}, {"side", 32}}},
    {"transformer", {{"batch", 8}}},
    {"gpt2",
     {{"batch", 4},
      {"length", 8},
      {"positions", 8},
      {"vocab", 72},
      {"width", 16},
      {"heads", 2},
      {"layers", 1},
      {"dropout", 0}}},
    {"vit",
     {{"batch", 4},
      {"side", 16},
      {"patch", 8},
      {"width", 16},
      {"heads", 2},
      {"layers", 1},
      {"feed", 32},
      {"classes", 4},
      {"dropout", 0}}},
};

// Floats that say real or not are 1 or 0.
inline void make_answers(const Value& value, std::vector<std::byte>& bytes) {
  auto answer = [&]<class T>(T) {
    auto* answers = reinterpret_cast<T*>(bytes.data());
    for (size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
      answers[i] = answers[i] > 0 ? T(1) : T(0);
    }
  };
  if (value.name != "y") return;
  if (value.type.dtype == DType::kFloat32) answer(float{});
  if (value.type.dtype == DType::kFloat64) answer(double{});
}

}  // namespace braid::gpu_runs
