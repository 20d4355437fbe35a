"""From photographs to a trained model: what `make demo` runs.

    python examples/demo.py                        # photographs of the desktop backgrounds
    python examples/demo.py --photos ~/Pictures    # your own, at least two large ones

Five steps: find photographs; cut a few thousand random crops, those of the middle of each
photograph kept apart; pack the crops into tar shards with the `stoker` command; train a small
network from stoker.torch.Loader to tell from which photograph a crop comes, and test it on the
middles; show where the time went and what PyTorch's own DataLoader takes for the same loading.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # for bench/, which makes the crops

from examples.demo_parts import packing, show  # noqa: E402


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="demo", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--photos", help="folder of photographs (default: desktop backgrounds)")
    parser.add_argument("--cache", default=str(ROOT / ".cache"), help="where data is kept (.cache)")
    parser.add_argument("--crops", type=int, default=3200, help="crops to train with (3200)")
    parser.add_argument("--held-out", type=int, default=800, help="crops to test with (800)")
    parser.add_argument("--epochs", type=int, default=10, help="epochs of training (10)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of the race at the end (3)")
    args = parser.parse_args()
    for name, least in (("crops", 512), ("held_out", 1), ("epochs", 1), ("rounds", 1)):
        if getattr(args, name) < least:
            parser.error(f"--{name.replace('_', '-')} must be {least} or more")
    return args


def run(args: argparse.Namespace) -> None:
    begun = time.perf_counter()
    show.step(1, "Photographs")
    data = packing.make_crops(args)
    show.step(3, "Shards: stoker pack")
    shards = packing.pack(data)

    show.step(4, "Training from stoker.torch.Loader")
    packing.require("torch", "the network is trained with it, so: pip install torch")
    packing.require("stoker", "`make build` installs it")
    from examples.demo_parts import training  # PyTorch takes seconds to import: not before here

    stats, accuracy = training.train(data, shards, args.epochs)

    show.step(5, "Where the time went")
    show.stages(stats)
    from examples.demo_parts import race

    race.run(data, shards, args.rounds)
    chance = 1 / len(data.classes)
    show.line()
    show.line(
        f"Done in {time.perf_counter() - begun:.0f} s. Held-out accuracy {accuracy:.1%}; "
        f"chance would be {chance:.1%}."
    )
    if accuracy < min(3 * chance, (1 + chance) / 2):
        raise packing.DemoFailed("the network learned next to nothing; something is wrong")


def main() -> int:
    args = arguments()
    try:
        run(args)
    except packing.DemoFailed as error:
        show.line()
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        show.line()
        print("demo: stopped; the next run goes on with what is made", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the output went to `head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like Ctrl-C
    sys.exit(main())
