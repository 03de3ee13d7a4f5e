// How one ATen operator of an exported graph becomes nodes of ours: a Rule
// reads the arguments by the names of the operator's schema and gives results.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "braid/io/pt2/autocast.h"
#include "braid/io/pt2/exported.h"
#include "braid/io/pt2/tensors.h"
#include "braid/ops/build/functions.h"

namespace braid::io::pt2 {

// What a name stands for while a graph is read.
using Scalar = Number;
struct Pending {  // a slot that nobody has read yet
  SlotId slot;
};
using Binding = std::variant<TensorId, Scalar, Pending>;

// Names of one graph and what they stand for.
struct Scope {
  const ExportedGraph* graph;
  std::map<std::string, Binding, std::less<>> names;
  std::set<std::string> used = {};  // names that somebody reads
};

enum class Form { kTrain, kEval };

class RuleContext {
 public:
  RuleContext(const ExportedNode& node, Scope& scope, Tensors& tensors,
              Var anchor, Form form)
      : node_(node),
        scope_(scope),
        tensors_(tensors),
        anchor_(anchor),
        form_(form) {}

  const ExportedNode& node() const { return node_; }
  const std::string& name() const { return name_; }
  const std::string& overload() const { return overload_; }
  // "aten.conv2d.default" as name and overload.
  void set_operator(std::string name, std::string overload);
  Graph& graph() { return *anchor_.graph; }
  // Any value of the graph: factories want one.
  Var anchor() const { return anchor_; }

  // Arguments. Those with `_or` may be left out; None counts as left out.
  bool has(std::string_view name) const;
  bool is_tensor(std::string_view name) const;
  bool is_list(std::string_view name) const;
  Var tensor(std::string_view name);
  Var tensor_or_none(std::string_view name);
  std::vector<Var> tensors(std::string_view name);
  std::vector<Var> tensors_or_none(std::string_view name);  // None: empty Vars
  TensorId tensor_id(std::string_view name);
  Scalar scalar(std::string_view name);
  int64_t integer(std::string_view name);
  int64_t integer_or(std::string_view name, int64_t fallback);
  double number(std::string_view name);
  double number_or(std::string_view name, double fallback);
  bool flag_or(std::string_view name, bool fallback);
  Ints ints(std::string_view name);
  Ints ints_or(std::string_view name, const Ints& fallback);
  std::vector<double> numbers(std::string_view name);
  std::string text(std::string_view name);
  std::string text_or(std::string_view name, const std::string& fallback);
  // A dtype; that of the first result when it is left out.
  DType type_or_result(std::string_view name);

  // Whether a switch such as `training` is on in the form that is imported.
  bool trains(std::string_view name, bool fallback);
  bool is_training() const { return form_ == Form::kTrain; }

  // Under torch.no_grad what is written has no gradient.
  void set_gradients(bool on) { has_gradients_ = on; }

  // Under torch.autocast arguments are read, and results given, in these.
  void set_types(const WorkTypes& types) { types_ = types; }

  // What the file says about a tensor.
  const TensorMeta* meta_of(std::string_view argument) const;
  const TensorMeta* meta_of_result(size_t i) const;

  // Results, in the order of the schema.
  void give(Var value);
  void give(const std::vector<Var>& values);
  void give_view(std::string_view of, ViewStep step);
  void give_same(std::string_view of);  // the argument itself
  void give_scalar(Scalar value) { results_.push_back(value); }
  // A tensor argument gets another content.
  void write(std::string_view name, Var value);

  const std::vector<Binding>& results() const { return results_; }
  std::vector<Binding>& results() { return results_; }

  // What a random op draws from; no draw when the rate is 0 or in eval form.
  Draw draw(double p);

  const Argument* find(std::string_view name) const;
  Scalar scalar_of(const Argument& argument) const;
  TensorId id_of(const Argument& argument);
  Var read(const Argument& argument);
  Tensors& all_tensors() { return tensors_; }

 private:
  const Argument& at(std::string_view name) const;

  const ExportedNode& node_;
  Scope& scope_;
  Tensors& tensors_;
  Var anchor_;
  Form form_;
  bool has_gradients_ = true;
  WorkTypes types_ = {};
  std::map<ValueId, Var> casts_;  // of arguments, to the type of the work
  std::string name_, overload_;
  std::vector<Binding> results_;
};

using Rule = void (*)(RuleContext&);
using Rules = std::map<std::string, Rule, std::less<>>;

// Rules by the operator's name without namespace and overload. An operator
// `x_` without a rule is `x` whose result is written to the first argument.
// Operators of other libraries that are known stand there with the library's
// name: "transformers.grouped_mm_fallback".
const Rules& standard_rules();

// Families; each adds its rows.
void add_pointwise_rules(Rules& rules);
void add_activation_rules(Rules& rules);
void add_view_rules(Rules& rules);
void add_arrange_rules(Rules& rules);
void add_index_rules(Rules& rules);
void add_reduce_rules(Rules& rules);
void add_factory_rules(Rules& rules);
void add_product_rules(Rules& rules);
void add_image_rules(Rules& rules);
void add_norm_rules(Rules& rules);
void add_loss_rules(Rules& rules);
void add_layer_rules(Rules& rules);

}  // namespace braid::io::pt2
