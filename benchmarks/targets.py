#!/usr/bin/env python3
"""Holds what this library wants to be against what was measured: `run` measures every cell with gpusort_bench and
reports, `report` reads JSON that has been measured before, `summary` says of that in one row for each target how far it is
reached, `list` prints the commands that `run` would use."""

import argparse
import itertools
import json
import pathlib
import statistics
import subprocess
import sys
from typing import NamedTuple

from ratios import Results, microseconds, power

UNEVEN = ["nearly_sorted", "bucket", "gaussian", "staggered", "few_distinct", "zipf", "entropy_1", "entropy_2",
          "entropy_3", "entropy_4", "entropy_5", "runs", "organ_pipe", "two_values", "coarse", "common_prefix",
          "half_alike"]
IN_ORDER = ["sorted", "reversed", "zero"]


def powers(first, last, step=2):
    return [1 << exponent for exponent in range(first, last + 1, step)]


class Target(NamedTuple):
    """Ours is to be `factor` times as fast as the peer in all cells, which are the products of the lists."""
    suite: str
    keys: list
    values: list
    order: str
    distributions: list
    sizes: list
    ours: list
    peer: str
    factor: float


def radix(keys, values, sizes, factor, distributions=("uniform",)):
    return Target("radix", keys.split(), values.split(), "less", list(distributions), sizes, ["radix"], "cub_radix", factor)


def comparison(keys, values, sizes, ours, factor, distributions=("uniform",), suite="comparison"):
    return Target(suite, keys.split(), values.split(), "custom", list(distributions), sizes, ours.split(), "cub_merge",
                  factor)


def uneven(keys, values, more=()):
    """What is asked of every other distribution, size and type. 2^21 is where one way of sorting ends and another begins."""
    return Target("uneven", keys.split(), values.split(), "less", ["uniform", *IN_ORDER, *UNEVEN, *more],
                  [*powers(10, 24), 1 << 21], ["radix"], "cub_radix", 1)


def quicksort(keys, values, sizes, factor, distributions=("uniform",)):
    return comparison(keys, values, sizes, "quicksort", factor, distributions, "quicksort")


