"""Messages of the library in the terms of the command line: options instead of arguments."""

from __future__ import annotations

import re

from jointdr.apps.cli.inputs import name_options

ARGUMENTS = {
    **{f"{name}=": f"--{name.replace('_', '-')}" for name in ("head", "kernel", "bandwidth", "raw_bandwidth", "mix")},
    **{f"{name}=": f"--{name}" for name in ("scale", "borrow", "adaptive", "nearest", "ridge", "alpha", "criterion")},
    **{f"{name}=": f"--{name}" for name in ("by", "at", "significant", "tune", "jobs", "color", "label", "device")},
    **{"n_components=": "--rank", "random_state=": "--seed", "n_splits=": "--splits", "n_partitions=": "--partitions"},
    **{"test_size=": "--test-size", "memory_budget=": "--memory-budget", "min_neighbors=": "--min-neighbors"},
    "k=": "-k",
}

# What else is not said in options, by how it is said.
PHRASES = {
    r"^(mix|adaptive|ridge) (?=adds|is for|has no effect)": r"--\1 ",
    r"^mix and borrow are": "--mix and --borrow are",
    r"\bembedding=None": "--method none",
    r"^embedding='auto' is left out": "The embedding is left out",
    r"; n_features = \((\d+), (\d+)\)": r": there are \1 and \2",
    r"n_components=(\d+) must be 'auto', or an integer": r"n_components=\1 must be an integer",
    r", or None\.$": ".",
    r"'auto', None or an": "'auto', 'none' or an",
    r"give None, 'sqrt'": "give 'sqrt'",
    r", None\)\.$": ", 'none').",
    r"^Unknown methods in names": "Unknown --methods",
    r"^grid has (?=parameters)": "--try names ",
    r"^grid has ": "--try has ",
    r"give rows= or columns= as DataFrames": "give --rows-table or --columns-table",
    r"name it where the source is made, or give it as fit\(source, y\)": "name it with --response",
    r"give separator=',' or separator='\\t'": "call it .csv or .tsv",
    r": say header=True if it has names, header=False if not\.": ".",  # where there is no such option
    r"\S+[/\\](?=standard input\b)": "",  # the file that it is kept in
}


def in_options(message: str) -> str:
    """A message that names options where it named arguments."""
    for phrase, words in PHRASES.items():
        message = re.sub(phrase, words, message)
    return name_options(message, ARGUMENTS)
