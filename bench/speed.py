"""Time per suggestion beside the peers, growth with n, memory, and import time.

`make bench-speed` (or bench-speed-torch, with BoTorch). Everything is measured once with one BLAS
thread and once with the libraries' default; the peers take turns at each (d, n), so that a busy
moment of the machine falls on all of them.
"""

from __future__ import annotations

import argparse

from bench.peers import PEERS
from bench.speed_report import report
from bench.speed_rows import PARTS, Plan, jobs, quick, run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch", action="store_true", help="BoTorch too")
    parser.add_argument("--quick", action="store_true", help="a smoke run of a few minutes")
    parser.add_argument("--fresh", action="store_true", help="forget the rows measured before")
    parser.add_argument("--peers", help=f"comma-separated, of {', '.join(PEERS)}")
    parser.add_argument("--parts", default=",".join(PARTS), help="comma-separated (default: all)")
    parser.add_argument(
        "--clock",
        choices=("wall", "cpu"),
        default="wall",
        help="cpu: processor time, all threads together; for a machine that does other work too",
    )
    args = parser.parse_args()
    peers = tuple(args.peers.split(",")) if args.peers else tuple(PEERS)
    if unknown := set(peers) - set(PEERS):
        parser.error(f"unknown peers {sorted(unknown)}: choose from {', '.join(PEERS)}")
    parts = tuple(args.parts.split(","))
    if unknown := set(parts) - set(PARTS):
        parser.error(f"unknown parts {sorted(unknown)}: choose from {', '.join(PARTS)}")
    if not args.torch and not args.peers:
        peers = tuple(peer for peer in peers if peer != "botorch")
    plan = quick(Plan(peers)) if args.quick else Plan(peers)
    if args.fresh:
        plan.rows.unlink(missing_ok=True)
    results, reused = run(plan, jobs(plan, parts))
    print(report(plan, results, reused=reused, clock=args.clock))


if __name__ == "__main__":
    main()
