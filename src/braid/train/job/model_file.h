// A model by its text: a built-in name with sizes, a graph file, or a .pt2
// file of torch.export.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "braid/io/pt2/import.h"
#include "braid/runtime/machine.h"
#include "braid/train/job/exported_model.h"

namespace braid::train {

using io::pt2::Form;

// What the forward graph is made for, where the text leaves it open.
struct ModelHints {
  std::optional<DType> dtype = {};  // of built-in models; else as the inputs
  std::map<std::string, ValueType> inputs = {};  // types of one micro-batch
  // Inputs that hold classes or tokens below a number.
  std::map<std::string, int64_t> classes = {};
  Form form = Form::kTrain;
  std::optional<io::pt2::NamedLoss> loss = {};  // of .pt2 files
  bool needs_loss = true;  // false: a .pt2 file need not have one
  // Outputs that are kept beside the loss. Those of a .pt2 file may be
  // numbers; an unknown one is an error.
  std::vector<std::string> outputs = {};
};

struct LoadedModel {
  Graph graph;
  // Null: slots begin by their initialisers.
  std::shared_ptr<const FirstContents> contents = {};
};

// All of these take a machine too, for a model that is loaded once.
//
// The forward graph, with one number as its output "loss" first. Sizes written
// in the text come before those that the inputs tell.
LoadedModel load_model(const ModelFiles& files, const std::string& text,
                       const ModelHints& hints);

// The same with every output of a built-in model or a graph file.
LoadedModel load_with_outputs(const ModelFiles& files, const std::string& text,
                              const ModelHints& hints);

// The same of any model without its loss, and without what only the loss reads:
// inputs that are needed for nothing else are gone. Outputs of a .pt2 file have
// the keys of its dict, or numbers. Throws when there is none.
LoadedModel load_outputs(const ModelFiles& files, const std::string& text,
                         ModelHints hints);

// The model as a network: an output of that name (empty: the first that is
// not the loss) is its only one, "output", and inputs that it does not need
// are gone.
LoadedModel load_network(const ModelFiles& files, const std::string& text,
                         ModelHints hints, const std::string& output);

// The same graph without inputs that no node reads.
Graph without_unused_inputs(const Graph& graph);

// The text of a built-in model with the sizes that classes or tokens tell,
// where it leaves them open; `classes` are by input, as in ModelHints. Others
// stay.
std::string with_classes(const std::string& text,
                         const std::map<std::string, int64_t>& classes);

// Names of the model's inputs, in order.
std::vector<std::string> input_names(const ModelFiles& files,
                                     const std::string& text);

// Inputs in words, for hints: "x[batch, features] float, y[batch] i64".
std::string inputs_in_words(const std::string& text, const Graph& forward);

// Whether the text names a file rather than a built-in model.
bool is_model_file(const std::string& text);

}  // namespace braid::train
