// Lowerings: the ways to compute a convolution of B members, and a guess of
// what each costs. Which one is fastest depends on sizes far more than on
// anything else, so the choice is made node by node.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "braid/ops/core/op.h"

namespace braid {

std::string_view lowering_name(Lowering lowering);
std::optional<Lowering> find_lowering(std::string_view name);
std::vector<Lowering> all_lowerings();

// Whether the result is [B, N, C, S]; else it is [N, B * C, S].
bool leads(Lowering lowering);

// Lowerings that fit the node of one member; none when it is no convolution.
std::vector<Lowering> lowerings_of(const NodeView& one);

// What tells convolutions apart: op, type, shapes, attributes.
std::string convolution_text(const NodeView& one);

// Seconds of forward and both gradients of B members on `threads` cores, by a
// formula: for comparing lowerings of one node, not for predicting times.
double lowering_seconds(const NodeView& one, int64_t members, Lowering lowering,
                        int threads);

}  // namespace braid