TARGETS = [
    radix("u32 f32", "none", powers(24, 30), 1.4),
    radix("u64 i64 f64", "none", powers(22, 30), 2.2),
    radix("u128", "none", powers(24, 28), 3.5),
    radix("u32 f32", "u32", powers(24, 30), 1.2),
    radix("u64", "u32 u64", powers(24, 28), 1.6),
    radix("u8 u16", "none", powers(28, 28), 1.25),
    radix("u32", "none", powers(20, 20), 2),
    radix("u64", "none", powers(20, 20), 4),
    radix("u32", "none", powers(14, 18), 2.5),
    radix("u64", "none", powers(14, 18), 3.5),
    radix("u8 u16 u32 f32 u64 f64 u128", "none", powers(8, 12), 1.5),
    radix("u32 u64", "u32", powers(8, 12), 1.5),
    radix("u32 u64", "none u32", powers(28, 28), 6, IN_ORDER),
    radix("u32", "none", powers(28, 28), 2.5, ["eight_bits"]),
    radix("u8 u16 u32 u64", "none", powers(28, 28), 1, UNEVEN),
    radix("u32 u64", "u32", powers(28, 28), 1, UNEVEN),
    radix("f32 f64", "none", powers(22, 28), 1, ["unit", "normal"]),
    Target("plain", ["u32", "u64"], ["none", "u32"], "less", ["uniform"], powers(8, 28, 4), ["plain"], "thrust", 1.5),
    comparison("u32", "none", powers(24, 30), "merge", 1.2),
    comparison("u64", "none", powers(24, 30), "merge", 1.3),
    comparison("r16", "none", powers(24, 28), "merge", 1.3),
    comparison("r64", "none", powers(22, 24), "merge", 1.3),
    comparison("u32 f32", "u32", powers(24, 28), "merge", 1.3),
    comparison("u64", "u64", powers(24, 28), "merge", 1.3),
    comparison("u32", "none", powers(24, 30), "automatic hybrid", 2),
    comparison("u64", "none", powers(24, 30), "automatic hybrid", 2.5),
    comparison("r16", "none", powers(24, 28), "automatic hybrid", 3.5),
    comparison("r64", "none", powers(22, 24), "automatic hybrid", 3.5),
    comparison("u32 f32", "u32", powers(24, 28), "automatic hybrid", 2.2),
    comparison("u64", "u64", powers(24, 28), "automatic hybrid", 2.8),
    comparison("u32 u64 r16 r64", "none", powers(20, 20), "automatic hybrid", 2.5),
    comparison("u32 f32", "u32", powers(20, 20), "automatic hybrid", 2.5),
    comparison("u64", "u64", powers(20, 20), "automatic hybrid", 2.5),
    comparison("u32 u64", "none", powers(14, 18), "automatic hybrid", 2.5),
    comparison("u32 u64 r16 r64", "none", powers(8, 12), "automatic hybrid", 1.5),
    comparison("u32 u64", "none", powers(28, 28), "automatic hybrid", 6, IN_ORDER),
    comparison("u32 u64", "none", powers(28, 28), "automatic hybrid", 1.3, UNEVEN),
    comparison("u32", "u32", powers(28, 28), "automatic hybrid", 1.3, UNEVEN),
    quicksort("u32 u64", "none", powers(24, 30), 1.5),
    quicksort("u32 f32", "u32", powers(24, 28), 1.5),
    quicksort("u64", "u64", powers(24, 28), 1.5),
    quicksort("r16", "none", powers(24, 28), 2.2),
    quicksort("u32 u64", "none", powers(20, 20), 1.5),
    quicksort("u32 u64", "none", powers(14, 18), 2),
    quicksort("u32 u64", "none", powers(28, 28), 8, ["zero"]),
    quicksort("u32 u64", "none", powers(28, 28), 0, ["sorted", "reversed", *UNEVEN]),  # bounded by the uniform time
    uneven("u32", "none u32"),
    uneven("f32 f64", "none", ["unit", "normal"]),
    uneven("u64", "none u32"),
    uneven("u8 u16 u128", "none"),
    # The time of 2^33 keys is held against that of 2^28; no peer is needed.
    Target("huge", ["u32"], ["none"], "less", ["uniform"], [1 << 28, 1 << 33], ["radix"], "", 0),
]

# At most so many times our own uniform time of the same size: on uneven distributions, and on inputs in order.
MOST_OF_UNIFORM = {"radix": (1.10, None), "uneven": (1.10, None), "comparison": (1.15, None), "quicksort": (3.0, 1.0)}
# At most so much scratch memory: of the peer's, or of one more array of the input's size; for inputs that are not small.
MOST_SCRATCH = {"radix": ("peer", 1.02), "comparison": ("array", 1.03)}
SCRATCH_FROM = 1 << 20
BYTES = {"none": 0, "u8": 1, "u16": 2, "u32": 4, "f32": 4, "u64": 8, "i64": 8, "f64": 8, "u128": 16, "r16": 16, "r64": 64}
MOST_OF_COST_PER_KEY = 1.10  # of 2^33 keys, of that of 2^28


def suites():
    return list(dict.fromkeys(target.suite for target in TARGETS))


def commands(suite):
    """The options of gpusort_bench that measure a suite, each cell once."""
    cells = {}
    for target in TARGETS:
        if target.suite == suite:
            for keys, values, distribution in itertools.product(target.keys, target.values, target.distributions):
                contenders, sizes = cells.setdefault((keys, values, target.order, distribution), ({}, set()))
                contenders.update(dict.fromkeys(target.ours + ([target.peer] if target.peer else [])))
                sizes.update(target.sizes)
    # Distributions of the same sizes and contenders share a command, and so make one input after another of a kind.
    shared = {}
    for (keys, values, order, distribution), (contenders, sizes) in cells.items():
        shared.setdefault((keys, values, order, tuple(contenders), tuple(sorted(sizes))), []).append(distribution)
    for (keys, values, order, contenders, sizes), distributions in shared.items():
        yield [f"--types={keys}", f"--values={values}", f"--comparator={order}", f"--algorithms={','.join(contenders)}",
               f"--n={','.join(map(str, sizes))}", f"--distributions={','.join(distributions)}"]


