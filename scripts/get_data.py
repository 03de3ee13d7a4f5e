#!/usr/bin/env python3
"""Fetches public data sets, compares their checksums, unpacks them and prints the lines
of a job file that read them.

    get_data.py                             what there is
    get_data.py mnist cifar10 --to data     fetches both into the folder data
    get_data.py cifar10 --from ~/Downloads  takes files that are there already

What was fetched in part is gone on with, and what is there already is left alone. A file
without a checksum of its own here is compared with SHA256SUMS in the folder, where
--write-sums puts it; in any case its checksum is printed.
"""

import argparse
import gzip
import hashlib
import http.client
import os
import shutil
import ssl
import stat
import sys
import tarfile
import urllib.error
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

SUMS = "SHA256SUMS"
BLOCK = 1 << 20
BROKEN = (TimeoutError, ConnectionError, ssl.SSLError)  # of a connection, unlike a full disk
MOST_BYTES = 64 << 30  # that an archive may unpack to


class DataError(Exception):
    """What the user should read, with a HINT line where there is one."""


@dataclass(frozen=True)
class File:
    name: str
    urls: tuple  # tried in order
    bytes: int = 0  # 0: not known
    md5: str = ""  # as its publisher or torchvision and torchtext have it


@dataclass(frozen=True)
class DataSet:
    about: str
    lines: str  # of a job; {folder} is where it lies
    files: tuple = ()
    holds: tuple = ()  # what must be there once unpacked
    by_hand: str = ""  # why and how, where it cannot be fetched
    size: str = ""


def mnist_file(name, size, md5):
    return File(name, (f"https://ossci-datasets.s3.amazonaws.com/mnist/{name}",), size, md5)


def wikitext(number, md5, size):
    name = f"wikitext-{number}-v1.zip"
    return DataSet(
        about=f"WikiText-{number}: articles of Wikipedia as words",
        size=size,
        files=(
            File(
                name,
                (
                    f"https://wikitext.smerity.com/{name}",
                    f"https://s3.amazonaws.com/research.metamind.io/wikitext/{name}",
                ),
                md5=md5,
            ),
        ),
        holds=tuple(f"wikitext-{number}/wiki.{p}.tokens" for p in ("train", "valid", "test")),
        lines=f"""\
data:
  source: text
  file: {{folder}}/wikitext-{number}/wiki.train.tokens
  unit: words
  val_fraction: 0
  length: 32
eval:
  data:
    source: text
    file: {{folder}}/wikitext-{number}/wiki.valid.tokens
    val_fraction: 0
    length: 32
""",
    )


