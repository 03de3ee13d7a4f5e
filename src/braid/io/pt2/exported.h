// What a .pt2 file says: the graph that torch.export wrote, its signature and
// where its tensors lie, as plain data. Nothing is interpreted yet.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "braid/base/dtype.h"
#include "braid/base/shape.h"
#include "braid/graph/slot.h"

namespace braid::io::pt2 {

struct ExportedGraph;

// A size: a number, or a symbol with the value it had at export.
struct Size {
  int64_t value = 0;        // of a symbol: its hint, -1 when there is none
  std::string symbol = {};  // an expression such as "s0" or "2*s0"; empty: none
};

// An argument or result of a node. Lists of tensors and numbers are lists of
// the single kinds.
struct Argument {
  enum class Kind {
    kMissing,  // None
    kTensor,   // `text` is the name of a value
    kSymbol,   // `text` is the name of a scalar value: sym_int, _bool, _float
    kBool,
    kInteger,
    kNumber,
    kText,
    kType,    // `integer` is the exporter's number of a dtype
    kLayout,  // the same of a layout, a memory format
    kMemoryFormat,
    kDevice,   // `text`
    kComplex,  // number + imaginary i
    kGraph,
    kList,
    kOther,  // custom objects and the like: `text` is the kind's name
  };
  Kind kind = Kind::kMissing;
  std::string text = {};
  int64_t integer = 0;  // of bools too
  double number = 0, imaginary = 0;
  std::vector<Argument> list = {};
  std::shared_ptr<const ExportedGraph> graph = {};
};

struct NamedArgument {
  std::string name;  // of the schema; empty for higher-order operators
  Argument value;
  bool by_keyword = false;
};

struct ExportedNode {
  std::string name;
  std::string target;  // "torch.ops.aten.conv2d.default", "_operator.mul"
  std::vector<NamedArgument> inputs;
  std::vector<Argument> outputs;  // kTensor, kSymbol, lists of them
  std::string layer;              // module path, such as "encoder.0.fc"
  std::string
      source;  // "File "net.py", line 9, in forward: h = ..."; may be ""
};

struct TensorMeta {
  int64_t type = 0;  // the exporter's number of a dtype
  std::vector<Size> sizes;
  std::vector<Size> strides;
  Size offset;
  bool requires_grad = false;
  bool is_strided = true;  // its layout
};

struct ExportedGraph {
  std::vector<Argument> inputs;
  std::vector<Argument> outputs;
  std::vector<ExportedNode> nodes;
  std::map<std::string, TensorMeta> tensors;  // by name of value
  std::map<std::string, Size> symbols;        // sym_int values
};

// What an input or output of the program is.
struct InputSpec {
  enum class Kind { kUser, kParameter, kBuffer, kTensorConstant, kOther };
  Kind kind = Kind::kUser;
  Argument argument;            // of a user input: possibly a constant
  std::string name = {};        // in the state dict, or of the constant
  bool is_persistent = true;    // buffers
  std::string other_kind = {};  // tokens, custom objects
};

struct OutputSpec {
  enum class Kind { kUser, kLoss, kBufferMutation, kInputMutation, kOther };
  Kind kind = Kind::kUser;
  Argument argument;
  // Of the mutated buffer or input; of a result in a dict: its key.
  std::string name = {};
  std::string other_kind = {};
};

// A tensor whose bytes lie in the file, row-major or strided.
struct StoredTensor {
  std::string name;  // in the state dict, or of the constant
  std::string path;  // of the bytes inside the archive: equal for tied tensors
  TensorMeta meta;
  bool is_parameter = false;
  uint64_t begin = 0, bytes = 0;  // of the whole storage, in the file
  uint32_t checksum = 0;          // CRC-32 of these bytes
};

// How the module that was exported draws a parameter, where the exporter has
// recorded it.
struct Initialiser {
  std::string parameter;  // in the state dict
  Init init;
  std::optional<int64_t> zero_row = {};  // of an embedding with padding
};

struct ExportedProgram {
  int64_t schema_major = 0, schema_minor = 0;
  std::string torch_version;
  ExportedGraph graph;
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
  std::vector<std::string> user_inputs;  // argument names of forward, in order
  std::map<std::string, std::pair<int64_t, int64_t>> ranges;  // of symbols
  std::vector<StoredTensor> weights;
  std::vector<StoredTensor> constants;
  std::vector<Initialiser> initialisers;
  std::vector<std::string> seedless;  // parameters that nothing random is in
};

// Sizes as numbers; symbols as the value they had at export.
Shape sizes_of(const TensorMeta& meta);

// The exporter's number of a dtype as ours; nothing for types that Braid does
// not have.
std::optional<DType> exported_dtype(int64_t number);

}  // namespace braid::io::pt2
