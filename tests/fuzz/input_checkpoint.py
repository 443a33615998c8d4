"""Checkpoints that are almost right."""

import msgspec

from fuzz.odd import flipped, place_in


def make_checkpoint(rng):
    state = msgspec.msgpack.encode([_packed(rng, 0) for _ in range(rng.randrange(10))])
    body = {"number": rng.choice((0, 1, 2**62)), "work": rng.choice(("work", "work", "other")), "state": state}
    return bytes([rng.randrange(256)]) + msgspec.msgpack.encode(body)


def _packed(rng, depth):
    """Something that may stand in a state: arrays, lists of them, numbers, texts."""
    way = rng.randrange(6 if depth < 3 else 4)
    if way == 0:
        kind = rng.choice(("<f8", "<i8", "|b1", "O", "<U3", "f8,i4", "(2,)f8", "V8", "", "{", "<M8[s]", ">f8", "f99"))
        return [
            kind,
            rng.choice(([2], [1, 2], [-1], [2**40], [0], 2, None)),
            rng.choice((bytes(16), b"", "x", bytes(7))),
        ]
    if way == 1:
        return rng.choice((0, 1, 1.5, True, None, -1, 2**63))
    if way == 2:
        return rng.choice(("", "x", "iteration"))
    if way == 3:
        return {rng.choice(("a", "bound")): rng.choice((1, None, 0.5, "x"))}
    return [_packed(rng, depth + 1) for _ in range(rng.randrange(4))]


def change_checkpoint(data, rng):
    """One value inside the state is changed; digests fit again (see the target)."""
    try:
        envelope = msgspec.msgpack.decode(data[1:])
        holder = {"": msgspec.msgpack.decode(envelope["state"])}
    except (msgspec.MsgspecError, KeyError, TypeError, ValueError, RecursionError):
        return flipped(data, rng)
    place, key = place_in(holder, rng)
    way = rng.randrange(4)
    if way == 0 and place is not holder:
        del place[key]
    elif way == 1 and isinstance(place[key], bytes):
        place[key] = flipped(place[key], rng)
    else:
        place[key] = _packed(rng, 1)
    try:
        body = {**envelope, "state": msgspec.msgpack.encode(holder[""])}
        return bytes([rng.randrange(128) if rng.random() < 0.3 else data[0]]) + msgspec.msgpack.encode(body)
    except (OverflowError, TypeError, ValueError):
        return flipped(data, rng)
