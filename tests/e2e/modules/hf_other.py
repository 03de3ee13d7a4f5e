"""Models of transformers for images, sound and time series."""

from .case import table
from .hf_text import OwnLoss, TokenLoss, build

CASES, case = table()
IMAGE = "float[2,3,16,16]"
VIT = dict(
    image_size=16, patch_size=4, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
    intermediate_size=48, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    num_labels=5,
)  # fmt: skip
SOUND = dict(
    vocab_size=40, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
    intermediate_size=48, conv_dim=(16, 16), conv_stride=(4, 2), conv_kernel=(6, 3),
    num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=4, hidden_dropout=0.0,
    attention_dropout=0.0, activation_dropout=0.0, feat_proj_dropout=0.0, layerdrop=0.0,
    apply_spec_augment=False, num_feat_extract_layers=2, classifier_proj_size=16, num_labels=4,
)  # fmt: skip


@case(quick=True, pixel_values=IMAGE, labels="i64[2]<5>")
def vit():
    return build("ViTForImageClassification", "ViTConfig", TokenLoss, **VIT)


@case(pixel_values=IMAGE, labels="i64[2]<5>")
def deit():
    return build("DeiTForImageClassification", "DeiTConfig", **VIT)


@case(quick=True, pixel_values=IMAGE, labels="i64[2]<5>")
def swin():
    return build(
        "SwinForImageClassification", "SwinConfig", TokenLoss, image_size=16, patch_size=2,
        embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4, drop_path_rate=0.0,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, num_labels=5,
    )  # fmt: skip


@case(pixel_values=IMAGE, labels="i64[2]<5>")
def beit():
    return build(
        "BeitForImageClassification", "BeitConfig", TokenLoss, drop_path_rate=0.0,
        use_relative_position_bias=True, use_mean_pooling=True, **VIT,
    )  # fmt: skip


@case(pixel_values=IMAGE, labels="i64[2]<5>")
def convnext():
    return build(
        "ConvNextForImageClassification", "ConvNextConfig", TokenLoss, patch_size=2,
        num_stages=2, hidden_sizes=[16, 24], depths=[2, 2], drop_path_rate=0.0, num_labels=5,
    )  # fmt: skip


@case(quick=True, pixel_values="float[2,3,32,32]", labels="i64[2,32,32]<5>")
def segformer():
    return build(
        "SegformerForSemanticSegmentation", "SegformerConfig", num_encoder_blocks=2,
        depths=[1, 1], sr_ratios=[2, 1], hidden_sizes=[16, 24], patch_sizes=[7, 3],
        strides=[4, 2], num_attention_heads=[2, 4], mlp_ratios=[2, 2], decoder_hidden_size=16,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, classifier_dropout_prob=0.0,
        drop_path_rate=0.0, num_labels=5,
    )  # fmt: skip


@case(quick=True, input_ids="i64[3,8]<60>", pixel_values="float[3,3,16,16]")
def clip():
    parts = dict(
        hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=4,
        projection_dim=16,
    )  # fmt: skip
    text = dict(parts, vocab_size=60, max_position_embeddings=16, bos_token_id=0, eos_token_id=59)
    vision = dict(parts, image_size=16, patch_size=4)
    return build(
        "CLIPModel", "CLIPConfig", ClipLoss, text_config=text, vision_config=vision,
        projection_dim=16,
    )  # fmt: skip


class ClipLoss(OwnLoss):
    def forward(self, input_ids, pixel_values):
        return self.model(input_ids=input_ids, pixel_values=pixel_values, return_loss=True).loss


@case(quick=True, input_features="float[2,8,32]", labels="i64[2,7]<60>")
def whisper():
    return build(
        "WhisperForConditionalGeneration", "WhisperConfig", vocab_size=60, num_mel_bins=8,
        d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, dropout=0.0,
        max_source_positions=16, max_target_positions=16, pad_token_id=0, bos_token_id=1,
        eos_token_id=2, decoder_start_token_id=3, suppress_tokens=[], begin_suppress_tokens=[],
    )  # fmt: skip


@case(input_values="float[2,160]", labels="i64[2]<4>")
def wav2vec2():
    return build(
        "Wav2Vec2ForSequenceClassification", "Wav2Vec2Config", use_weighted_layer_sum=False,
        **SOUND,
    )  # fmt: skip


@case(input_values="float[2,160]", labels="i64[2]<4>")
def hubert_weighted_layers():
    return build(
        "HubertForSequenceClassification", "HubertConfig", use_weighted_layer_sum=True, **SOUND
    )


@case(past_values="float[2,24,3]", future_values="float[2,6,3]")
def patchtst():
    return build(
        "PatchTSTForPrediction", "PatchTSTConfig", num_input_channels=3, context_length=24,
        prediction_length=6, patch_length=4, patch_stride=4, d_model=16, ffn_dim=24,
        num_hidden_layers=2, num_attention_heads=2, attention_dropout=0.0, ff_dropout=0.0,
        positional_dropout=0.0, path_dropout=0.0, head_dropout=0.0, loss="mse",
    )  # fmt: skip


@case(past_values="float[2,24,3]", future_values="float[2,6,3]")
def patchtsmixer():
    return build(
        "PatchTSMixerForPrediction", "PatchTSMixerConfig", num_input_channels=3,
        context_length=24, prediction_length=6, patch_length=4, patch_stride=4, d_model=16,
        num_layers=2, dropout=0.0, head_dropout=0.0, loss="mse",
    )  # fmt: skip


@case(
    past_values="float[2,15]", past_time_features="float[2,15,2]",
    past_observed_mask="float[2,15]", future_values="float[2,4]",
    future_time_features="float[2,4,2]",
)  # fmt: skip
def time_series_transformer():
    return build(
        "TimeSeriesTransformerForPrediction", "TimeSeriesTransformerConfig",
        prediction_length=4, context_length=8, lags_sequence=[1, 2, 7], num_time_features=2,
        d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24, dropout=0.0,
        attention_dropout=0.0, activation_dropout=0.0, encoder_layerdrop=0.0,
        decoder_layerdrop=0.0,
    )  # fmt: skip


# From its own range of 0.02 some biases, which begin at 0, get gradients that
# are mostly rounding, and AdamW makes whole steps of them.
@case(pixel_values="float[6,3,32,32]", labels="i64[6]<5>")
def mobilevit():
    return build(
        "MobileViTForImageClassification", "MobileViTConfig", TokenLoss, image_size=32,
        patch_size=2, hidden_sizes=[16, 20, 24], neck_hidden_sizes=[8, 8, 12, 16, 20, 24, 32],
        num_attention_heads=4, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        classifier_dropout_prob=0.0, output_stride=8, num_labels=5, initializer_range=0.1,
    )  # fmt: skip
