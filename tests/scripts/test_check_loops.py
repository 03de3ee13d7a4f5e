"""Code of one instruction set must not reach machines without it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from check_loops import shared_symbols  # noqa: E402

LISTING = """\
0000000000000000 W void braid::runtime::v3::add_loss<float>(braid::runtime::LoopsOf<float>&)
0000000000000010 t braid::runtime::v3::(anonymous namespace)::relu(float*)
0000000000000020 W float* std::fill_n<float*>(float*, long, float)
0000000000000030 V braid::runtime::kTable
0000000000000040 T braid::runtime::v3::make_loops()
"""


def test_functions_outside_the_level_are_named():
    assert shared_symbols(LISTING, "v3") == [
        "float* std::fill_n<float*>(float*, long, float)",
        "braid::runtime::kTable",
    ]


def test_another_level_is_outside_too():
    assert len(shared_symbols(LISTING, "v4")) == 3
