#include "braid/io/pt2/import.h"

#include <cstring>

#include "braid/base/error.h"
#include "braid/io/format/crc32.h"
#include "braid/io/pt2/importer.h"
#include "braid/io/pt2/reader.h"
#include "braid/passes/rewrite/dead_code.h"

namespace braid::io::pt2 {

const Rules& standard_rules() {
  static const Rules table = [] {
    Rules rules;
    add_pointwise_rules(rules);
    add_activation_rules(rules);
    add_view_rules(rules);
    add_arrange_rules(rules);
    add_index_rules(rules);
    add_reduce_rules(rules);
    add_factory_rules(rules);
    add_product_rules(rules);
    add_image_rules(rules);
    add_norm_rules(rules);
    add_loss_rules(rules);
    add_layer_rules(rules);
    return rules;
  }();
  return table;
}

ExportedFile open_exported(const std::filesystem::path& path) {
  auto file = std::make_shared<const MappedFile>(path);
  ExportedProgram program = read_exported(file->bytes(), path.string());
  file->check();
  return {path, std::move(file), std::move(program)};
}

Imported import_pt2(const OpTable& ops, const ExportedFile& exported,
                    const ForeignOps& foreign, const ImportOptions& options) {
  const std::shared_ptr<const MappedFile>& file = exported.file;
  Problems problems;
  Importer importer(ops, exported.program, foreign, options);
  importer.run(problems);
  problems.throw_if_any("import", exported.path.string());
  std::vector<SlotContent> contents;
  for (auto [slot, tensor] : importer.stored()) {
    Strides strides;
    for (const Size& s : tensor->meta.strides) strides.push_back(s.value);
    contents.push_back(
        {slot, file->bytes().subspan(tensor->begin, tensor->bytes), strides,
         tensor->meta.offset.value, tensor->path, tensor->checksum});
  }
  Graph graph = importer.take_graph();
  passes::remove_dead_code(ops, graph);
  file->check();
  return {std::move(graph), std::move(contents), file,
          exported.program.initialisers, exported.program.seedless};
}

void check_storage(const SlotContent& content, std::string_view file) {
  if (crc32(content.storage) == content.checksum) return;
  fail_world(
      "[pt2] {}: {}: the checksum is wrong: the weights are damaged\n"
      "HINT: copy or export the file again",
      file, content.part);
}

std::vector<std::byte> packed(const SlotContent& content, const Slot& slot) {
  auto item = static_cast<size_t>(item_bytes(slot.dtype));
  auto count = static_cast<size_t>(num_elements(slot.shape));
  std::vector<std::byte> bytes(count * item);
  const std::byte* from =
      content.storage.data() + static_cast<size_t>(content.offset) * item;
  if (is_contiguous(slot.shape, content.strides)) {
    if (count > 0) std::memcpy(bytes.data(), from, bytes.size());
    return bytes;
  }
  Shape at(slot.shape.size(), 0);
  for (size_t i = 0; i < count; ++i) {
    int64_t place = 0;
    for (size_t d = 0; d < at.size(); ++d) place += at[d] * content.strides[d];
    std::memcpy(bytes.data() + i * item,
                from + static_cast<size_t>(place) * item, item);
    for (size_t d = at.size(); d-- > 0;) {
      if (++at[d] < slot.shape[d]) break;
      at[d] = 0;
    }
  }
  return bytes;
}

}  // namespace braid::io::pt2
