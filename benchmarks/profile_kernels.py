#!/usr/bin/env python3
"""Says what limits each kernel: `run` has Nsight Compute look at one sort of each case by gpusort_bench, and prints a Markdown table;
`report` reads what it has written before; `list` prints the cases."""

import argparse
import csv
import pathlib
import re
import subprocess
import sys
from typing import NamedTuple


class Case(NamedTuple):
    algorithm: str
    keys: str
    values: str
    order: str
    n: str
    distribution: str

    def options(self):
        return [f"--algorithms={self.algorithm}", f"--types={self.keys}", f"--values={self.values}",
                f"--comparator={self.order}", f"--n={self.n}", f"--distributions={self.distribution}",
                "--repetitions=1", "--min-time=0"]

    def name(self):
        return "-".join(self).replace("^", "")

    def title(self):
        elements = self.keys if self.values == "none" else f"({self.keys}, {self.values})"
        return f"{self.algorithm}, {elements}, {self.order}, {self.n}, {self.distribution}"


def cases(algorithm, order, sizes, elements, distributions="uniform"):
    """Elements are written key or key/value."""
    return [Case(algorithm, *(element.split("/") + ["none"])[:2], order, n, distribution)
            for element in elements.split() for n in sizes.split() for distribution in distributions.split()]


CASES = [
    *cases("radix", "less", "2^28", "u8 u16 u32 f32 u64 f64 u32/u32 u64/u64"),
    *cases("radix", "less", "2^26", "u128"),
    *cases("radix", "less", "2^28", "u32 u64 u32/u32", "entropy_3 reversed"),
    *cases("radix", "less", "2^28", "u64/u64", "gaussian"),
    *cases("radix", "less", "2^26", "u128", "entropy_3"),
    *cases("radix", "less", "2^12 2^16 2^20", "u32 u64"),
    *cases("radix", "fields", "2^24", "2xu32 r32"),
    *cases("merge", "custom", "2^12 2^20 2^26", "u32 u64"),
    *cases("merge", "custom", "2^22", "r64"),
    *cases("hybrid", "custom", "2^28", "u32 u64 u32/u32 u64/u64"),
    *cases("hybrid", "custom", "2^28", "u64", "entropy_3"),
    *cases("hybrid", "custom", "2^24", "r16 r64 r256"),
    *cases("hybrid", "scrambled", "2^16 2^20 2^28", "u32 u64"),
    *cases("hybrid", "expensive", "2^24", "u32"),
    *cases("quicksort", "custom", "2^28", "u32 u64 u32/u32"),
    *cases("quicksort", "scrambled", "2^16 2^20 2^28", "u32"),
    *cases("quicksort", "custom", "2^24", "r16"),
]

TIME = "gpu__time_duration.sum"
DRAM = "dram__throughput.avg.pct_of_peak_sustained_elapsed"
SHARED = "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed"
ISSUE = "smsp__issue_active.avg.pct_of_peak_sustained_active"
OCCUPANCY = "sm__warps_active.avg.pct_of_peak_sustained_active"
STALL = re.compile(r"smsp__average_warps_issue_stalled_(\w+)_per_issue_active\.ratio")
NANOSECONDS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "nsecond": 1, "usecond": 1e3, "msecond": 1e6, "second": 1e9}

# A share of its peak from which on something is called what limits the kernel. Whole-number instructions have half the issue rate.
MEMORY_BOUND = 75
SHARED_BOUND = 65
ISSUE_BOUND = 60
# What warps wait for, in words.
WAITS = {"barrier": "barriers", "long_scoreboard": "global memory", "short_scoreboard": "shared memory", "mio_throttle": "shared memory's queue",
         "lg_throttle": "global memory's queue", "math_pipe_throttle": "arithmetic pipes", "wait": "instructions before",
         "no_instruction": "instructions not in the cache", "not_selected": "other warps", "membar": "fences", "sleeping": "sleep",
         "branch_resolving": "branches", "dispatch_stall": "dispatch", "drain": "stores at the end", "imc_miss": "constants",
         "tex_throttle": "the texture queue", "misc": "other"}
# Kernels that take less of a sort than this share a row.
LEAST_SHARE = 0.02


class Kernel(NamedTuple):
    name: str
    microseconds: float
    shares: dict
    stalls: dict

    def reading(self):
        for metric, bound, what in ((DRAM, MEMORY_BOUND, "memory"), (SHARED, SHARED_BOUND, "shared memory"),
                                    (ISSUE, ISSUE_BOUND, "instructions")):
            if self.shares.get(metric, 0) >= bound:
                return what
        waits = sorted(((ratio, reason) for reason, ratio in self.stalls.items() if reason != "selected"), reverse=True)
        total = sum(self.stalls.values())
        return "waits: " + ", ".join(f"{WAITS.get(reason, reason)} {100 * ratio / total:.0f} %"
                                     for ratio, reason in waits[:2]) if total else "-"


