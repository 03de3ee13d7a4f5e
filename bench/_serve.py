"""The protocol of the servers that benchmarks drive: after "ready" a line "N"
runs N steps and answers with the seconds they took; other words may have
answers too. Whatever fails is answered with one line, "does not run: WHY"."""

import sys
import time


def complain(error):
    print("does not run:", " ".join(str(error).split())[:300] or repr(error), flush=True)


def wait_for_turn():
    """Says that what other processes do not disturb is done, and waits for a line:
    from here on the device is for this process alone."""
    print("loaded", flush=True)
    sys.stdin.readline()


def seconds_of(run, count):
    start = time.perf_counter()
    run(count)
    return time.perf_counter() - start


def serve(make, answers=None):
    """make() gives run(count), which blocks until all is computed."""
    answers = answers or {}
    try:
        run = make()
        run(1)
    except Exception as error:  # whatever keeps an engine from running is its result
        complain(error)
        return
    print("ready", flush=True)
    for line in sys.stdin:
        word = line.strip()
        try:
            print(answers[word]() if word in answers else seconds_of(run, int(word)), flush=True)
        except Exception as error:
            complain(error)
