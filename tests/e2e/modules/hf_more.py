"""Further architectures of transformers, small and random."""

from torch import nn

from .case import table
from .hf_text import BERT, IDS, LLAMA, SIZES, NextToken, build

CASES, case = table()
IMAGE, LABEL = "float[2,3,32,32]", "i64[2]<5>"
DEEP = dict(LLAMA, head_dim=8)
GPT = dict(
    vocab_size=60, n_embd=32, n_layer=2, n_head=4, n_positions=32, resid_pdrop=0.0,
    embd_pdrop=0.0, attn_pdrop=0.0,
)  # fmt: skip


@case(input_ids=IDS)
def qwen3():
    return build("Qwen3ForCausalLM", "Qwen3Config", NextToken, **DEEP)


@case(input_ids=IDS)
def gemma3():
    return build(
        "Gemma3ForCausalLM", "Gemma3TextConfig", NextToken, **DEEP, sliding_window=4,
        query_pre_attn_scalar=8,
    )  # fmt: skip


@case(input_ids=IDS)
def olmo2():
    return build("Olmo2ForCausalLM", "Olmo2Config", NextToken, **LLAMA)


@case(input_ids=IDS)
def cohere():
    return build("CohereForCausalLM", "CohereConfig", NextToken, **LLAMA)


@case(input_ids=IDS)
def granite():
    return build("GraniteForCausalLM", "GraniteConfig", NextToken, **LLAMA)


@case(input_ids=IDS)
def stablelm():
    return build("StableLmForCausalLM", "StableLmConfig", NextToken, **LLAMA)


@case(input_ids=IDS)
def starcoder2():
    return build(
        "Starcoder2ForCausalLM",
        "Starcoder2Config",
        NextToken,
        **LLAMA,
        residual_dropout=0.0,
        embedding_dropout=0.0,
    )


@case(input_ids=IDS)
def smollm3():
    return build("SmolLM3ForCausalLM", "SmolLM3Config", NextToken, **LLAMA)


@case(input_ids=IDS)
def phi3():
    return build(
        "Phi3ForCausalLM", "Phi3Config", NextToken, **LLAMA, resid_pdrop=0.0, embd_pdrop=0.0
    )


@case(input_ids=IDS)
def gptj():
    return build("GPTJForCausalLM", "GPTJConfig", NextToken, **GPT, rotary_dim=4)


@case(input_ids=IDS)
def gpt_bigcode():
    return build("GPTBigCodeForCausalLM", "GPTBigCodeConfig", NextToken, **GPT)


@case(input_ids=IDS)
def codegen():
    return build("CodeGenForCausalLM", "CodeGenConfig", NextToken, **GPT, rotary_dim=4)


@case(input_ids=IDS)
def mpt():
    return build(
        "MptForCausalLM",
        "MptConfig",
        NextToken,
        vocab_size=60,
        d_model=32,
        n_layers=2,
        n_heads=4,
        max_seq_len=32,
    )


@case(input_ids=IDS)
def mamba2():
    return build(
        "Mamba2ForCausalLM",
        "Mamba2Config",
        NextToken,
        vocab_size=60,
        hidden_size=32,
        num_hidden_layers=2,
        state_size=8,
        num_heads=8,
        head_dim=8,
        n_groups=2,
        chunk_size=4,
    )


@case(input_ids=IDS)
def recurrent_gemma():
    return build(
        "RecurrentGemmaForCausalLM",
        "RecurrentGemmaConfig",
        NextToken,
        vocab_size=60,
        hidden_size=32,
        num_hidden_layers=3,
        intermediate_size=48,
        num_attention_heads=4,
        attention_window_size=8,
        pad_token_id=0,
    )


@case(input_ids=IDS, labels="i64[2]<3>")
def squeezebert():
    return build(
        "SqueezeBertForSequenceClassification",
        "SqueezeBertConfig",
        **BERT,
        embedding_size=32,
        num_labels=3,
    )


@case(input_ids=IDS, labels=IDS)
def modernbert():
    return build(
        "ModernBertForMaskedLM",
        "ModernBertConfig",
        **SIZES,
        intermediate_size=48,
        max_position_embeddings=32,
        global_attn_every_n_layers=2,
        local_attention=4,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        cls_token_id=1,
        sep_token_id=2,
    )


@case(input_ids=IDS, labels=IDS)
def fnet():
    return build(
        "FNetForMaskedLM",
        "FNetConfig",
        vocab_size=60,
        hidden_size=32,
        num_hidden_layers=2,
        intermediate_size=48,
        max_position_embeddings=32,
        hidden_dropout_prob=0.0,
    )


@case(input_ids=IDS, labels=IDS)
def convbert():
    return build("ConvBertForMaskedLM", "ConvBertConfig", **BERT, embedding_size=32)


@case(input_ids=IDS, labels=IDS)
def mpnet():
    return build("MPNetForMaskedLM", "MPNetConfig", **BERT)


@case(input_ids=IDS, labels=IDS)
def funnel():
    return build(
        "FunnelForMaskedLM",
        "FunnelConfig",
        vocab_size=60,
        block_sizes=[1, 1],
        d_model=32,
        n_head=4,
        d_head=8,
        d_inner=48,
        hidden_dropout=0.0,
        attention_dropout=0.0,
        activation_dropout=0.0,
    )


@case(input_ids=IDS, labels=IDS)
def pegasus():
    return build(
        "PegasusForConditionalGeneration",
        "PegasusConfig",
        vocab_size=60,
        d_model=32,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        max_position_embeddings=32,
        dropout=0.0,
        attention_dropout=0.0,
        activation_dropout=0.0,
    )


@case(pixel_values=IMAGE, labels=LABEL)
def pvt():
    return build(
        "PvtForImageClassification",
        "PvtConfig",
        image_size=32,
        hidden_sizes=[8, 16, 24, 32],
        num_attention_heads=[1, 2, 2, 4],
        depths=[1, 1, 1, 1],
        num_labels=5,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        drop_path_rate=0.0,
    )


@case(pixel_values=IMAGE, labels=LABEL)
def dinov2():
    return build(
        "Dinov2ForImageClassification",
        "Dinov2Config",
        image_size=32,
        patch_size=8,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_labels=5,
    )


class Mean(nn.Module):
    """The size of what a model gives, as a loss."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, **inputs):
        return self.model(**inputs)[0].square().mean()


@case(pixel_values=IMAGE)
def focalnet():
    return build(
        "FocalNetForImageClassification", "FocalNetConfig", Mean, image_size=32, patch_size=4,
        embed_dim=16, depths=[1, 1], hidden_sizes=[16, 32], focal_levels=[1, 1],
        focal_windows=[3, 3], drop_path_rate=0.0, num_labels=5,
    )  # fmt: skip


@case(input_values="float[2,1024]")
def unispeech():
    return build(
        "UniSpeechModel", "UniSpeechConfig", Mean, hidden_size=32, num_hidden_layers=1,
        num_attention_heads=4, intermediate_size=48, conv_dim=[16, 16], conv_stride=[5, 4],
        conv_kernel=[10, 8], num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=4,
        hidden_dropout=0.0, attention_dropout=0.0, activation_dropout=0.0,
        feat_proj_dropout=0.0, layerdrop=0.0, mask_time_prob=0.0, mask_feature_prob=0.0,
    )  # fmt: skip