class Report:
    """Rows of (cell, what is asked, what was measured, the verdict)."""

    def __init__(self, results):
        self.times = {row: {name: statistics.median(times) for name, times in cells.items()}
                      for row, cells in results.times.items()}
        self.scratch = results.scratch
        self.rows = []
        self.reached = self.missed = self.unknown = 0

    def add(self, cell, asked, measured, is_reached):
        if is_reached is None:
            self.unknown += 1
        elif is_reached:
            self.reached += 1
        else:
            self.missed += 1
        verdict = "not measured" if is_reached is None else "yes" if is_reached else "**no**"
        self.rows.append([*cell, asked, measured, verdict])

    def time(self, row, name):
        return self.times.get(row, {}).get(name)

    def add_target(self, target, ours, row):
        keys, values, _, distribution, n = row
        cell = [target.suite, ours, keys, "-" if values == "none" else values, distribution, power(n)]
        time, peer, uniform = (self.time(row, ours), self.time(row, target.peer),
                               self.time((*row[:3], "uniform", n), ours))
        if target.factor:
            ratio = peer / time if time and peer else None
            self.add(cell, f"{target.factor:g} x {target.peer}", f"{ratio:.2f} x" if ratio else "-",
                     None if ratio is None else ratio >= target.factor)
        uneven, in_order = MOST_OF_UNIFORM.get(target.suite, (None, None))
        limit = uneven if distribution in UNEVEN else in_order if distribution in IN_ORDER else None
        if limit:
            share = time / uniform if time and uniform else None
            self.add(cell, f"at most {limit:g} of uniform", f"{share:.2f}" if share else "-",
                     None if share is None else share <= limit)
        if target.suite in MOST_SCRATCH and distribution == "uniform" and n >= SCRATCH_FROM:
            kind, most = MOST_SCRATCH[target.suite]
            scratch = self.scratch.get(row, {})
            room = scratch.get(target.peer) if kind == "peer" else n * (BYTES[keys] + BYTES[values])
            share = scratch[ours] / room if room and ours in scratch else None
            self.add(cell, f"scratch at most {most:g} of the {kind}'s", f"{share:.3f}" if share is not None else "-",
                     None if share is None else share <= most)

    def add_all(self, chosen):
        for target in TARGETS:
            if target.suite not in chosen:
                continue
            if target.suite == "huge":
                self.add_cost_per_key(target)
                continue
            for ours, keys, values, distribution, n in itertools.product(
                    target.ours, target.keys, target.values, target.distributions, target.sizes):
                self.add_target(target, ours, (keys, values, target.order, distribution, n))

    def add_cost_per_key(self, target):
        few, many = target.sizes
        cost = [None if time is None else time / n for n, time in
                ((n, self.time((target.keys[0], "none", target.order, "uniform", n), target.ours[0])) for n in (few, many))]
        share = cost[1] / cost[0] if None not in cost else None
        self.add([target.suite, target.ours[0], target.keys[0], "-", "uniform", power(many)],
                 f"at most {MOST_OF_COST_PER_KEY:g} of the cost of a key at {power(few)}",
                 f"{share:.2f}" if share else "-", None if share is None else share <= MOST_OF_COST_PER_KEY)

    def text(self, only_missed):
        rows = [row for row in self.rows if not only_missed or row[-1] != "yes"]
        header = ["suite", "ours", "keys", "values", "distribution", "n", "asked", "measured", "reached"]
        lines = ["| " + " | ".join(header) + " |", "|---" * len(header) + "|"]
        lines += ["| " + " | ".join(row) + " |" for row in rows]
        lines += ["", f"{self.reached} reached, {self.missed} missed, {self.unknown} not measured."]
        return "\n".join(lines)


