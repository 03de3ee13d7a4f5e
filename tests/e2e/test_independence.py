"""Members of an array are as alone: any model, any number, any place.

Losses, gradients, weights, buffers and all optimizer state after five steps.
By default a few models; with BRAID_TEST_LONG=1 the whole zoo and every module
of the corpus, in float64 and float32.
"""

import itertools

import models
import pytest
from array_case import DTYPES, ORDERS, ArrayCase, has_dropout, perturbed, poisoned, same_bits
from braid_run import model_text
from exporting import export
from modules import MODULES
from modules.dropped import CASES as DROPPED
from reference import LONG, build, coarsest
from test_zoo import DROPPING, ROWS, moved

SMALL = {
    "mlp": {"features": 12, "hidden": 24, "layers": 2, "classes": 5, "dropout": 0.1},
    "lenet": {"channels": 1, "side": 16, "classes": 6, "dropout": 0.1},
    "resblock": {"side": 8, "channels": 8, "blocks": 1, "classes": 5, "dropout": 0.1},
    "transformer": {
        "length": 10, "vocab": 20, "width": 16, "heads": 2, "layers": 1, "dropout": 0.1
    },
}  # fmt: skip
ZOO = {name: (name, 1e-2, sizes) for name, sizes in SMALL.items()}
ZOO |= {row: (name, lr, s | DROPPING.get(row, {})) for row, (name, lr, s) in ROWS.items()}
CORPUS = MODULES | DROPPED
QUICK = [("mlp", "f64"), ("mlp", "f32"), ("lenet", "f64"), ("tabular", "f64")]
QUICK_THREE = ["resblock", "transformer", "mobilenet", "pointnet_cls", "lstm_lm", "recurrent_stack"]
BATCH = 8


def zoo_case(folder, row, dtype):
    name, lr, sizes = ZOO[row]
    twin = moved(models.make(name, DTYPES[dtype], **sizes))
    adamw = {"optimizer": "adamw", "values": {}} if row in SMALL and dtype == "f64" else {}
    return ArrayCase(
        folder, model_text(name, sizes), dtype,
        lambda k: models.batch(name, DTYPES[dtype], seed=k, size=BATCH, **sizes),
        lambda k: perturbed(twin, k), lr=lr, drops=bool(sizes.get("dropout")), **adamw,
    )  # fmt: skip


def module_case(folder, name, dtype):
    case, real = CORPUS[name], DTYPES[dtype]
    module, inputs = build(name, real, CORPUS)
    file = folder / "module.pt2"
    program = export(module, inputs, file).program
    return ArrayCase(
        folder, file, dtype, lambda k: case.tensors(real, seed=1 + k),
        lambda k: perturbed(module, k), lr=1e-2 * case.lr, drops=has_dropout(file),
        coarsest=coarsest(program, real),
    )  # fmt: skip


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    made = {}

    def get(name, dtype):
        if (name, dtype) not in made:
            make = zoo_case if name in ZOO else module_case
            made[name, dtype] = make(tmp_path_factory.mktemp(name), name, dtype)
        return made[name, dtype]

    return get


EVERY = list(itertools.product([*ZOO, *CORPUS], DTYPES))
RUNS = [(n, d, b) for n, d in (EVERY if LONG else QUICK) for b in ORDERS]
RUNS += [] if LONG else [(name, "f64", 3) for name in QUICK_THREE]


@pytest.mark.parametrize("name, dtype, count", RUNS)
def test_members_are_as_alone(tmp_path, cases, name, dtype, count):
    case = cases(name, dtype)
    order = ORDERS[count]
    for k, run in zip(order, case.array(tmp_path / "array", order), strict=True):
        case.check(k, run)


@pytest.mark.parametrize("name, dtype", EVERY if LONG else [("mlp", "f32"), ("lenet", "f64")])
def test_place_and_number_do_not_matter(tmp_path, cases, name, dtype):
    """Member 0 in place 0 of 2 and in place 4 of 5."""
    case = cases(name, dtype)
    first = case.array(tmp_path / "two", ORDERS[2])[0]
    last = case.array(tmp_path / "five", ORDERS[5])[4]
    case.check(0, last, like=first)


@pytest.mark.parametrize("name", [*ZOO, *CORPUS] if LONG else ["mlp", "lenet", "tabular"])
def test_a_member_that_is_nan_changes_no_bit_of_others(tmp_path, cases, name):
    case = cases(name, "f32")
    bad = poisoned(case, 1, tmp_path / "nan.safetensors")
    healthy = case.array(tmp_path / "healthy", [0, 1, 2])
    broken = case.array(tmp_path / "broken", [0, 1, 2], code=1, place_1=bad)
    assert broken[1].losses[-1] is None and None not in healthy[1].losses
    assert same_bits(broken[0], healthy[0]) and same_bits(broken[2], healthy[2])
