"""What a comparison says: one line for each SDK, its first difference, a table for the README.

SPDX-License-Identifier: MIT
"""

import strategy

BILLION = 1_000_000_000


def summary(result, differences):
    """One line, and the first few differences below it."""
    coverage = result.coverage
    text = (f"{result.oracle.name} ({result.version}): {result.calls} calls, "
            f"{result.agreements} agree; {coverage['attempts']} attempts in {result.sequences} "
            f"sequences, {coverage['quota empty']} calls ended by the quota, "
            f"{coverage['waits for send tokens']} waits for send tokens, longest delay "
            f"{coverage['longest delay']:.6g} s")
    if result.version != result.oracle.release:
        text += f"\n  note: the presets were compared with {result.oracle.release}"
    return "\n".join([text] + result.differences[:differences])


def _answers(call, used):
    texts = []
    for answer in call["answers"][:used]:
        text = strategy.response_text(answer, [])
        for header in ("retry-after", "x-amz-retry-after"):
            if header in answer.get("headers", {}):
                text += f" {header}={answer['headers'][header]!r}"
        texts.append(f"{text} ({answer['takes'] / BILLION:.9f} s, draw {answer['draw']!r})")
    return "; ".join(texts)


def difference(oracle, sequence, number, found, theirs, ours):
    """The first difference, the sequence that led to it, and how to see it again."""
    lines = [f"  difference: call {number} of seed {sequence['seed']}: " + "; ".join(found),
             f"  again: scripts/compare_sdks --sdk {oracle.name} --seed {sequence['seed']} "
             "--sequences 1",
             f"  service {sequence['service']}, max_attempts {sequence['max_attempts']}, "
             f"long poll {sequence['long_poll']}"]
    for k, call in enumerate(sequence["calls"][:number], 1):
        used = max(len(theirs[k - 1]["attempts"]), len(ours[k - 1]))
        lines.append(f"  call {k} after {call['pause'] / BILLION:.9f} s: {_answers(call, used)}")
    lines.append("  SDK:")
    lines += [f"    {attempt}" for attempt in theirs[number - 1]["attempts"]]
    lines.append("  retrysim:")
    lines += [f"    {row}" for row in ours[number - 1]]
    return "\n".join(lines)


def table(results):
    """The results as Markdown."""
    columns = ["SDK", "release", "preset", "calls", "agree", "attempts", "calls ended by the quota",
               "waits for send tokens"]
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    for result in results:
        oracle, coverage = result.oracle, result.coverage
        preset = f"{oracle.version} {oracle.mode}"
        if oracle.settings:
            preset += ", " + ", ".join(f"`{s}`" for s in oracle.settings)
        lines.append(f"| {oracle.title} | {result.version} | {preset} | {result.calls:,} "
                     f"| {result.agreements:,} | {coverage['attempts']:,} "
                     f"| {coverage['quota empty']:,} | {coverage['waits for send tokens']:,} |")
    return "\n".join(lines)
