"""Names, numbers and values that readers stumble over, and changes that fit every format."""

NAMES = [
    "a", "b", "listen", "uniform", "identity", "*", "0", "1", "007", "-1", "1.0", "1e0", "nan", "inf", "agent1",
    "../../etc/passwd", "<script>alert(1)</script>", "$(reboot)", "`id`", "\x1b[2J", "é", "\u202e", "\u2028", "\x85",
    "a b", 'a"b', "a'b", "a\\", "a\nb", "--out", "x" * 300, "T", "R", ":", "#", "", " ", "{}", "%s", "\x7f", "\uff11",
]  # fmt: skip
NUMBERS = [
    "0", "1", "0.5", "0.25", "1.0000001", "0.9999999", "1.000002", "-0", "-0.0", "-1", "2", "1e300", "-1e300",
    "1.7976931348623157e308", "1e309", "-1e309", "5e-324", "1e-310", "nan", "inf", "-inf", "0x1p-2", "1_000", ".5",
    "5.", "+1", "1e", "e", ".", "1e-7", "0.33333333", "1" * 30, "1" * 400, "0.1e1", "\uff11", "1,5",
]  # fmt: skip
ODD = [
    None, True, False, 0, 1, -1, 2, 0.5, -0.0, 1e-7, 1 + 1e-7, 1 - 1e-7, 1 + 2e-6, 5e-324, 1e300, -1e300, 10**30,
    10**400, 2**31, 2**63, float("nan"), float("inf"), -float("inf"), "", "x", "1", "\ud800", "\0", "a\nb", "\x1b[2J",
    "<b>", "../..", [], [[]], {}, [1.0], [0.5, 0.5], ["a"], ["a", "a"], {"format": 1}, [[[[1.0]]]], "nan", 1.5,
]  # fmt: skip


def flipped(data, rng):
    """Bytes changed, cut out, doubled or cut off, whatever they mean."""
    data = bytearray(data or b"\0")
    for _ in range(rng.choice((1, 1, 2, 8))):
        at = rng.randrange(len(data) or 1)
        way = rng.randrange(5)
        if way == 0 and data:
            data[at] ^= 1 << rng.randrange(8)
        elif way == 1:
            data[at : at + 1] = bytes([rng.randrange(256)])
        elif way == 2:
            del data[at : at + rng.randrange(1, 9)]
        elif way == 3:
            data[at:at] = data[at : at + rng.randrange(1, 33)]
        else:
            data = data[:at] if rng.random() < 0.3 else data
    return bytes(data)


def place_in(holder, rng):
    """A random place inside: what holds it, and its key there."""
    place, key = holder, ""
    while isinstance(place[key], dict | list) and place[key] and rng.random() < 0.85:
        place = place[key]
        key = rng.choice(list(place)) if isinstance(place, dict) else rng.randrange(len(place))
    return place, key
