"""What the programs' output says, and the table."""

import re

NOTHING = {"passed": 0, "failed": 0, "skipped": 0, "problems": []}

# What the figures are held to, by their names' beginnings.
TARGETS = [
    ("gemm_", ">=", 0.97),
    ("batched_gemm_", ">=", 0.97),
    ("conv_", ">=", 0.95),
    ("unary_", ">=", 0.85),
    ("binary_", ">=", 0.85),
    ("softmax_", ">=", 0.85),
    ("reduce_", ">=", 0.85),
    ("gather_", ">=", 0.85),
    ("memset_", ">=", 0.85),
    ("launch_pipelined_shm_us", "<=", 5),
]

_CASE_BEGINS = re.compile(r"\[ RUN      \] (\S+)")
_CASE_ENDS = re.compile(r"\[ *(OK|FAILED|SKIPPED) *\] (\S+?),? .*\(\d+ ms\)")
_FIGURE = re.compile(r"(\S+) ([-+]?\d[\d.]*(?:e[-+]?\d+)?|inf|nan) (\S+)")
_SIDES = re.compile(
    r"  quartiles (\S+) and (\S+), (\d+) rounds(?:; (\S+) against (\S+) (\S+))?; took \S+ s"
)
_NOT_MEASURED = re.compile(r"bench: (\S+) cannot be measured\. (.*)")
_SANITIZER_SUMMARY = re.compile(
    r"=+ (?:ERROR SUMMARY: (\d+) errors?|RACECHECK SUMMARY: (\d+) hazards? displayed)"
)
# "Invalid __global__ read of size 4 bytes", "Error: Race reported between ..." and the like. A race may also be a
# warning, and counts in the summary as one.
_SANITIZER_FINDING = re.compile(r"^=+ (?:Invalid|Misaligned|Error: |Warning: Race reported)", re.MULTILINE)


def last_line(log):
    lines = [line.strip() for line in log.split("\n") if line.strip()]
    return lines[-1] if lines else ""


def cases(log, cut_short=False):
    """Counts a googletest program's cases; one that did not end has failed, unless the program was cut short."""
    result = {**NOTHING, "problems": []}
    running = None
    for line in log.split("\n"):
        begins, ends = _CASE_BEGINS.search(line), _CASE_ENDS.search(line)
        if begins:
            running = begins.group(1)
        elif ends and running:
            # The summary at the end has no case running.
            running = None
            verdict, name = ends.groups()
            result[{"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}[verdict]] += 1
            if verdict == "FAILED":
                result["problems"].append(f"{name} failed.")
    if running and not cut_short:
        result["failed"] += 1
        result["problems"].append(f"{running} did not come to its end.")
    return result


def sanitizer_errors(log):
    """How many errors compute-sanitizer counted; None where it did not come to that."""
    counts = [int(first or second) for first, second in _SANITIZER_SUMMARY.findall(log)]
    return sum(counts) if counts else None


def sanitizer_findings(log):
    """Whether it has reported an error so far."""
    return _SANITIZER_FINDING.search(log) is not None


def figures(log):
    """The benchmark's figures: {name, value, unit, low, high, rounds, acceld, direct, sides_unit}, or {name,
    problem}."""
    found = []
    for line in log.split("\n"):
        problem = _NOT_MEASURED.fullmatch(line)
        sides = _SIDES.fullmatch(line)
        figure = _FIGURE.fullmatch(line)
        if problem:
            found.append({"name": problem.group(1), "problem": problem.group(2)})
        elif sides and found and "value" in found[-1]:
            low, high, rounds, acceld, direct, sides_unit = sides.groups()
            found[-1].update(low=float(low), high=float(high), rounds=int(rounds))
            if acceld is not None:
                found[-1].update(acceld=float(acceld), direct=float(direct), sides_unit=sides_unit)
        elif figure:
            name, value, unit = figure.groups()
            found.append({"name": name, "value": float(value), "unit": unit})
    return found


def target_of(name):
    """(">=" or "<=", value), or None."""
    for prefix, relation, value in TARGETS:
        if name.startswith(prefix):
            return relation, value
    return None


def judge(measured):
    """Adds to each figure its target and whether that is reached."""
    judged = []
    for figure in measured:
        target = target_of(figure["name"])
        figure = {**figure, "target": f"{target[0]} {target[1]}" if target else None, "reached": None}
        if target and "value" in figure:
            relation, wanted = target
            value = figure["value"]
            figure["reached"] = value >= wanted if relation == ">=" else value <= wanted
        judged.append(figure)
    return judged


def counts(run):
    """Of all steps."""
    return {key: sum(step[key] for step in run["steps"]) for key in ("passed", "failed", "skipped")}


def summary(count):
    text = f"{count['passed']} passed, {count['failed']} failed"
    return text + (f", {count['skipped']} skipped" if count["skipped"] else "")


def heading(run):
    card, build = run["card"], run["build"]
    gibibytes = f"{int(card['memory_mib']) / 1024:.0f} GiB" if card["memory_mib"].isdigit() else "memory unknown"
    return (
        f"acceld {build['commit']} on {card['name']} (compute capability {card['compute_capability']}, {gibibytes}), "
        f"driver {card['driver']} with CUDA {card['cuda']}, built with CUDA {build['cuda']}; {run['date']}"
    )


def _digits(value):
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"


def aligned(rows):
    """Rows of text as a table; the first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "".join(
        "  ".join(cell.rjust(width) if i else cell.ljust(width) for i, (cell, width) in enumerate(zip(row, widths)))
        .rstrip()
        + "\n"
        for row in rows
    )


def text(run):
    """The report, whose last line is the count."""
    parts = [heading(run) + "\n"]
    if run["quick"]:
        parts.append("A quick run: the figures mean nothing.\n")
    rows = [["step", "passed", "failed", "skipped", "s"]]
    for step in run["steps"]:
        counted = [str(step[key]) for key in ("passed", "failed", "skipped")]
        rows.append([step["name"], *counted, f"{step['seconds']:.1f}"])
    parts.append(aligned(rows))
    problems = [f"{step['name']}: {problem}\n" for step in run["steps"] for problem in step["problems"]]
    if problems:
        parts.append("".join(problems))

    measured = run["figures"]
    if measured:
        rows = [["figure", "acceld", "direct", "", "value", "wanted", "reached"]]
        for figure in measured:
            has_sides = "acceld" in figure
            value = _digits(figure["value"]) if "value" in figure else "-"
            if not has_sides and "value" in figure:
                value += f" {figure['unit']}"
            rows.append(
                [
                    figure["name"],
                    _digits(figure["acceld"]) if has_sides else "",
                    _digits(figure["direct"]) if has_sides else "",
                    figure["sides_unit"] if has_sides else "",
                    value,
                    figure["target"] or "",
                    {True: "yes", False: "NO", None: ""}[figure["reached"]],
                ]
            )
        parts.append(aligned(rows))
        held = [figure for figure in measured if figure["target"]]
        reached = [figure for figure in held if figure["reached"]]
        parts.append(f"{len(reached)} of {len(held)} targets are reached.\n")
    return "\n".join(parts) + "\n" + summary(counts(run)) + "\n"
