"""Models of libraries as their users make them, for tests/e2e/test_whole_way.py.

N samples; sizes are small, everything else is what the library gives.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import nn

from . import libraries


@dataclass
class Model:
    """`make` is what scripts/export_model.py is given, by its name in this file.

    inputs: the fields of the data, as the script takes them but for N.
    loss: named in the job, with `exported` in the export; else forward has one.
    target: the field that such a loss compares with.
    rename: field of the data -> argument of forward, where they differ.
    score: what is predicted, by its name in what forward returns; "": that itself.
    drops: it draws, so that PyTorch's training is another one.
    """

    make: Callable
    inputs: dict
    loss: str = ""
    target: str = ""
    score: str = ""
    exported: bool = False
    rename: dict = field(default_factory=dict)
    drops: bool = False

    @property
    def name(self):
        return self.make.__name__

    def argument(self, name):
        return self.rename.get(name, name)

    @property
    def taken(self):
        """The fields that forward takes."""
        own = self.loss and self.target != "sample"
        return [name for name in self.inputs if not (own and name == self.target)]


MODELS = {}


def model(**values):
    def add(make):
        MODELS[make.__name__] = Model(make, **values)
        return make

    return add


# ---- monai: medical images --------------------------------------------------


@model(inputs={"x": "f32[1,16,16,16]", "label": "i64[16,16,16]<3>"}, loss="cross_entropy",
       target="label")  # fmt: skip
def monai_unet():
    """Volumes; residual units, and convolutions up and down in three dimensions."""
    from monai.networks.nets import UNet

    return UNet(spatial_dims=3, in_channels=1, out_channels=3, channels=(4, 8, 16),
                strides=(2, 2), num_res_units=2)  # fmt: skip


class Dice(nn.Module):
    """As MONAI's tutorials train it: the loss of overlap and cross entropy together."""

    def __init__(self):
        super().__init__()
        from monai.losses import DiceCELoss
        from monai.networks.nets import BasicUNet

        self.net = BasicUNet(spatial_dims=2, out_channels=3, features=(4, 4, 8, 8, 8, 4))
        self.loss = DiceCELoss(to_onehot_y=True, softmax=True)

    def forward(self, image, label):
        scores = self.net(image)
        return {"loss": self.loss(scores, label), "scores": scores}


@model(inputs={"image": "f32[1,32,32]", "label": "i64[1,32,32]<3>"}, score="scores")
def monai_dice():
    return Dice()


@model(inputs={"volume": "f32[1,16,16,16]", "y": "i64<4>"}, loss="cross_entropy", target="y",
       exported=True, rename={"volume": "x"})  # fmt: skip
def monai_densenet():
    """A field of the data has another name than the argument."""
    from monai.networks.nets import DenseNet

    return DenseNet(spatial_dims=3, in_channels=1, out_channels=4, init_features=8,
                    growth_rate=4, block_config=(2, 2, 2), bn_size=2)  # fmt: skip


@model(inputs={"x_in": "f32[1,32,32]", "y": "i64[32,32]<3>"}, loss="cross_entropy",
       target="y")  # fmt: skip
def monai_unetr():
    """A transformer whose layers are the steps of a U-Net."""
    from monai.networks.nets import UNETR

    return UNETR(in_channels=1, out_channels=3, img_size=32, feature_size=4, hidden_size=16,
                 mlp_dim=24, num_heads=2, spatial_dims=2)  # fmt: skip


# ---- diffusers --------------------------------------------------------------


@model(inputs={"sample": "f32[1,16,16]", "timestep": "i64<1000>", "noise": "f32[1,16,16]"},
       loss="mse", target="noise", score="sample", exported=True)  # fmt: skip
def diffusers_unet():
    """The noise in a picture, by the time."""
    from diffusers import UNet2DModel

    return UNet2DModel(
        sample_size=16, in_channels=1, out_channels=1, layers_per_block=1,
        block_out_channels=(8, 16), down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"), norm_num_groups=4, attention_head_dim=4,
    )  # fmt: skip