def cifar(classes, md5, size):
    name = f"cifar-{classes}-binary.tar.gz"
    folder = "cifar-10-batches-bin" if classes == 10 else "cifar-100-binary"
    files = (
        (*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin")
        if classes == 10
        else ("train.bin", "test.bin")
    )
    return DataSet(
        about=f"CIFAR-{classes}: 60,000 pictures of {classes} classes, binary version",
        size=size,
        files=(File(name, (f"https://www.cs.toronto.edu/~kriz/{name}",), md5=md5),),
        holds=tuple(f"{folder}/{file}" for file in files),
        lines=f"data:\n  source: cifar{classes}\n  folder: {{folder}}/{folder}\n",
    )


SHAPES = "shapenetcore_partanno_segmentation_benchmark_v0"

SETS = {
    "mnist": DataSet(
        about="MNIST: 70,000 written digits",
        size="12 MB",
        files=(
            mnist_file("train-images-idx3-ubyte.gz", 9912422, "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
            mnist_file("train-labels-idx1-ubyte.gz", 28881, "d53e105ee54ea40749a09fcbcd1e9432"),
            mnist_file("t10k-images-idx3-ubyte.gz", 1648877, "9fb629c4189551a2d022fa330f9573f3"),
            mnist_file("t10k-labels-idx1-ubyte.gz", 4542, "ec29112dd5afa0611ce80d1b7f02629c"),
        ),
        holds=tuple(
            f"{part}-{kind}-ubyte"
            for part in ("train", "t10k")
            for kind in ("images-idx3", "labels-idx1")
        ),
        lines="data:\n  source: idx\n  folder: {folder}\n",
    ),
    "cifar10": cifar(10, "c32a1d4ab5d03f1284b67883e8d87530", "162 MB"),
    "cifar100": cifar(100, "03b5dce01913d631647c71ecec9e9cb8", "161 MB"),
    "wikitext2": wikitext(2, "542ccefacc6c27f945fb54453812b3cd", "4 MB"),
    "wikitext103": wikitext(103, "9ddaacaf6af0710eda8c456decff7832", "190 MB"),
    "shapenet-part": DataSet(
        about="ShapeNet part: 16,881 clouds of 16 classes, with the part of every point",
        size="635 MB",
        files=(File(f"{SHAPES}.zip", (f"https://shapenet.cs.stanford.edu/ericyi/{SHAPES}.zip",)),),
        holds=(
            f"{SHAPES}/train_test_split/shuffled_train_file_list.json",
            f"{SHAPES}/train_test_split/shuffled_test_file_list.json",
        ),
        lines=f"""\
data:
  source: clouds   # with labels: points and classes: ['03001627'] the parts of chairs
  folder: {{folder}}/{SHAPES}
  list: {{folder}}/{SHAPES}/train_test_split/shuffled_train_file_list.json
  points: 2500
eval:
  data:
    source: clouds
    folder: {{folder}}/{SHAPES}
    list: {{folder}}/{SHAPES}/train_test_split/shuffled_test_file_list.json
    points: 2500
""",
    ),
    "lsun-bedroom": DataSet(
        about="LSUN bedroom: 3,033,042 pictures",
        size="43 GB",
        by_hand="""\
Its 43 GB are an LMDB, which has to be turned into pictures once:
  1. fetch http://dl.yf.io/lsun/scenes/bedroom_train_lmdb.zip and unpack it
  2. python3 data.py export bedroom_train_lmdb --out_dir {folder}/lsun/bedroom --flat
     with data.py of https://github.com/fyu/lsun
  3. the files are WebP: save them as JPEG or PNG""",
        lines="data:\n  source: images\n  folder: {folder}/lsun\n  side: 64\n"
        "  augment: {{mean: 0.5, std: 0.5}}\n",
    ),
    "imagenet": DataSet(
        about="ImageNet (ILSVRC 2012): 1.2 million pictures of 1000 classes",
        size="144 GB",
        by_hand="""\
Its pictures are given to those who ask for them:
  1. register at https://image-net.org and fetch ILSVRC2012_img_train.tar and _img_val.tar
  2. unpack them to a folder for every class: {folder}/imagenet/train/n01440764/*.JPEG
     and {folder}/imagenet/val/n01440764/*.JPEG""",
        lines="data:\n  source: images\n  folder: {folder}/imagenet/train\neval:\n  data:\n"
        "    source: images\n    folder: {folder}/imagenet/val\n",
    ),
}


def sum_of(path, kind):
    digest = hashlib.new(kind, usedforsecurity=False)
    with open(path, "rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


class Sums:
    """SHA256SUMS of a folder, as sha256sum writes it."""

    def __init__(self, folder):
        self.path = folder / SUMS
        self.known = {}
        if self.path.exists():
            for number, line in enumerate(self.path.read_text().splitlines(), 1):
                digest, _, name = line.partition("  ")
                if len(digest) != 64 or not name:
                    raise DataError(f"{self.path}, line {number}: expected a sum and a name")
                self.known[name] = digest

    def write(self, name, digest):
        self.known[name] = digest
        lines = "".join(f"{d}  {n}\n" for n, d in sorted(self.known.items()))
        part = self.path.with_suffix(".part")
        part.write_text(lines)
        part.replace(self.path)


def check_file(file, path, sums, write_sums):
    """Throws when the file is not the one that was published."""
    size = path.stat().st_size
    if file.bytes and size != file.bytes:
        raise DataError(f"{path} has {size} bytes, expected {file.bytes}")
    if file.md5:
        found = sum_of(path, "md5")
        if found != file.md5:
            raise DataError(f"{path} has the md5 {found}, expected {file.md5}")
        return
    found = sum_of(path, "sha256")
    known = sums.known.get(file.name)
    if known and known != found:
        raise DataError(f"{path} has the sha256 {found}, {sums.path} has {known}")
    print(f"sum    sha256 {found} of {file.name}" + (", as before" if known else ""))
    if write_sums:
        sums.write(file.name, found)


def fetch(url, part):
    """Appends to `part` what it lacks; begins anew where the server cannot go on."""
    have = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "get_data.py"} | ({"Range": f"bytes={have}-"} if have else {})
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, headers=headers),
            timeout=60,
        ) as answer:
            goes_on = answer.status == 206
            with open(part, "ab" if goes_on else "wb") as out:
                shutil.copyfileobj(answer, out, BLOCK)
            length = answer.headers.get("Content-Length")
            added = part.stat().st_size - (have if goes_on else 0)
            if length and added != int(length):
                raise DataError(f"{url} broke off after {part.stat().st_size} bytes")
    except urllib.error.HTTPError as error:
        if error.code == 416 and have:  # there is no more
            return
        raise DataError(f"{url} answers {error.code} {error.reason}") from error
    except (urllib.error.URLError, http.client.HTTPException, *BROKEN) as error:
        reason = getattr(error, "reason", error)
        raise DataError(f"{url} cannot be reached: {reason}") from error