def in_short(distributions):
    for name, known in (("every", ["uniform", *IN_ORDER, *UNEVEN]), ("sorted, reversed, zero", IN_ORDER),
                        ("all others", UNEVEN)):
        if distributions[:len(known)] == known:
            return ", ".join([name, *distributions[len(known):]])
    return ", ".join(distributions)


def span(least, most):
    return least if least == most else f"{least} to {most}"


def summary(results, chosen):
    """A row for each target by a peer, of the first of ours that it is for."""
    measured = Report(results)
    header = ["ours", "keys", "values", "distribution", "n", "asked", "measured", "missed"]
    lines = ["| " + " | ".join(header) + " |", "|---" * len(header) + "|"]
    for target in TARGETS:
        if target.suite not in chosen or not target.factor:
            continue
        cells = itertools.product(target.keys, target.values, [target.order], target.distributions, target.sizes)
        times = [(measured.time(cell, target.ours[0]), measured.time(cell, target.peer)) for cell in cells]
        ratios = [peer / time for time, peer in times if time and peer]
        if not ratios:
            continue
        missed = sum(ratio < target.factor for ratio in ratios)
        row = [", ".join(target.ours), ", ".join(target.keys), ", ".join(target.values).replace("none", "-"),
               in_short(target.distributions), span(power(min(target.sizes)), power(max(target.sizes))),
               f"{target.factor:g} x {target.peer}", span(f"{min(ratios):.2f}", f"{max(ratios):.2f}"),
               f"{missed} of {len(ratios)}" if missed else f"none of {len(ratios)}"]
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def measure(bench, folder, chosen, more):
    folder.mkdir(parents=True, exist_ok=True)
    failed = False
    for suite in chosen:
        for number, options in enumerate(commands(suite)):
            json_file = folder / f"{suite}-{number:02}.json"
            print("gpusort_bench", *options, flush=True)
            done = subprocess.run([bench, *options, *more, f"--json={json_file}"], check=False, stdout=subprocess.DEVNULL)
            failed = failed or done.returncode != 0
    return failed


def read(files):
    results = Results()
    for file in files:
        results.read(file)
    for error in results.errors:
        print(f"left out: {error}", file=sys.stderr)
    return results


def report(files, chosen, only_missed):
    answer = Report(read(files))
    answer.add_all(chosen)
    print(answer.text(only_missed))


def main():
    parser = argparse.ArgumentParser(description=__doc__, epilog=f"Suites: {', '.join(suites())}.")
    parser.add_argument("--suites", default=",".join(suites()), help="some of them, with commas between [all]")
    parser.add_argument("--missed", action="store_true", help="leave out what was reached")
    jobs = parser.add_subparsers(dest="job", required=True)
    jobs.add_parser("list")
    run = jobs.add_parser("run")
    run.add_argument("bench", help="the program gpusort_bench")
    run.add_argument("folder", type=pathlib.Path, help="for its JSON")
    run.add_argument("options", nargs="*", help="further options of gpusort_bench, after --")
    for job in ("report", "summary"):
        reading = jobs.add_parser(job)
        reading.add_argument("files", nargs="+", metavar="FILE", help="JSON of gpusort_bench")
    arguments = parser.parse_args()
    chosen = [suite for suite in arguments.suites.split(",") if suite]
    unknown = set(chosen) - set(suites())
    if unknown:
        parser.error(f"no such suite: {', '.join(sorted(unknown))}")

    if arguments.job == "list":
        for suite in chosen:
            for options in commands(suite):
                print("gpusort_bench", *options)
        return 0
    failed = False
    files = getattr(arguments, "files", None)
    if arguments.job == "run":
        failed = measure(arguments.bench, arguments.folder, chosen, arguments.options)
        files = sorted(path for suite in chosen for path in arguments.folder.glob(f"{suite}-*.json"))
    try:
        if arguments.job == "summary":
            print(summary(read(files), chosen))
        else:
            report(files, chosen, arguments.missed)
    except (OSError, ValueError, KeyError, json.JSONDecodeError) as error:
        print(f"targets.py: {error}", file=sys.stderr)
        return 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
