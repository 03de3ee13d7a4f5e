// Kinds of initial values: one row each, for the graph text, the command line
// and the docs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "braid/graph/slot.h"

namespace braid {

struct InitValue {
  std::string name;
  double value = 0;     // the default
  double Init::*place;  // where it lies
};

struct InitKind {
  Init::Kind kind;
  std::string name;
  std::vector<InitValue> values;
  std::string summary;
};

const std::vector<InitKind>& init_kinds();
const InitKind& init_kind(Init::Kind kind);

// "xavier_uniform(gain=1.4)"; values that are not given have defaults. An
// unknown name is an error that names the nearest known one.
Init parse_init(std::string_view text);
std::string init_text(const Init& init);

// "normal(mean=0,std=1)": a kind with its defaults.
std::string signature_text(const InitKind& kind);

// Why a tensor of this shape cannot begin so; empty when it can.
std::string init_problem(const Init& init, const Shape& shape);

// Elements that one output reads, and outputs that one input reaches, as torch
// counts them: shape is [outputs, inputs, ...kernel].
struct Fans {
  double in = 0;
  double out = 0;
};
Fans fans_of(const Shape& shape);

// Rules that depend on fans as plain uniform(low, high) or normal(mean, std);
// others as they are.
Init resolved(const Init& init, const Shape& shape);

}  // namespace braid
