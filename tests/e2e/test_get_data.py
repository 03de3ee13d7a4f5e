"""scripts/get_data.py on local copies: sums, unpacking, parts of downloads, and jobs made of
the lines it prints."""

import dataclasses
import gzip
import hashlib
import io
import json
import re
import struct
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import get_data
import numpy as np
import pytest
from braid_run import run_braid
from get_data import SETS, SHAPES, File

RANDOM = np.random.default_rng(6)


def idx(array):
    head = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return head + array.astype(np.uint8).tobytes()


def tar_of(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def zip_of(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def cifar_files(folder, names, labels):
    records = RANDOM.integers(256, size=(len(names), 4, 3072 + labels))
    records[:, :, :labels] %= 10
    return {
        f"{folder}/{name}": r.astype(np.uint8).tobytes()
        for name, r in zip(names, records, strict=True)
    }


def shape_files():
    files = {}
    for shape in ("02691156", "03001627"):
        for cloud in range(4):
            points = "".join(f"{x:f} {y:f} {z:f}\n" for x, y, z in RANDOM.normal(size=(30, 3)))
            files[f"{SHAPES}/{shape}/points/c{cloud}.pts"] = points.encode()
            labels = "".join(f"{1 + i % 3}\n" for i in range(30))
            files[f"{SHAPES}/{shape}/points_label/c{cloud}.seg"] = labels.encode()
    for part, clouds in (("train", (0, 1, 2)), ("test", (3,))):
        names = [f"shape_data/{s}/c{c}" for s in ("02691156", "03001627") for c in clouds]
        path = f"{SHAPES}/train_test_split/shuffled_{part}_file_list.json"
        files[path] = json.dumps(names).encode()
    return files


def archives():
    """What each file of a set is in small."""
    made = {}
    for part, count in (("train", 12), ("t10k", 6)):
        images = idx(RANDOM.integers(256, size=(count, 28, 28)))
        made[f"{part}-images-idx3-ubyte.gz"] = gzip.compress(images)
        made[f"{part}-labels-idx1-ubyte.gz"] = gzip.compress(idx(np.arange(count) % 10))
    for name in ("cifar10", "cifar100"):
        [file] = SETS[name].files
        folder = SETS[name].holds[0].split("/")[0]
        names = [path.split("/")[1] for path in SETS[name].holds]
        made[file.name] = tar_of(cifar_files(folder, names, 1 if name == "cifar10" else 2))
    for number in (2, 103):
        text = {"train": "the cat sat\n\n = a cat = \n" * 40, "valid": "the dog sat\n" * 40}
        text["test"] = text["valid"]
        files = {f"wikitext-{number}/wiki.{p}.tokens": t.encode() for p, t in text.items()}
        made[f"wikitext-{number}-v1.zip"] = zip_of(files)
    made[f"{SHAPES}.zip"] = zip_of(shape_files())
    return made


ARCHIVES = archives()


def small_sets(url=None):
    """The table with the sums of the small copies where it has sums."""
    sets = {}
    for name, data in SETS.items():
        files = []
        for file in data.files:
            content = ARCHIVES[file.name]
            changes = {"bytes": len(content) if file.bytes else 0}
            if file.md5:
                changes["md5"] = hashlib.md5(content).hexdigest()
            if url:
                changes["urls"] = (f"{url}/{file.name}",)
            files.append(dataclasses.replace(file, **changes))
        sets[name] = dataclasses.replace(data, files=tuple(files))
    return sets


@pytest.fixture(name="copies")
def make_copies(tmp_path):
    folder = tmp_path / "copies"
    folder.mkdir()
    for name, content in ARCHIVES.items():
        (folder / name).write_bytes(content)
    return folder


def run(capsys, *words, code=0, sets=None):
    assert get_data.main([str(word) for word in words], sets or small_sets()) == code
    return capsys.readouterr()


MODELS = {
    "mnist": "lenet", "cifar10": "lenet(side=32,channels=3,classes=10)",
    "cifar100": "lenet(side=32,channels=3,classes=100)",
    "wikitext2": "transformer_lm(width=8,heads=1,layers=1,positions=32)",
    "wikitext103": "transformer_lm(width=8,heads=1,layers=1,positions=32)",
    "shapenet-part": "pointnet_cls(classes=2,points=2500)",
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name, data in SETS.items() if not data.by_hand])
def test_local_copies_become_a_job(tmp_path, copies, capsys, name):
    folder = tmp_path / "data"
    out = run(capsys, name, "--from", copies, "--to", folder).out
    lines = re.search(rf"# {name}: lines of a job file\n(.*)", out, re.DOTALL).group(1)
    job = tmp_path / "job.yaml"
    job.write_text(f"model: {MODELS[name]}\nsteps: 1\nbatch_size: 2\n{lines}")
    run_braid("validate", job)
    again = run(capsys, name, "--to", folder).out  # without a network or copies
    assert f"there  {name}" in again
    assert not list(folder.glob(".*")) and not list(folder.glob("*.part"))


def test_sums_of_the_true_files_refuse_others(tmp_path, copies, capsys):
    for name in ("mnist", "cifar10", "wikitext2"):
        err = run(capsys, name, "--from", copies, "--to", tmp_path / "data", code=1, sets=SETS).err
        assert "expected" in err and SETS[name].files[0].name in err
    assert not any((tmp_path / "data").iterdir())


def test_sums_that_are_not_known_are_printed_and_may_be_kept(tmp_path, copies, capsys):
    [file] = SETS["shapenet-part"].files
    digest = hashlib.sha256(ARCHIVES[file.name]).hexdigest()
    words = ["shapenet-part", "--from", copies, "--to"]
    assert f"sha256 {digest} of {file.name}" in run(capsys, *words, tmp_path / "a").out
    assert not (tmp_path / "a" / "SHA256SUMS").exists()
    run(capsys, *words, tmp_path / "b", "--write-sums")
    assert (tmp_path / "b" / "SHA256SUMS").read_text() == f"{digest}  {file.name}\n"
    for path in sorted((tmp_path / "b" / SHAPES).rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    assert "as before" in run(capsys, *words, tmp_path / "b").out
    (copies / file.name).write_bytes(b"other")
    (tmp_path / "b" / SHAPES / "train_test_split" / "shuffled_test_file_list.json").unlink()
    assert "sha256" in run(capsys, *words, tmp_path / "b", code=1).err


class Server:
    """Serves ARCHIVES; `breaks` ends the first answers after so many bytes."""

    def __init__(self, ranges=True, breaks=()):
        breaks, requests = list(breaks), []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                content = ARCHIVES.get(self.path[1:])
                begin = 0
                asked = self.headers.get("Range")
                requests.append(asked)
                if content is None:
                    self.send_error(404)
                    return
                if asked and ranges:
                    begin = int(asked.removeprefix("bytes=").removesuffix("-"))
                    if begin >= len(content):
                        self.send_error(416)
                        return
                self.send_response(206 if begin else 200)
                self.send_header("Content-Length", str(len(content) - begin))
                self.end_headers()
                end = begin + breaks.pop(0) if breaks else len(content)
                self.wfile.write(content[begin:end])

            def log_message(self, *_):
                pass

        self.requests = requests
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


@pytest.mark.parametrize("ranges", [True, False])
def test_a_download_that_broke_off_is_gone_on_with(tmp_path, capsys, ranges):
    with Server(ranges, breaks=[1000]) as server:
        sets = small_sets(server.url)
        err = run(capsys, "cifar10", "--to", tmp_path, code=1, sets=sets).err
        assert "broke off after 1000 bytes" in err and "--from" in err
        part = tmp_path / "cifar-10-binary.tar.gz.part"
        assert part.stat().st_size == 1000
        run(capsys, "cifar10", "--to", tmp_path, sets=sets)
        assert server.requests == [None, "bytes=1000-"]
    assert (tmp_path / "cifar-10-batches-bin" / "test_batch.bin").stat().st_size == 4 * 3073
    assert not list(tmp_path.glob("cifar-10-binary*"))


def test_a_part_of_another_file_is_fetched_anew(tmp_path, capsys):
    (tmp_path / "cifar-10-binary.tar.gz.part").write_bytes(b"x" * 500)
    with Server() as server:
        run(capsys, "cifar10", "--to", tmp_path, "--keep", sets=small_sets(server.url))
        assert server.requests == ["bytes=500-", None]
    kept = (tmp_path / "cifar-10-binary.tar.gz").read_bytes()
    assert kept == ARCHIVES["cifar-10-binary.tar.gz"]


def test_a_second_address_is_tried(tmp_path, capsys):
    with Server() as server:
        sets = small_sets(server.url)
        [file] = sets["wikitext2"].files
        urls = (f"{server.url}/nothing", *file.urls)
        files = (dataclasses.replace(file, urls=urls),)
        sets["wikitext2"] = dataclasses.replace(sets["wikitext2"], files=files)
        run(capsys, "wikitext2", "--to", tmp_path, sets=sets)
    assert (tmp_path / "wikitext-2" / "wiki.valid.tokens").exists()


def test_without_a_network_the_way_out_is_named(tmp_path, capsys):
    sets = small_sets("http://127.0.0.1:9")  # nobody listens
    err = run(capsys, "mnist", "--to", tmp_path, code=1, sets=sets).err
    assert "cannot be reached" in err and "HINT:" in err and "--from" in err
    err = run(capsys, "mnist", "--to", tmp_path, "--from", tmp_path, code=1).err
    assert "is not there" in err and "ossci-datasets" in err


def tar_with(change):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        info = tarfile.TarInfo("cifar-10-batches-bin/a")
        change(info)
        archive.addfile(info, io.BytesIO(b""))
    return out.getvalue()


HOSTILE = {
    "tar that climbs": ("a.tar.gz", tar_of({"../outside": b"x"}), "leaves its folder"),
    "tar with a root": ("a.tar.gz", tar_of({"/tmp/outside": b"x"}), "leaves its folder"),
    "tar with a link": (
        "a.tar.gz",
        tar_with(lambda i: (setattr(i, "type", tarfile.SYMTYPE), setattr(i, "linkname", "/etc"))),
        "no plain file",
    ),
    "zip that climbs": ("a.zip", zip_of({"a/../../outside": b"x"}), "leaves its folder"),
    "zip with a drive": ("a.zip", zip_of({"c:\\outside": b"x"}), "leaves its folder"),
    "no zip": ("a.zip", b"PK\3\4 nothing", "cannot be unpacked"),
    "half a gzip": ("a.gz", gzip.compress(b"x" * 999)[:20], "cannot be unpacked"),
    "too little": ("a.zip", zip_of({"other": b"x"}), "lacks wanted"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_archives_stay_in_their_folder(tmp_path, capsys, name):
    file, content, words = HOSTILE[name]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / file).write_bytes(content)
    sets = {"bad": get_data.DataSet("", "", (File(file, ("http://x/",)),), holds=("wanted",))}
    err = run(
        capsys, "bad", "--from", tmp_path / "in", "--to", tmp_path / "to", code=1, sets=sets
    ).err
    assert words in err
    assert not any((tmp_path / "to").iterdir())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in", "to"]


def test_sets_by_hand_say_how(tmp_path, capsys):
    for name in ("lsun-bedroom", "imagenet"):
        out = run(capsys, name, "--to", tmp_path / "data").out
        assert (
            "cannot be fetched" in out
            and "source: images" in out
            and "{" not in out.split("\n#")[0]
        )
    assert not (tmp_path / "data").exists()


def test_the_list_and_unknown_names(capsys):
    out = run(capsys).out
    assert all(name in out for name in SETS)
    with pytest.raises(SystemExit):
        get_data.main(["minst"])
    assert "there is no data set 'minst'" in capsys.readouterr().err
