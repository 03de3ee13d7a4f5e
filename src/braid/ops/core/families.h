// The families of operators; each adds its rows to the table.
#pragma once

#include "braid/ops/core/op.h"

namespace braid {

void add_pointwise_ops(OpTable& table);
void add_shape_ops(OpTable& table);
void add_reduce_ops(OpTable& table);
void add_scan_ops(OpTable& table);
void add_matmul_ops(OpTable& table);
void add_grouped_ops(OpTable& table);
void add_distance_ops(OpTable& table);
void add_conv_ops(OpTable& table);
void add_norm_ops(OpTable& table);
void add_pool_ops(OpTable& table);
void add_embedding_ops(OpTable& table);
void add_attention_ops(OpTable& table);
void add_dropout_ops(OpTable& table);
void add_loss_ops(OpTable& table);
void add_pointwise_loss_ops(OpTable& table);
void add_activation_ops(OpTable& table);
void add_math_ops(OpTable& table);
void add_compare_ops(OpTable& table);
void add_softmax_ops(OpTable& table);
void add_sort_ops(OpTable& table);
void add_index_ops(OpTable& table);
void add_scatter_ops(OpTable& table);
void add_pad_ops(OpTable& table);
void add_arrange_ops(OpTable& table);
void add_factory_ops(OpTable& table);
void add_upsample_ops(OpTable& table);
void add_rnn_ops(OpTable& table);
void add_foreign_ops(OpTable& table);
void add_fusion_ops(OpTable& table);
void add_slot_ops(OpTable& table);
void add_optimizer_ops(OpTable& table);

}  // namespace braid
