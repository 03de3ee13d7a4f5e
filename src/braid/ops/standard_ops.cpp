#include "braid/ops/families.h"

namespace braid {

OpTable standard_ops() {
  OpTable table;
  add_pointwise_ops(table);
  add_shape_ops(table);
  add_reduce_ops(table);
  add_scan_ops(table);
  add_matmul_ops(table);
  add_distance_ops(table);
  add_conv_ops(table);
  add_norm_ops(table);
  add_pool_ops(table);
  add_embedding_ops(table);
  add_attention_ops(table);
  add_dropout_ops(table);
  add_loss_ops(table);
  add_pointwise_loss_ops(table);
  add_activation_ops(table);
  add_math_ops(table);
  add_compare_ops(table);
  add_softmax_ops(table);
  add_sort_ops(table);
  add_index_ops(table);
  add_scatter_ops(table);
  add_pad_ops(table);
  add_arrange_ops(table);
  add_factory_ops(table);
  add_upsample_ops(table);
  add_rnn_ops(table);
  add_slot_ops(table);
  add_optimizer_ops(table);
  return table;
}

}  // namespace braid