def try_url(url, file, part, sums, write_sums):
    fetch(url, part)
    try:
        check_file(file, part, sums, write_sums)
    except DataError:
        part.unlink(missing_ok=True)  # going on with it would never end well
        raise


def download(file, path, sums, write_sums):
    part = path.with_name(path.name + ".part")
    problems = []
    for url in file.urls:
        had_part = part.exists()
        for _ in range(2 if had_part else 1):  # the part may be of another file
            print(f"fetch  {url}")
            try:
                try_url(url, file, part, sums, write_sums)
            except DataError as error:
                problems.append(str(error))
                continue
            part.replace(path)
            return
    raise DataError(
        "\n  ".join([f"{file.name} was not fetched:", *problems])
        + f"\nHINT: without a network, fetch {file.urls[0]} elsewhere and name its folder "
        "with --from"
    )


def obtain(file, options, sums):
    """Where the file lies, checked."""
    if options.source:
        path = options.source / file.name
        if not path.exists():
            raise DataError(f"{path} is not there\nHINT: it is from {file.urls[0]}")
        check_file(file, path, sums, options.write_sums)
        return path
    path = options.to / file.name
    if path.exists():
        check_file(file, path, sums, options.write_sums)
    else:
        download(file, path, sums, options.write_sums)
    return path


def safe_name(name, archive):
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name:
        raise DataError(f"{archive} wants to write '{name}', which leaves its folder")
    return path


def copy_out(source, target, size, budget):
    budget[0] -= size
    if budget[0] < 0:
        raise DataError(f"{target} and others unpack to more than {MOST_BYTES} bytes")
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target, "wb") as out:
        shutil.copyfileobj(source, out, BLOCK)
    if target.stat().st_size != size:
        raise DataError(f"{target} has {target.stat().st_size} bytes, expected {size}")


def unpack_tar(path, folder):
    budget = [MOST_BYTES]
    with tarfile.open(path) as archive:
        for member in archive:
            target = folder / safe_name(member.name, path)
            if member.isdir():
                target.mkdir(parents=True, exist_ok=True)
            elif member.isfile():
                copy_out(archive.extractfile(member), target, member.size, budget)
            else:
                raise DataError(f"{path} holds '{member.name}', which is no plain file")


