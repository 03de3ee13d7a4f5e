// MODEL on the command line: a built-in name with sizes, a graph file, or a
// .pt2 file of torch.export.
#pragma once

#include <optional>
#include <string>

#include "braid/cli/exported_model.h"
#include "braid/io/safetensors.h"
#include "braid/ops/op.h"

namespace braid::cli {

// What the forward graph is made for, where the name leaves it open.
struct ModelHints {
  std::optional<DType> dtype = {};              // of --dtype
  const io::SafetensorsFile* inputs = nullptr;  // tell sizes and dtype
  const io::SafetensorsFile* init = nullptr;    // tells the dtype, too
  int64_t micro_batches = 1;                    // the batch is cut into these
  // Of .pt2 files; graphs and built-in models have the train form.
  io::pt2::Form form = io::pt2::Form::kTrain;
  std::optional<io::pt2::NamedLoss> loss = {};
};

struct LoadedModel {
  Graph graph;
  // Null: slots begin by their initialisers.
  std::shared_ptr<const FirstContents> contents = {};
};

// The forward graph, with one number as its output "loss". Sizes written in
// the name come before those that the inputs tell.
LoadedModel load_model(const OpTable& ops, const std::string& text,
                       const ModelHints& hints);

// Models, schedules and initialisers, one per line with their values, and the
// names of optimizers.
std::string models_in_words();
std::string optimizers_in_words();
std::string schedules_in_words();
std::string initialisers_in_words();

// Inputs in words, for hints: "x[batch, features] float, y[batch] i64".
std::string inputs_in_words(const std::string& text, const Graph& forward);

}  // namespace braid::cli
