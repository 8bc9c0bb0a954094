#!/usr/bin/env python3
"""Prints a Markdown table from the JSON that `gpusort_bench --json=FILE` writes: one row for each input, the times of
all contenders in microseconds, and how many times as fast ours are as their peers."""

import argparse
import json
import statistics
import sys

COLUMNS = ["automatic", "radix", "merge", "quicksort", "hybrid", "plain",
           "cub_radix", "cub_merge", "thrust", "thrust_stable"]
RATIOS = ["radix:cub_radix", "merge:cub_merge", "quicksort:cub_merge", "hybrid:cub_merge", "plain:thrust"]
MICROSECONDS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
CONTEXT = [("GPU", "gpu"), ("CUDA toolkit", "toolkit"), ("CCCL", "cccl"), ("gpusort", "gpusort"), ("date", "date")]


class Results:
    """Times in microseconds and bytes of scratch memory by row and contender, and what went wrong."""

    def __init__(self):
        self.context = {}
        self.times = {}
        self.scratch = {}
        self.errors = []

    def read(self, path):
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        context = {key: str(value) for key, value in data.get("context", {}).items()}
        for label, key in CONTEXT[:-1]:
            before, now = self.context.get(key), context.get(key)
            if before is not None and before != now:
                print(f"ratios.py: {path}: {label} is {now}, not {before}: these are not comparable", file=sys.stderr)
        self.context = {**context, **self.context}

        for run in data.get("benchmarks", []):
            if run.get("run_type", "iteration") != "iteration":
                continue
            parts = run["name"].split("/")
            if len(parts) < 6 or not parts[3].isdigit():
                raise ValueError(f"'{run['name']}' is no name that gpusort_bench gives")
            contender, keys, values, n, distribution, comparator = parts[:6]
            row = (keys, values, comparator, distribution, int(n))
            cells = self.times.setdefault(row, {})
            if run.get("error_occurred"):
                self.errors.append(f"{'/'.join(parts[:6])}: {run.get('error_message', 'error')}")
            else:
                cells.setdefault(contender, []).append(run["real_time"] * MICROSECONDS[run["time_unit"]])
                self.scratch.setdefault(row, {})[contender] = run.get("scratch_bytes", 0)


def power(n):
    exponent = n.bit_length() - 1
    return f"2^{exponent}" if n == 1 << exponent else f"{n:,}"


def microseconds(time):
    if time is None:
        return "-"
    return f"{time:.1f}" if time < 100 else f"{time:,.0f}"


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * 5 + "---:|" * (len(header) - 5)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def report(results, ratios):
    lines = [", ".join(f"{label} {results.context[key]}" for label, key in CONTEXT if key in results.context) + "."]
    head_start = float(results.context.get("head_start_us", 0))
    lines.append("Medians in microseconds. "
                 + ("The GPU's time alone." if head_start > 0 else "Each sort starts on an idle GPU.")
                 + " A ratio is the time of the peer over ours: above 1, ours is faster.")
    lines.append("")

    present = {name for cells in results.times.values() for name in cells}
    columns = [name for name in COLUMNS if name in present] + sorted(present - set(COLUMNS))
    pairs = [pair for pair in (ratio.split(":") for ratio in ratios) if set(pair) <= present]
    header = (["keys", "values", "order", "distribution", "n"] + columns
              + [f"{ours} : {peer}" for ours, peer in pairs])
    rows = []
    for row, cells in results.times.items():
        keys, values, comparator, distribution, n = row
        medians = {name: statistics.median(times) for name, times in cells.items()}
        cell = [keys, "-" if values == "none" else values, comparator, distribution, power(n)]
        cell += [microseconds(medians.get(name)) for name in columns]
        for ours, peer in pairs:
            both = ours in medians and peer in medians
            cell.append(f"**{medians[peer] / medians[ours]:.2f}**" if both else "-")
        rows.append(cell)
    lines.append(table(header, rows))
    if results.errors:
        lines += ["", "Left out:"] + [f"- {error}" for error in results.errors]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE", help="JSON of gpusort_bench; several are put together")
    parser.add_argument("--ratios", default=",".join(RATIOS), metavar="OURS:PEER,...",
                        help="columns of ratios; those of which a side was not measured are left out [%(default)s]")
    arguments = parser.parse_args()
    ratios = [ratio for ratio in arguments.ratios.split(",") if ratio]
    if any(ratio.count(":") != 1 for ratio in ratios):
        parser.error("a ratio is written OURS:PEER")

    results = Results()
    try:
        for path in arguments.files:
            results.read(path)
    except (OSError, ValueError, KeyError) as error:
        print(f"ratios.py: {error}", file=sys.stderr)
        return 1
    if not results.times:
        print("ratios.py: no results", file=sys.stderr)
        return 1
    print(report(results, ratios))
    return 1 if any("WRONG RESULT" in error for error in results.errors) else 0


if __name__ == "__main__":
    sys.exit(main())
