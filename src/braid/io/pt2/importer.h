// The walk over an exported graph that builds ours; see import.h.
#pragma once

#include <set>

#include "braid/io/problems.h"
#include "braid/io/pt2/import.h"

namespace braid::io::pt2 {

class Importer {
 public:
  Importer(const OpTable& ops, const ExportedProgram& program,
           const ForeignOps& foreign, const ImportOptions& options);

  // Slots, inputs, nodes, outputs. Problems are collected, not thrown.
  void run(Problems& problems);

  Graph take_graph() { return std::move(graph_); }
  // Stored tensors by slot.
  const std::map<SlotId, const StoredTensor*>& stored() const {
    return stored_;
  }

 private:
  void add_placeholders();
  bool check_sizes();  // whether those that are given fit
  void check_overlaps(const std::set<SlotId>& written);
  void add_overlap(SlotId a, SlotId b);
  void add_slot(const InputSpec& spec);
  SlotId slot_of(const InputSpec& spec, const StoredTensor& tensor);
  void add_input(const InputSpec& spec);
  ValueType input_type(const std::string& name) const;

  void run_graph(Scope& scope);
  void run_node(const ExportedNode& node, Scope& scope);
  void dispatch(const ExportedNode& node, RuleContext& context);
  void run_operator(RuleContext& context);
  void run_in_place(RuleContext& context);
  void write_result(RuleContext& context, const std::string& argument);
  void run_part(RuleContext& context);
  void run_complex(RuleContext& context);
  void run_foreign(RuleContext& context, const std::string& target);
  void run_scalar(const ExportedNode& node, RuleContext& context);
  void run_region(const ExportedNode& node, RuleContext& context);
  void bind_results(const ExportedNode& node, Scope& scope,
                    RuleContext& context);
  void check_result(const std::string& name, const Scope& scope, Var value);
  void stand_in_for(const std::string& name, Scope& scope);
  bool is_lost(const ExportedNode& node, const Scope& scope);

  void assign_buffers();
  void add_outputs();
  Var output_value(const std::string& name);
  Var named_loss(const NamedLoss& loss);
  Var own_loss();
  Var read(const Argument& argument, Scope& scope);

  const OpTable& ops_;
  const ExportedProgram& program_;
  const ForeignOps& foreign_;
  const ImportOptions& options_;
  Graph graph_;
  Tensors tensors_;
  Scope scope_;
  Var anchor_;
  Problems* problems_ = nullptr;
  int no_gradients_ = 0;  // regions around the present node without them
  std::map<SlotId, const StoredTensor*> stored_;
  std::map<std::string, SlotId> slot_by_path_;
  std::map<std::string, SlotId> slot_by_name_;  // tied ones have several names
  std::set<std::string> lost_;  // results of nodes with problems
};

}  // namespace braid::io::pt2
