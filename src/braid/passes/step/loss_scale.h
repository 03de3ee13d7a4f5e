// Loss scaling: gradients are made of a larger loss and divided again before
// anything else sees them, so that small ones survive in a narrow type. Each
// member has a scale of its own, and all of it is in the graph:
//
//   scale = hyper/loss_scale * counter/loss_scale
//
// The second factor begins as 1. With a growth_interval it grows after so many
// steps whose gradients were finite and shrinks when they were not, as that of
// torch.amp.GradScaler does. A member with gradients that are not finite skips
// its step.
#pragma once

#include <string>

#include "braid/graph/var.h"
#include "braid/passes/step/optimizer.h"

namespace braid::passes {

inline constexpr double kUsualLossScale = 65536;

// "loss_scale", "growth_factor", "backoff_factor", "growth_interval".
bool is_loss_scale_option(const std::string& name);

// Turns scaling on, with the defaults of torch.amp.GradScaler but a scale that
// stays as it is, and sets one of the values. Members skip their steps.
void set_loss_scale_option(Optimizer& optimizer, const std::string& name,
                           double value);

// What an array has where only some members scale: the others by 1.
void allow_loss_scale(Optimizer& optimizer);

// `forward` is a forward graph of one model. Its loss stays what it was, and
// gradients of it are scaled.
Graph scale_loss(Graph forward, const Optimizer& optimizer);

// The scale of this step, one number per member, from slots of scale_loss.
Var loss_scale(Graph& graph, const std::string& scope);

// Appends what becomes of the scale. `finite` is 1 where a member's gradients
// were, else 0; `hyper` gives the values of the optimizer by name; where
// `active` is 0, a member pauses (see member_mask.h).
void advance_loss_scale(Graph& graph, const std::string& scope, Var finite,
                        const std::map<std::string, Var>& hyper,
                        Var active = {});

}  // namespace braid::passes
