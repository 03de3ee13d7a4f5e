// Import: a .pt2 file of torch.export becomes a forward graph and the contents
// of its slots.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "braid/io/file/file.h"
#include "braid/io/pt2/exported.h"
#include "braid/io/pt2/rule.h"
#include "braid/ops/core/foreign.h"

namespace braid::io::pt2 {

// A loss over an output of the model and a further input.
struct NamedLoss {
  std::string kind;    // see ops/build/named_losses.h
  std::string output;  // a name or a number; empty: the first output
  std::string target;  // the further input
};

struct ImportOptions {
  Form form = Form::kTrain;
  // Types of inputs as they will be given: sizes that the file leaves open.
  std::map<std::string, ValueType> inputs = {};
  std::optional<NamedLoss> loss = {};  // else the first scalar output
  bool needs_loss = true;  // false: there need not be an output "loss"
  // Outputs beside the loss, by name or number.
  std::vector<std::string> outputs = {};
};

// Where the first content of a slot lies.
struct SlotContent {
  SlotId slot;
  Bytes storage;    // the whole storage, in the mapped file
  Strides strides;  // of the slot's elements in it
  int64_t offset = 0;
  std::string part = {};  // of the archive, for errors
  uint32_t checksum = 0;  // CRC-32 of the storage
};

// A file that was read and checked: what imports of any form and sizes are made
// from. Weights stay in the file.
struct ExportedFile {
  std::filesystem::path path;
  std::shared_ptr<const MappedFile> file;
  ExportedProgram program;
};

// Blocks until the program is read. Throws one std::runtime_error with
// everything that is wrong.
ExportedFile open_exported(const std::filesystem::path& path);

struct Imported {
  Graph graph;  // with an output "loss"
  std::vector<SlotContent> contents;
  std::shared_ptr<const MappedFile> file;  // keeps the contents
  // What the file says about how its parameters were drawn.
  std::vector<Initialiser> initialisers = {};
  std::vector<std::string> seedless = {};
};

// Throws one std::runtime_error with everything that cannot be imported.
Imported import_pt2(const OpTable& ops, const ExportedFile& exported,
                    const ForeignOps& foreign,
                    const ImportOptions& options = {});

// What forward returns, in order: the keys of a dict, else the numbers of the
// tensors, by which ImportOptions know them too.
std::vector<std::string> result_names(const ExportedProgram& program);

// Reads the whole storage. Throws std::runtime_error when its checksum is
// wrong; `file` stands for the archive in it.
void check_storage(const SlotContent& content, std::string_view file);

// The row-major bytes of a content.
std::vector<std::byte> packed(const SlotContent& content, const Slot& slot);

}  // namespace braid::io::pt2
