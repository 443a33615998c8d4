"""The numbers that the paper prints: M. Liu, C. Amato, X. Liao, L. Carin, J. P. How, "Stick-breaking policy learning in
Dec-POMDPs". The numbers of its figures are known only where the text gives them.
"""

from dataclasses import dataclass

DISCOUNT = 0.9
TEST_EPISODES, TEST_STEPS = 100, 1000  # "averaged over 100 test episodes of 1000 steps"
C, D = 0.1, 1e-6
FOLLOW = 0.3  # "eta = 0.3", a misprint for epsilon: the probability of following the PBVI policy
INFERRED_ON_MARS = 5  # "the number of nodes that is needed (about 5)"

PROBLEMS = {
    "dectiger": "Dec-Tiger",
    "broadcast": "Broadcast",
    "recycling": "Recycling robots",
    "boxpushing": "Box pushing",
    "marsrovers": "Mars rovers",
}
LARGE = ("boxpushing", "marsrovers")  # a run takes longer
METHODS = {
    "sbpr-iterations": "Dec-SBPR (fixed iterations)",
    "sbpr-time": "Dec-SBPR (fixed time)",
    "mcem": "MCEM (fixed iterations)",
    "mcem-time": "MCEM (fixed time)",
    "periem": "PeriEM",
    "fb-hsvi": "FB-HSVI",
    "search": "our default search",
}


@dataclass(frozen=True, slots=True)
class PublishedEntry:
    """One entry of table 2."""

    value: float
    nodes: float  # per agent
    seconds: float
    size: str = ""  # as printed, where it is a product


# table 2, by problem and method; PeriEM has none for Broadcast
TABLE2: dict[tuple[str, str], PublishedEntry] = {
    ("dectiger", "sbpr-iterations"): PublishedEntry(-18.63, 6, 96),
    ("dectiger", "sbpr-time"): PublishedEntry(-19.42, 8, 20),
    ("dectiger", "mcem"): PublishedEntry(-32.31, 3, 20),
    ("dectiger", "periem"): PublishedEntry(9.42, 70, 6540, "7x10"),
    ("dectiger", "fb-hsvi"): PublishedEntry(13.45, 52, 6.0),
    ("broadcast", "sbpr-iterations"): PublishedEntry(9.20, 2, 7),
    ("broadcast", "sbpr-time"): PublishedEntry(9.27, 2, 24),
    ("broadcast", "mcem"): PublishedEntry(9.15, 3, 24),
    ("broadcast", "fb-hsvi"): PublishedEntry(9.27, 102, 19.8),
    ("recycling", "sbpr-iterations"): PublishedEntry(31.26, 3, 147),
    ("recycling", "sbpr-time"): PublishedEntry(25.16, 2, 19),
    ("recycling", "mcem"): PublishedEntry(30.78, 3, 19),
    ("recycling", "periem"): PublishedEntry(31.80, 60, 272, "6x10"),
    ("recycling", "fb-hsvi"): PublishedEntry(31.93, 108, 0),
    ("boxpushing", "sbpr-iterations"): PublishedEntry(77.65, 14, 290),
    ("boxpushing", "sbpr-time"): PublishedEntry(58.27, 9, 32),
    ("boxpushing", "mcem"): PublishedEntry(59.95, 3, 32),
    ("boxpushing", "periem"): PublishedEntry(106.68, 40, 7164, "4x10"),
    ("boxpushing", "fb-hsvi"): PublishedEntry(224.43, 331, 1715.1),
    ("marsrovers", "sbpr-iterations"): PublishedEntry(20.62, 5, 1286),
    ("marsrovers", "sbpr-time"): PublishedEntry(15.2, 6, 160),
    ("marsrovers", "mcem"): PublishedEntry(8.16, 3, 160),
    ("marsrovers", "periem"): PublishedEntry(18.13, 30, 7132, "3x10"),
    ("marsrovers", "fb-hsvi"): PublishedEntry(26.94, 136, 74.31),
}
# the paper has one column of MCEM, to compare with both of Dec-SBPR
TABLE2 |= {(problem, "mcem-time"): TABLE2[problem, "mcem"] for problem in PROBLEMS}

# table 1: the order of each part of one iteration, best case (reward at the end only) and worst (at every step)
COMPLEXITY = {
    "filter": ("alpha", "N Z^2 K T", "N Z^2 K T"),
    "count": ("beta and Theta", "N Z^2 K T", "N Z^2 K T^2"),
    "weigh": ("nu", "K", "K T"),
    "bound": ("LB", "Z^2 sum |A||O|", "Z^2 sum |A||O|"),
}
# the resulting exponents of a whole iteration with rewards at every step; with a reward at the end only, T has 1
ORDERS = {"K": 1.0, "N": 1.0, "T": 2.0, "T terminal": 1.0, "Z": 2.0, "S": 0.0}
