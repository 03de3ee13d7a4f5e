// Losses by name, with values: "cross_entropy(label_smoothing=0.1)". The
// table is what --loss, job files and docs know.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "braid/base/call_text.h"
#include "braid/graph/var.h"

namespace braid {

// Values of one loss, defaults included.
class LossValues {
 public:
  explicit LossValues(std::vector<CallValue> values)
      : values_(std::move(values)) {}
  double operator()(std::string_view name) const;

 private:
  std::vector<CallValue> values_;
};

struct LossKind {
  std::string name;
  std::vector<CallValue> values;  // with their defaults
  std::string summary;
  // What the output y is compared with: classes (i64), or numbers of y's shape.
  bool takes_classes = false;
  Var (*build)(Var y, Var target, const LossValues& values);
};

const std::vector<LossKind>& loss_kinds();

// A kind with its values. Throws when the text cannot be read, or the name or
// a value is unknown.
struct NamedLossCall {
  const LossKind* kind = nullptr;
  LossValues values;

  // One number. Targets that are floats get y's type; a last dimension of one
  // that only one of both has counts for nothing where numbers are compared.
  Var operator()(Var y, Var target) const;
};
NamedLossCall parse_loss(std::string_view text);

// "cross_entropy(label_smoothing=0,ignore_index=-100)".
std::string signature_text(const LossKind& kind);

}  // namespace braid
