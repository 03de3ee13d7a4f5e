// The families of operators; each adds its rows to the table.
#pragma once

#include "braid/ops/op.h"

namespace braid {

void add_pointwise_ops(OpTable& table);
void add_shape_ops(OpTable& table);
void add_reduce_ops(OpTable& table);
void add_matmul_ops(OpTable& table);
void add_conv_ops(OpTable& table);
void add_norm_ops(OpTable& table);
void add_pool_ops(OpTable& table);
void add_embedding_ops(OpTable& table);
void add_attention_ops(OpTable& table);
void add_dropout_ops(OpTable& table);
void add_loss_ops(OpTable& table);
void add_slot_ops(OpTable& table);
void add_optimizer_ops(OpTable& table);

}  // namespace braid
