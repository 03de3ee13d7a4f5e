"""TensorBoard's page HPARAMS finds what tells the jobs of a list apart."""

import json

import pytest
from braid_run import run_braid
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2
from train_jobs import BASE, write_table

MEMBERS = [
    {"name": "small", "model": "mlp(hidden=4)", "optimizer.lr": 1e-2},
    {"name": "deep", "model": "mlp(hidden=8)", "drop_last": True, "clip": 1},
    {"name": "wild", "optimizer.kind": "adamw", "optimizer.lr": 1e30},
]


@pytest.fixture(name="runs", scope="module")
def make_runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hparams")
    write_table(folder / "table.csv")
    path = folder / "list.yaml"
    path.write_text(json.dumps(BASE | {"members": MEMBERS}))
    run_braid("train", path, "--out", folder / "out", "-q", code=1)
    return folder / "out"


def session(folder, tag, kind):
    events = EventAccumulator(str(folder)).Reload()
    content = events.SummaryMetadata(tag).plugin_data
    assert content.plugin_name == metadata.PLUGIN_NAME
    data = plugin_data_pb2.HParamsPluginData.FromString(content.content)
    assert data.WhichOneof("data") == kind
    return getattr(data, kind)


def values(folder):
    start = session(folder, metadata.SESSION_START_INFO_TAG, "session_start_info")
    assert start.start_time_secs > 1e9
    return {name: getattr(v, v.WhichOneof("kind")) for name, v in start.hparams.items()}


def test_values_have_their_types(runs):
    assert values(runs / "small") == {
        "model.hidden": 4, "optimizer.kind": "sgd", "optimizer.lr": 0.01, "drop_last": False,
    }  # fmt: skip
    assert values(runs / "deep") == {
        "model.hidden": 8, "optimizer.kind": "sgd", "optimizer.lr": 0.1, "drop_last": True,
        "clip.norm": 1,
    }  # fmt: skip


def test_ends_are_told(runs):
    def status(name):
        return session(runs / name, metadata.SESSION_END_INFO_TAG, "session_end_info").status

    assert status("small") == status("deep") == api_pb2.STATUS_SUCCESS
    assert status("wild") == api_pb2.STATUS_FAILURE


def test_a_job_alone_has_none(tmp_path):
    write_table(tmp_path / "table.csv")
    (tmp_path / "job.yaml").write_text(json.dumps(BASE))
    run_braid("train", tmp_path / "job.yaml", "--out", tmp_path / "out", "-q")
    events = EventAccumulator(str(tmp_path / "out")).Reload()
    assert events.Tags()["tensors"] == []
