"""Two networks in phases, as PyTorch's DCGAN example trains them."""

import models
import pytest
import torch
from braid_run import model_text, run_braid, save
from data_order import batches, noise
from job_run import bits, far, save_init, train
from safetensors.torch import load_file
from torch.nn import functional as F

STEPS = 5
SIDE = {"channels": 1, "side": 16}
LATENT = 5
RATES = {"generator": 1e-3, "discriminator": 2e-3}
SIZES = {
    "generator": SIDE | {"width": 3, "latent": LATENT},
    "discriminator": SIDE | {"width": 4},
}


@pytest.fixture(name="twins")
def make_twins():
    return {
        n: models.make(f"dcgan_{n}", torch.float64, seed=6, **s) for n, s in SIZES.items()
    }  # fmt: skip


def network(folder, name, twin):
    return {
        "model": model_text(f"dcgan_{name}", SIZES[name]),
        "optimizer": {"kind": "adam", "lr": RATES[name], "betas": [0.5, 0.999]},
        "init": save_init(folder / f"{name}.safetensors", twin),
    }


@pytest.fixture(name="data")
def make_data():
    """20 images: batches of 8, 8 and 4."""
    generator = torch.Generator().manual_seed(1)
    x = torch.rand(20, 1, 16, 16, generator=generator, dtype=torch.float64) * 2 - 1
    return {"x": x}


@pytest.fixture(name="job")
def make_job(tmp_path, twins, data):
    file = save(tmp_path / "data.safetensors", data)
    return {
        "networks": {name: network(tmp_path, name, twin) for name, twin in twins.items()},
        "phases": [
            {
                "learns": "discriminator",
                "loss": "bce(discriminator(x), 1) + bce(discriminator(detach(generator(z))), 0)",
            },
            {"learns": "generator", "loss": "bce(discriminator(generator(z)), 1)"},
        ],
        "noise": {"z": {"shape": [LATENT, 1, 1]}},
        "data": {"source": "safetensors", "file": str(file)},
        "steps": STEPS,
        "batch_size": 8,
        "dtype": "f64",
        "seed": 12,
        "threads": 1,
        "log_every": 1,
    }


class Plain:
    """The same in PyTorch; the generator runs once in each phase."""

    def __init__(self, twins):
        self.twins = twins
        self.optimizers = {
            name: torch.optim.Adam(twin.parameters(), lr=RATES[name], betas=(0.5, 0.999))
            for name, twin in twins.items()
        }

    def real(self, x):
        return self.twins["discriminator"].main(x).view(-1)

    def made(self, z):
        return self.twins["generator"].main(z)

    def learn(self, name, loss):
        self.optimizers[name].zero_grad()
        loss.backward()
        self.optimizers[name].step()
        return loss.item()

    def discriminator_loss(self, x, z):
        of_real, of_made = self.real(x), self.real(self.made(z).detach())
        return F.binary_cross_entropy(of_real, torch.ones_like(of_real)) + F.binary_cross_entropy(
            of_made, torch.zeros_like(of_made)
        )

    def step(self, x, z):
        first = self.learn("discriminator", self.discriminator_loss(x, z))
        of_made = self.real(self.made(z))
        second = F.binary_cross_entropy(of_made, torch.ones_like(of_made))
        return first, self.learn("generator", second)


def plain_losses(twins, data, job):
    plain, losses = Plain(twins), []
    for step, batch in enumerate(batches(data, job, job["steps"])):
        x = batch["x"]
        losses.append(plain.step(x, noise((len(x), LATENT, 1, 1), job["seed"], "z", step)))
    return losses


def test_five_steps(tmp_path, twins, data, job):
    before = {name: {k: t.clone() for k, t in twin.state_dict().items()}
              for name, twin in twins.items()}  # fmt: skip
    run = train(tmp_path, job)
    want = plain_losses(twins, data, job)
    assert far(run.values("discriminator/loss"), [first for first, _ in want]) < 1e-9
    assert far(run.values("generator/loss"), [second for _, second in want]) < 1e-9
    for name, twin in twins.items():
        assert far(run.state(name), twin.state_dict()) < 1e-9, name
        assert far(before[name], twin.state_dict()) > 1e-3, name


def test_a_phase_that_is_due_at_every_other_step(tmp_path, twins, data, job):
    job["phases"][1]["every"] = 2
    run = train(tmp_path, job)
    plain = Plain(twins)
    for step, batch in enumerate(batches(data, job, STEPS)):
        z = noise((len(batch["x"]), LATENT, 1, 1), job["seed"], "z", step)
        if step % 2 == 0:
            plain.step(batch["x"], z)
        else:
            plain.learn("discriminator", plain.discriminator_loss(batch["x"], z))
    for name, twin in twins.items():
        assert far(run.state(name), twin.state_dict()) < 1e-9, name
    assert len(run.values("generator/loss")) == 3


def test_networks_are_exported_one_by_one(tmp_path, twins, job):
    run = train(tmp_path, job)
    for name, twin in twins.items():
        file = tmp_path / f"out_{name}.safetensors"
        run_braid("export", run.folder, "--network", name, "--to", file)
        state = load_file(file)
        twin.load_state_dict(state, strict=True)
        assert far(state, run.state(name)) == 0


def test_the_same_seed_gives_the_same_networks(tmp_path, job):
    first, again = train(tmp_path, job), train(tmp_path, job, out="again")
    other = train(tmp_path, job | {"seed": 13}, out="other")
    assert bits(first) == bits(again) != bits(other)


def test_schedules_of_networks_are_their_own(tmp_path, job):
    job["networks"]["generator"]["schedule"] = "exponential(gamma=0.5)"
    run = train(tmp_path, job)
    want = [RATES["generator"] * 0.5**step for step in range(STEPS)]
    assert run.values("generator/lr") == pytest.approx(want)
    assert set(run.values("discriminator/lr")) == {RATES["discriminator"]}