def kernel_name(mangled):
    """A kernel's own name; None of what gpusort_bench does for itself."""
    names = []
    place = len("_ZN")
    while length := re.compile(r"\d+").match(mangled, place):
        place = length.end() + int(length[0])
        names.append(mangled[length.end():place])
    return None if len(names) < 2 or names[1] == "benchmarks" else names[-1]


def number(text):
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def read(path):
    """The kernels of a sort, as Nsight Compute writes its raw page, one after the other."""
    with open(path, encoding="utf-8") as file:
        rows = list(csv.reader(line for line in file if line.startswith('"')))
    if len(rows) < 3:
        raise ValueError(f"{path}: no kernel was seen")
    columns = {name: place for place, name in enumerate(rows[0])}
    missing = {"Kernel Name", TIME, DRAM, SHARED, ISSUE, OCCUPANCY} - set(columns)
    if missing:
        raise ValueError(f"{path}: without {', '.join(sorted(missing))}")
    unit = NANOSECONDS[rows[1][columns[TIME]]] / 1e3
    kernels = []
    for row in rows[2:]:
        name = kernel_name(row[columns["Kernel Name"]])
        if name is None:
            continue
        shares = {metric: number(row[columns[metric]]) or 0 for metric in (DRAM, SHARED, ISSUE, OCCUPANCY)}
        stalls = {STALL.fullmatch(column)[1]: number(row[place]) or 0 for column, place in columns.items()
                  if STALL.fullmatch(column)}
        kernels.append(Kernel(name, (number(row[columns[TIME]]) or 0) * unit, shares, stalls))
    return kernels


def percent(share):
    return f"{share:.0f} %"


def table(profiles):
    lines = ["| sort | kernel | us | of the sort | DRAM | shared-memory pipe | issue slots | occupancy | reading |",
             "|---|---|---|---|---|---|---|---|---|"]
    for case, kernels in profiles:
        total = sum(kernel.microseconds for kernel in kernels)
        title = case.title()
        small = [kernel for kernel in kernels if kernel.microseconds < LEAST_SHARE * total]
        for kernel in kernels:
            if kernel in small:
                continue
            lines.append(f"| {title} | `{kernel.name}` | {kernel.microseconds:,.1f} | {percent(100 * kernel.microseconds / total)} | "
                         + " | ".join(percent(kernel.shares[metric]) for metric in (DRAM, SHARED, ISSUE, OCCUPANCY))
                         + f" | {kernel.reading()} |")
            title = ""
        if small:
            names = ", ".join(f"`{name}`" for name in dict.fromkeys(kernel.name for kernel in small))
            time = sum(kernel.microseconds for kernel in small)
            lines.append(f"| {title} | {len(small)} x {names} | {time:,.1f} | {percent(100 * time / total)} | | | | | |")
    return "\n".join(lines)


def profile(bench, folder, chosen):
    folder.mkdir(parents=True, exist_ok=True)
    failed = False
    for case in chosen:
        print(case.title(), file=sys.stderr, flush=True)
        done = subprocess.run(
            ["ncu", "--profile-from-start", "off", "--clock-control", "none", "--kernel-name-base", "mangled",
             "--kernel-name", "regex:^_ZN7gpusort", "--print-kernel-base", "mangled", "--section", "WarpStateStats", "--metrics",
             ",".join((TIME, DRAM, SHARED, ISSUE, OCCUPANCY)), "--csv", "--page", "raw", "--print-units", "base",
             "--log-file", folder / f"{case.name()}.csv", bench, *case.options()],
            check=False, stdout=subprocess.DEVNULL)
        failed = failed or done.returncode != 0
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", default="", help="a regular expression for their names, as `list` prints them [all]")
    jobs = parser.add_subparsers(dest="job", required=True)
    jobs.add_parser("list")
    run = jobs.add_parser("run")
    run.add_argument("bench", help="the program gpusort_bench")
    run.add_argument("folder", type=pathlib.Path, help="for what Nsight Compute writes")
    reading = jobs.add_parser("report")
    reading.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    chosen = [case for case in CASES if re.search(arguments.cases, case.name())]
    if not chosen:
        parser.error(f"no case matches '{arguments.cases}'")

    if arguments.job == "list":
        for case in chosen:
            print(case.name())
        return 0
    failed = arguments.job == "run" and profile(arguments.bench, arguments.folder, chosen)
    profiles = []
    for case in chosen:
        try:
            profiles.append((case, read(arguments.folder / f"{case.name()}.csv")))
        except (OSError, ValueError, KeyError) as error:
            print(f"profile_kernels.py: {error}", file=sys.stderr)
            failed = True
    print(table(profiles))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
