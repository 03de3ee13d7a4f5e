#include "braid/ops/families.h"

namespace braid {

OpTable standard_ops() {
  OpTable table;
  add_pointwise_ops(table);
  add_shape_ops(table);
  add_reduce_ops(table);
  add_matmul_ops(table);
  add_conv_ops(table);
  add_norm_ops(table);
  add_pool_ops(table);
  add_embedding_ops(table);
  add_attention_ops(table);
  add_dropout_ops(table);
  add_loss_ops(table);
  add_slot_ops(table);
  add_optimizer_ops(table);
  return table;
}

}  // namespace braid
