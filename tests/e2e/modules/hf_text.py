"""Language models of transformers, small and random."""

import torch
from torch import nn
from torch.nn import functional as F

from . import libraries
from .case import table

CASES, case = table()
IDS = "i64[2,12]<60>"
SIZES = dict(vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=4)
BERT = dict(
    SIZES, intermediate_size=48, max_position_embeddings=32, hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
)  # fmt: skip
LLAMA = dict(
    SIZES, intermediate_size=48, num_key_value_heads=2, max_position_embeddings=32,
    attention_dropout=0.0, pad_token_id=0, bos_token_id=1, eos_token_id=2,
)  # fmt: skip


class OwnLoss(nn.Module):
    """The loss that comes with the model."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, **inputs):
        return self.model(**inputs).loss


class NextToken(nn.Module):
    """Next-token loss in the type of the model."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids):
        logits = self.model(input_ids=input_ids, use_cache=False).logits
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), input_ids[:, 1:].flatten())


class TokenLoss(nn.Module):
    """Labels per token or per text, the loss in the type of the model."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, labels, **inputs):
        logits = self.model(**inputs).logits
        return F.cross_entropy(logits.flatten(0, -2), labels.flatten())


def build(name, config_name, wrap=OwnLoss, config=None, **values):
    transformers = libraries.transformers()
    made = getattr(transformers, config_name)(**values)
    for key, value in (config or {}).items():
        setattr(made, key, value)
    return wrap(getattr(transformers, name)(made))


@case(quick=True, input_ids=IDS, attention_mask="i64[2,12]<2>", labels="i64[2]<3>")
def bert_classifier():
    return build("BertForSequenceClassification", "BertConfig", num_labels=3, **BERT)


@case(input_ids=IDS, labels="i64[2,12]<60>")
def bert_masked_lm():
    return build("BertForMaskedLM", "BertConfig", TokenLoss, **BERT)


@case(quick=True, input_ids="i64[2,12]<60>")
def gpt2():
    return build(
        "GPT2LMHeadModel", "GPT2Config", NextToken, vocab_size=60, n_embd=32, n_layer=2,
        n_head=4, n_positions=32, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
    )  # fmt: skip


@case(input_ids="i64[2,12]<60>", labels="i64[2,12]<60>")
def gpt2_own_loss():
    return build(
        "GPT2LMHeadModel", "GPT2Config", vocab_size=60, n_embd=32, n_layer=1,
        n_head=4, n_positions=32, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
    )  # fmt: skip


@case(quick=True, input_ids=IDS)
def llama():
    return build("LlamaForCausalLM", "LlamaConfig", NextToken, **LLAMA)


@case(input_ids=IDS, labels=IDS)
def mistral():
    return build("MistralForCausalLM", "MistralConfig", sliding_window=6, **LLAMA)


@case(input_ids=IDS)
def qwen2():
    return build("Qwen2ForCausalLM", "Qwen2Config", NextToken, tie_word_embeddings=True, **LLAMA)


@case(input_ids=IDS)
def gemma2():
    return build(
        "Gemma2ForCausalLM", "Gemma2Config", NextToken, head_dim=8, sliding_window=6,
        query_pre_attn_scalar=8, **LLAMA,
    )  # fmt: skip


@case(quick=True, input_ids=IDS, labels="i64[2,7]<60>")
def t5():
    return build(
        "T5ForConditionalGeneration", "T5Config", vocab_size=60, d_model=32, d_kv=8, d_ff=48,
        num_layers=2, num_heads=4, dropout_rate=0.0, decoder_start_token_id=0, pad_token_id=0,
    )  # fmt: skip


@case(quick=True, input_ids=IDS, labels="i64[2,7]<60>")
def bart():
    return build(
        "BartForConditionalGeneration", "BartConfig", vocab_size=60, d_model=32,
        encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, dropout=0.0,
        attention_dropout=0.0, activation_dropout=0.0, max_position_embeddings=32,
        pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2,
    )  # fmt: skip


@case(input_ids=IDS, labels="i64[2,12]<60>")
def roberta():
    return build("RobertaForMaskedLM", "RobertaConfig", TokenLoss, pad_token_id=1, **BERT)


@case(input_ids=IDS, labels="i64[2]<3>")
def distilbert():
    return build(
        "DistilBertForSequenceClassification", "DistilBertConfig", num_labels=3, vocab_size=60,
        dim=32, n_layers=2, n_heads=4, hidden_dim=48, max_position_embeddings=32, dropout=0.0,
        attention_dropout=0.0, seq_classif_dropout=0.0,
    )  # fmt: skip


@case(input_ids=IDS, labels="i64[2,12]<60>")
def albert():
    return build(
        "AlbertForMaskedLM", "AlbertConfig", TokenLoss, embedding_size=16,
        classifier_dropout_prob=0.0, **BERT,
    )  # fmt: skip


@case(input_ids=IDS, labels="i64[2,12]<4>")
def electra_tokens():
    return build(
        "ElectraForTokenClassification", "ElectraConfig", embedding_size=16, num_labels=4,
        **BERT,
    )  # fmt: skip


@case(input_ids=IDS, labels="i64[2]<3>")
def deberta_v2():
    return build(
        "DebertaV2ForSequenceClassification", "DebertaV2Config", TokenLoss, num_labels=3,
        relative_attention=True, position_buckets=8, pos_att_type=["p2c", "c2p"],
        pooler_dropout=0.0, pooler_hidden_size=32, **BERT,
    )  # fmt: skip


@case(input_ids=IDS)
def phi():
    return build(
        "PhiForCausalLM", "PhiConfig", NextToken, resid_pdrop=0.0, embd_pdrop=0.0,
        partial_rotary_factor=0.5, **LLAMA,
    )  # fmt: skip


@case(input_ids=IDS)
def opt():
    return build(
        "OPTForCausalLM", "OPTConfig", NextToken, ffn_dim=48, dropout=0.0,
        attention_dropout=0.0, max_position_embeddings=32, word_embed_proj_dim=32,
        pad_token_id=1, **SIZES,
    )  # fmt: skip


@case(input_ids=IDS)
def gpt_neox():
    return build(
        "GPTNeoXForCausalLM", "GPTNeoXConfig", NextToken, intermediate_size=48,
        max_position_embeddings=32, hidden_dropout=0.0, attention_dropout=0.0, rotary_pct=0.5,
        **SIZES,
    )  # fmt: skip


@case(input_ids=IDS)
def bloom():
    return build(
        "BloomForCausalLM", "BloomConfig", NextToken, vocab_size=60, hidden_size=32, n_layer=2,
        n_head=4, hidden_dropout=0.0, attention_dropout=0.0,
    )  # fmt: skip


@case(input_ids=IDS)
def falcon():
    return build(
        "FalconForCausalLM", "FalconConfig", NextToken, alibi=False, hidden_dropout=0.0,
        attention_dropout=0.0, max_position_embeddings=32, **SIZES,
    )  # fmt: skip


@case(input_ids="i64[2,8]<60>", quick=True)
def mamba():
    return build(
        "MambaForCausalLM", "MambaConfig", NextToken, vocab_size=60, hidden_size=16,
        state_size=4, num_hidden_layers=1, expand=2, use_mambapy=False,
    )  # fmt: skip


@case(input_ids="i64[2,6]<60>")
def rwkv():
    return build(
        "RwkvForCausalLM", "RwkvConfig", NextToken, vocab_size=60, hidden_size=16,
        attention_hidden_size=16, num_hidden_layers=2, intermediate_size=24, context_length=16,
    )  # fmt: skip


@case(input_ids=IDS)
def mixtral():
    return build(
        "MixtralForCausalLM", "MixtralConfig", NextToken,
        config={"_experts_implementation": "batched_mm"}, num_local_experts=4,
        num_experts_per_tok=2, sliding_window=None, **LLAMA,
    )  # fmt: skip


@case(input_ids=IDS)
def xlnet():
    return build(
        "XLNetForTokenClassification", "XLNetConfig", LastToken, vocab_size=60, d_model=32,
        n_layer=2, n_head=4, d_inner=48, dropout=0.0, num_labels=60,
    )  # fmt: skip


class LastToken(nn.Module):
    """Every token against itself, smoothed."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids):
        logits = self.model(input_ids=input_ids).logits
        scores = torch.log_softmax(logits, -1)
        return F.cross_entropy(scores.transpose(1, 2), input_ids, label_smoothing=0.1)
