"""The protocol of the servers that benchmarks drive: after "ready" a line "N"
runs N steps and answers with the seconds they took."""

import sys
import time


def serve(make):
    """make() gives run(count), which blocks until all is computed."""
    try:
        run = make()
        run(1)
    except Exception as error:  # whatever keeps an engine from running is its result
        print("does not run:", " ".join(str(error).split())[:160], flush=True)
        return
    print("ready", flush=True)
    for line in sys.stdin:
        start = time.perf_counter()
        run(int(line))
        print(time.perf_counter() - start, flush=True)
