#include "braid/ops/core/families.h"

namespace braid {
namespace {

struct Family {
  const char* title;
  void (*add)(OpTable&);
};

constexpr Family kFamilies[] = {
    {"Arithmetic", add_pointwise_ops},
    {"Mathematics", add_math_ops},
    {"Comparisons and logic", add_compare_ops},
    {"Activations", add_activation_ops},
    {"Shapes", add_shape_ops},
    {"Rearranging", add_arrange_ops},
    {"Padding", add_pad_ops},
    {"Indexing", add_index_ops},
    {"Scattering", add_scatter_ops},
    {"Making values", add_factory_ops},
    {"Reductions", add_reduce_ops},
    {"Scans", add_scan_ops},
    {"Sorting", add_sort_ops},
    {"Softmax", add_softmax_ops},
    {"Products", add_matmul_ops},
    {"Grouped products", add_grouped_ops},
    {"Distances", add_distance_ops},
    {"Convolutions", add_conv_ops},
    {"Pools", add_pool_ops},
    {"Upsampling", add_upsample_ops},
    {"Norms", add_norm_ops},
    {"Embeddings", add_embedding_ops},
    {"Attention", add_attention_ops},
    {"Recurrent cells", add_rnn_ops},
    {"Dropout", add_dropout_ops},
    {"Losses over classes", add_loss_ops},
    {"Losses by element", add_pointwise_loss_ops},
    {"Operators of ATen", add_foreign_ops},
    {"Fused", add_fusion_ops},
    {"Slots", add_slot_ops},
    {"Updates", add_optimizer_ops},
};

}  // namespace

OpTable standard_ops() {
  OpTable table;
  for (const Family& family : kFamilies) {
    table.begin_family(family.title);
    family.add(table);
  }
  return table;
}

}  // namespace braid