def unpack_zip(path, folder):
    budget = [MOST_BYTES]
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            target = folder / safe_name(member.filename, path)
            if stat.S_ISLNK(member.external_attr >> 16):
                raise DataError(f"{path} holds '{member.filename}', which is a link")
            if member.is_dir():
                target.mkdir(parents=True, exist_ok=True)
            else:
                with archive.open(member) as source:
                    copy_out(source, target, member.file_size, budget)


def unpack_gzip(path, folder):
    with gzip.open(path) as source, open(folder / path.stem, "wb") as out:
        shutil.copyfileobj(source, out, BLOCK)


def unpack(path, folder):
    ways = {".tar.gz": unpack_tar, ".zip": unpack_zip, ".gz": unpack_gzip}
    way = next(way for ending, way in ways.items() if path.name.endswith(ending))
    try:
        way(path, folder)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, gzip.BadGzipFile) as error:
        raise DataError(f"{path} cannot be unpacked: {error}") from error


def missing_in(data, folder):
    return [name for name in data.holds if not (folder / name).is_file()]


def move_all(source, target):
    """Whole files only: each is renamed into its place."""
    for path in sorted(source.rglob("*")):
        place = target / path.relative_to(source)
        if path.is_dir():
            place.mkdir(parents=True, exist_ok=True)
        else:
            path.replace(place)


def get(name, data, options):
    folder = options.to
    if data.by_hand:
        print(f"hand   {name} cannot be fetched by a program.")
        print(data.by_hand.format(folder=folder))
        return
    if not missing_in(data, folder):
        print(f"there  {name} in {folder}")
        return
    folder.mkdir(parents=True, exist_ok=True)
    sums = Sums(folder)
    paths = [obtain(file, options, sums) for file in data.files]
    scratch = folder / f".{name}.unpacked"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    try:
        for path in paths:
            print(f"unpack {path}")
            unpack(path, scratch)
        if missing := missing_in(data, scratch):
            raise DataError(f"{name} lacks {', '.join(missing)}")
        move_all(scratch, folder)
    except DataError:
        if not options.source:  # what was fetched is no good
            for path in paths:
                path.unlink(missing_ok=True)
        raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if not options.source and not options.keep:
        for path in paths:
            path.unlink()


def list_sets(sets):
    for name, data in sets.items():
        way = "by hand" if data.by_hand else "checked" if data.files[0].md5 else "no checksum known"
        print(f"{name:<14} {data.size:>7}  {data.about} ({way})")


def parse(argv, sets):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a data set; none: list them")
    parser.add_argument("--to", type=Path, default=Path("data"), metavar="DIR", help="data")
    parser.add_argument(
        "--from", type=Path, dest="source", metavar="DIR", help="take files from this folder"
    )
    parser.add_argument("--keep", action="store_true", help="keep archives that were fetched")
    parser.add_argument(
        "--write-sums", action="store_true", help=f"record checksums that are not known in {SUMS}"
    )
    options = parser.parse_args(argv)
    for name in options.names:
        if name not in sets:
            parser.error(f"there is no data set '{name}'; there are {', '.join(sets)}")
    return options


def main(argv=None, sets=None):
    sets = sets or SETS
    options = parse(argv, sets)
    if not options.names:
        list_sets(sets)
        return 0
    try:
        for name in options.names:
            get(name, sets[name], options)
    except DataError as error:
        print(f"get_data: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"get_data: {error.filename}: {os.strerror(error.errno or 0)}", file=sys.stderr)
        return 1
    for name in options.names:
        print(f"\n# {name}: lines of a job file\n" + sets[name].lines.format(folder=options.to))
    return 0


if __name__ == "__main__":
    sys.exit(main())
