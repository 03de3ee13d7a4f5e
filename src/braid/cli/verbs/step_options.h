// Options of `braid step`, as they were written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "braid/io/pt2/import.h"

namespace braid::cli {

struct StepOptions {
  std::string model;   // built-in name with sizes, or a graph file
  std::string inputs;  // safetensors file
  std::string form = "train";
  std::string loss;                   // of a .pt2 file without one
  std::string output;                 // of the model, that the loss is taken of
  std::string target;                 // the loss's further input
  std::string optimizer;              // kind
  std::vector<std::string> set = {};  // NAME=VALUE
  std::string schedule;               // of the learning rate; empty: none
  std::vector<std::string> group = {};         // PATTERN: NAME=VALUE, ...
  std::vector<std::string> freeze = {};        // patterns
  std::vector<std::string> init_weights = {};  // PATTERN=INITIALISER
  std::string members;                         // YAML file; empty: one model
  std::string plan;               // YAML file; empty: chosen to fit the limit
  std::string init;               // safetensors file; empty: by the seed
  std::string dtype;              // f32, f64; empty: as the inputs
  std::string precision = "f32";  // of the work: f32, bf16
  std::string device = "cpu";
  std::string memory_limit;  // bytes; empty: none
  std::string out;
  std::optional<int64_t> steps;
  int64_t seed = 0;
  int64_t threads = 0;           // 0: as many as the machine has
  int64_t accumulate = 1;        // micro-batches
  int64_t checkpoint_every = 0;  // 0: no checkpoints

  std::optional<io::pt2::NamedLoss> named_loss() const;

  // Throws on what is missing or out of range.
  void validate() const;
};

}  // namespace braid::cli
