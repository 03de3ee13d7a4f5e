"""Results of bench/gpu.py: kept as JSON beside the text, workload by workload. A row that
is measured again replaces the former one as long as the machine and the versions are the
same; else the whole workload begins anew."""

import json
import statistics
from dataclasses import asdict, dataclass

# Dense bf16, operations per second, by a part of the GPU's name.
PEAK_FLOPS = {"H200": 989e12, "H100": 989e12, "A100": 312e12, "L40S": 362e12}

HEAD = (f"  {'way':18} {'':5} {'B':>4} {'model-steps/s':>14} {'[lowest, highest]':>21}"
        f" {'x eager':>8} {'x best other':>12} {'GiB':>7} {'MFU %':>6}")


@dataclass
class Row:
    way: str
    precision: str
    members: int
    date: str
    rates: list  # model-steps per second, by round; none when it failed
    gib: float | None = None
    calls: int | None = None  # kernels that one step of Braid launches, at least
    trouble: str = ""

    def key(self):
        return self.way, self.precision, self.members

    def rate(self):
        return statistics.median(self.rates) if self.rates else 0

    def is_own(self):
        return self.way.startswith("braid")


def highest(rows, test):
    return max((row.rate() for row in rows if test(row)), default=0)


def ratio_text(rate, other, width):
    return f"{rate / other:{width}.2f}" if rate and other else f"{'-':>{width}}"


def mfu_text(rate, block):
    peak = next((v for k, v in PEAK_FLOPS.items() if k in block["machine"]["gpu"]), 0)
    share = rate * (block["flops"] or 0) / peak if peak else 0
    return f"{share * 100:6.1f}" if share else f"{'-':>6}"


def row_text(row, block, eager, other, is_best):
    start = f"{'*' if is_best else ' '} {row.way:18} {row.precision:5} {row.members:4}"
    notes = [] if row.date == block["date"] else [row.date]
    if not row.rates:
        return " ".join([start, row.trouble, *notes])
    if row.calls:
        notes.append(f"{row.calls} calls")
    span = f"[{min(row.rates):.1f}, {max(row.rates):.1f}]"
    gib = f"{row.gib:7.2f}" if row.gib else f"{'-':>7}"
    return " ".join([
        start, f"{row.rate():14.1f}", f"{span:>21}", ratio_text(row.rate(), eager, 8),
        ratio_text(row.rate(), other, 12), gib, mfu_text(row.rate(), block), *notes])


def block_text(name, block):
    """The table of one workload; a star is at the best number of members of a way."""
    rows = [Row(**row) for row in block["rows"]]
    eager = highest(rows, lambda row: row.way == "eager")
    other = highest(rows, lambda row: not row.is_own())
    best = {}
    for row in rows:
        way = row.way, row.precision
        if row.rates and row.rate() > best.get(way, (0,))[0]:
            best[way] = row.rate(), row.members
    lines = [f"{name}: {block['title']}",
             ", ".join([block["date"], *(f"{k} {v}" for k, v in block["machine"].items())]),
             block["how"]]
    if block["flops"]:
        lines.append(f"{block['flops'] / 1e9:.2f} GFLOP in a step of one model")
    lines.append(HEAD)
    for row in rows:
        is_best = best.get((row.way, row.precision), (0, 0))[1] == row.members
        lines.append(row_text(row, block, eager, other, is_best))
    return "\n".join(lines) + "\n"


def merged(old, new):
    if not old or any(old[key] != new[key] for key in ("title", "machine")):
        return new
    rows = {Row(**row).key(): row for row in [*old["rows"], *new["rows"]]}
    return {**new, "flops": new["flops"] or old["flops"], "rows": list(rows.values())}


def new_block(workload, machine, date, how, flops, rows):
    return {"title": workload.title, "machine": machine, "date": date, "how": how,
            "flops": flops, "rows": [asdict(row) for row in rows]}


def keep(file, name, block):
    """Merges the block into the file and its JSON; gives the merged one."""
    data = file.with_suffix(".json")
    blocks = json.loads(data.read_text()) if data.exists() else {}
    blocks[name] = merged(blocks.get(name), block)
    file.parent.mkdir(parents=True, exist_ok=True)
    data.write_text(json.dumps(blocks, indent=1) + "\n")
    file.write_text("\n".join(block_text(*item) for item in blocks.items()))
    return blocks[name]
