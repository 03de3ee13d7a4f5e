"""Mixtures of experts of transformers with their default experts, small and random.

Their products of groups (torch.nn.functional.grouped_mm) know no float64; the
fallback that transformers has for such cases does, and is the same otherwise.
"""

import torch
from torch import nn
from torch.nn import functional as F

from . import libraries
from .case import table
from .hf_text import IDS, LLAMA, NextToken, OwnLoss, build

CASES, case = table()
EXPERTS = dict(num_local_experts=4, num_experts_per_tok=2)
MIXTRAL = dict(LLAMA, **EXPERTS, sliding_window=None)
QWEN = dict(LLAMA, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=24)
DEEPSEEK = dict(
    LLAMA, num_key_value_heads=4, n_routed_experts=8, num_experts_per_tok=2, n_group=4,
    topk_group=2, first_k_dense_replace=1, moe_intermediate_size=24, kv_lora_rank=8,
    q_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8,
)  # fmt: skip


def allow_float64():
    """Sends products of float64, which ATen refuses, to the fallback."""
    libraries.transformers()
    from transformers.integrations import moe

    if hasattr(moe, "knows_float64"):
        return
    original = moe._can_use_grouped_mm

    def can_use(input, weight, offs):
        return weight.dtype != torch.float64 and original(input, weight, offs)

    moe._can_use_grouped_mm, moe.knows_float64 = can_use, True


def experts(name, config_name, wrap=NextToken, **values):
    """A model with the experts that it has by default, which must be grouped ones."""
    allow_float64()
    module = build(name, config_name, wrap, **values)
    assert module.model.config._experts_implementation == "grouped_mm"
    return module


class Mixture(nn.Module):
    """Experts of Mixtral behind a router that computes in its own type.

    Models of transformers route and normalise in float32; here float64 stays.
    """

    def __init__(self):
        super().__init__()
        transformers = libraries.transformers()
        config = transformers.MixtralConfig(**MIXTRAL)
        config._experts_implementation = "grouped_mm"
        self.router = nn.Linear(32, 4)
        self.experts = transformers.models.mixtral.modeling_mixtral.MixtralExperts(config)
        self.head = nn.Linear(32, 5)
        for parameter in self.experts.parameters():
            nn.init.normal_(parameter, std=0.2)

    def forward(self, x, y):
        weights, places = torch.softmax(self.router(x), -1).topk(2, -1)
        x = x + self.experts(x, places, weights / weights.sum(-1, keepdim=True))
        return F.cross_entropy(self.head(x), y)


@case(x="float[20,32]", y="i64[20]<5>", quick=True)
def experts_alone():
    allow_float64()
    return Mixture()


class OneExpert(Mixture):
    """A router that sends all rows to one pair of experts: the others get none."""

    def __init__(self):
        super().__init__()
        with torch.no_grad():
            self.router.bias.copy_(torch.tensor([0.0, 90.0, 0.0, 60.0]))


@case(x="float[20,32]", y="i64[20]<5>")
def experts_unused():
    allow_float64()
    return OneExpert()


@case(input_ids=IDS)
def mixtral_grouped():
    return experts("MixtralForCausalLM", "MixtralConfig", **MIXTRAL)


@case(input_ids=IDS, labels=IDS)
def mixtral_router_loss():
    """With the loss that keeps its experts equally busy."""
    return experts(
        "MixtralForCausalLM", "MixtralConfig", OwnLoss, **MIXTRAL, output_router_logits=True,
        router_aux_loss_coef=0.1,
    )  # fmt: skip


@case(input_ids=IDS, quick=True)
def deepseek_v3():
    return experts("DeepseekV3ForCausalLM", "DeepseekV3Config", **DEEPSEEK)


@case(input_ids=IDS)
def deepseek_v2():
    return experts("DeepseekV2ForCausalLM", "DeepseekV2Config", **DEEPSEEK,
                   topk_method="group_limited_greedy")  # fmt: skip


@case(input_ids=IDS)
def qwen2_moe():
    return experts("Qwen2MoeForCausalLM", "Qwen2MoeConfig", **QWEN,
                   shared_expert_intermediate_size=24)  # fmt: skip


@case(input_ids=IDS)
def qwen3_moe():
    return experts("Qwen3MoeForCausalLM", "Qwen3MoeConfig", **QWEN, head_dim=8)


@case(input_ids=IDS)
def gpt_oss():
    return experts("GptOssForCausalLM", "GptOssConfig", **LLAMA, **EXPERTS, head_dim=8,
                   sliding_window=4)  # fmt: skip


@case(input_ids=IDS)
def olmoe():
    return experts("OlmoeForCausalLM", "OlmoeConfig", **LLAMA, num_experts=4,
                   num_experts_per_tok=2)  # fmt: skip


@case(input_ids=IDS)
def granite_moe():
    return experts("GraniteMoeForCausalLM", "GraniteMoeConfig", **LLAMA, **EXPERTS)


@case(input_ids=IDS)
def granite_moe_shared():
    return experts("GraniteMoeSharedForCausalLM", "GraniteMoeSharedConfig", **LLAMA, **EXPERTS,
                   shared_intermediate_size=24)  # fmt: skip


@case(input_ids=IDS)
def phimoe():
    return experts("PhimoeForCausalLM", "PhimoeConfig", **LLAMA, **EXPERTS)


@case(input_ids=IDS)
def ernie_moe():
    sizes = {name: value for name, value in LLAMA.items() if name != "attention_dropout"}
    return experts("Ernie4_5_MoeForCausalLM", "Ernie4_5_MoeConfig", **sizes, moe_num_experts=4,
                   moe_k=2, moe_intermediate_size=24, moe_layer_start_index=1)  # fmt: skip


@case(input_ids=IDS)
def glm4_moe():
    return experts("Glm4MoeForCausalLM", "Glm4MoeConfig", **LLAMA, n_routed_experts=4,
                   num_experts_per_tok=2, moe_intermediate_size=24, first_k_dense_replace=1,
                   n_group=1, topk_group=1, head_dim=8)  # fmt: skip


@case(input_ids=IDS)
def hunyuan_moe():
    return experts("HunYuanMoEV1ForCausalLM", "HunYuanMoEV1Config", **LLAMA, num_experts=4,
                   moe_topk=2, head_dim=8)  # fmt: skip


@case(input_ids=IDS)
def minimax_m2():
    return experts("MiniMaxM2ForCausalLM", "MiniMaxM2Config", **LLAMA, **EXPERTS, head_dim=8)


@case(input_ids=IDS)
def flex_olmo():
    return experts("FlexOlmoForCausalLM", "FlexOlmoConfig", **LLAMA, num_experts=4,
                   num_experts_per_tok=2)  # fmt: skip
