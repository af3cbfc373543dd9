"""A library in Python as a peer of `restride bench`:

    python3 peer.py numpy --device cpu

NAME_peer.py has the library: its Peer is a class with what is in common.Library.
README.md has the protocol. The exit status is 3 if the library is not installed, and
4 if it is not for the device.
"""

import argparse
import gc
import importlib
import json
import os
import sys

NOT_INSTALLED, NOT_HERE = 3, 4


def refuse(status, e):
    print(one_line(e), file=sys.stderr)
    sys.exit(status)


def one_line(e):
    return "".join(c if c.isprintable() else " " for c in " ".join(str(e).split()))[:200]


def answer(common, library, noise, request):
    try:
        return common.measure(library, common.Case(request["case"]), noise, request)
    except common.Unsupported as e:
        return {"error": one_line(e), "unsupported": True}
    except Exception as e:  # any exception of a library: the other cases continue
        return {"error": one_line("%s: %s" % (type(e).__name__, e))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--device", default="cpu", help="cpu, cuda:0, ... (%(default)s)")
    options = parser.parse_args()
    # A library's input and output are not part of the protocol.
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)

    def say(message):
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    try:
        common = importlib.import_module("common")
        module = importlib.import_module(options.library + "_peer")
    except ImportError as e:
        refuse(NOT_INSTALLED, e)
    kind, _, number = options.device.partition(":")
    try:
        library = module.Peer(kind, int(number or 0))
    except common.NotHere as e:
        refuse(NOT_HERE, e)
    noise = common.Noise()
    gc.freeze()  # existing objects stay: collections are then fast
    say({"protocol": 1, "peer": library.name, "device": library.device})
    for line in requests:
        request = json.loads(line)
        out = answer(common, library, noise, request)
        gc.collect()
        library.release()
        say({"name": request["case"]["name"], **out})


if __name__ == "__main__":
    main()