@model(inputs={"sample": "f32[2,8,8]", "timestep": "i64<1000>",
               "encoder_hidden_states": "f32[5,12]", "noise": "f32[2,8,8]"},
       loss="mse", target="noise", score="sample")  # fmt: skip
def diffusers_conditioned():
    """The same of latents, by a text."""
    from diffusers import UNet2DConditionModel

    return UNet2DConditionModel(
        sample_size=8, in_channels=2, out_channels=2, layers_per_block=1,
        block_out_channels=(8, 16), down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), norm_num_groups=4,
        attention_head_dim=4, cross_attention_dim=12,
    )  # fmt: skip


@model(inputs={"sample": "f32[1,16,16]"}, loss="mse", target="sample", score="sample")
def diffusers_autoencoder():
    """It compares with its own input."""
    from diffusers import AutoencoderKL

    return AutoencoderKL(
        in_channels=1, out_channels=1, down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2, block_out_channels=(8, 16), latent_channels=2,
        norm_num_groups=4, sample_size=16,
    )  # fmt: skip


# ---- transformers -----------------------------------------------------------


@model(inputs={"input_ids": "i64[9]<40>", "attention_mask": "bool[9]", "labels": "i64[9]<40>"},
       score="logits")  # fmt: skip
def transformers_gemma():
    """A language model with the cache that it has by default, and windows."""
    transformers = libraries.transformers()
    config = transformers.Gemma2Config(
        vocab_size=40, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, head_dim=8, sliding_window=4,
    )  # fmt: skip
    return transformers.Gemma2ForCausalLM(config)


@model(inputs={"input_ids": "i64[9]<40>", "attention_mask": "i64[9]<2>", "labels": "i64[6]<40>"},
       score="logits")  # fmt: skip
def transformers_t5():
    """From one text to another."""
    transformers = libraries.transformers()
    config = transformers.T5Config(
        vocab_size=40, d_model=16, d_kv=8, d_ff=24, num_layers=1, num_decoder_layers=1,
        num_heads=2, dropout_rate=0.0, decoder_start_token_id=0, pad_token_id=0,
    )  # fmt: skip
    return transformers.T5ForConditionalGeneration(config)


@model(inputs={"pixel_values": "f32[3,32,32]", "labels": "i64[32,32]<5>"}, score="logits",
       drops=True)  # fmt: skip
def transformers_segformer():
    """With dropout, and paths that are dropped, by default."""
    transformers = libraries.transformers()
    config = transformers.SegformerConfig(
        num_encoder_blocks=2, depths=[1, 1], sr_ratios=[2, 1], hidden_sizes=[16, 24],
        patch_sizes=[7, 3], strides=[4, 2], num_attention_heads=[2, 4], mlp_ratios=[2, 2],
        decoder_hidden_size=16, num_labels=5,
    )  # fmt: skip
    return transformers.SegformerForSemanticSegmentation(config)


def tensors(name, rows, seed):
    """The fields of so many samples."""
    from export_model import parse_input

    generator = torch.Generator().manual_seed(seed)
    texts = [input_text(field, text, rows) for field, text in MODELS[name].inputs.items()]
    made = dict(parse_input(text, generator=generator) for text in texts)
    mask = made.get("attention_mask")
    if mask is not None:  # texts have a beginning and an end
        lengths = torch.randint(2, mask.shape[1] + 1, (rows, 1), generator=generator)
        made["attention_mask"] = (torch.arange(mask.shape[1]) < lengths).to(mask.dtype)
    return made


def input_text(name, text, rows):
    """x, f32[3,8] -> x:f32[4,3,8]; y, i64<4> -> y:i64[4]<4>"""
    head, _, rest = text.partition("[")
    if rest:
        return f"{name}:{head}[{rows},{rest}"
    head, _, bound = text.partition("<")
    return f"{name}:{head}[{rows}]" + (f"<{bound}" if bound else "")
