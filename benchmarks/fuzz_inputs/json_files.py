"""JSON that is almost right: teams, controllers and run.json."""

import json

from fuzz_inputs.odd import NAMES, ODD, flipped, place_in


def make_team(rng, whole=True):
    agents = [_agent(rng, n) for n in range(rng.choice((1, 2, 3)) if whole else 1)]
    told = {"problem": rng.choice(("p", "", "<b>", "../x")), "discount": rng.choice((0, 0.5, 0.999999, 1))}
    if whole:
        return _dumped({"format": "decpomdp-team/1", **told, "agents": agents})
    return _dumped({"format": "decpomdp-controller/1", **told, "agent": agents[0]})


def _agent(rng, n):
    i, a, o = rng.choice((1, 1, 2, 3)), rng.choice((1, 2)), rng.choice((1, 2))
    result = {
        "name": rng.choice([name for name in NAMES if name]) + str(n),
        "actions": _distinct(rng, a),
        "observations": _distinct(rng, o),
        "initial": _part(rng, i),
        "action": [_part(rng, a) for _ in range(i)],
        "transition": [[[_part(rng, i) for _ in range(o)] for _ in range(a)] for _ in range(i)],
    }
    if rng.random() < 0.3:
        result["initial_given"] = [_part(rng, i) for _ in range(o)]
    return result


def _distinct(rng, count):
    return rng.sample([name for name in NAMES if name], count)


def _part(rng, size):
    parts = [rng.choice((0, 1, 3, 1e-7, 5e-324)) for _ in range(size)]
    total = sum(parts)
    return [part / total for part in parts] if total > 0.5 else [1.0] + [0.0] * (size - 1)


def _dumped(value):
    return json.dumps(value).encode()


def make_controller(rng):
    return make_team(rng, whole=False)


def change_json(data, rng):
    """One value, name or list somewhere inside is changed."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return flipped(data, rng)
    holder = {"": document}
    place, key = place_in(holder, rng)
    way = rng.randrange(8)
    if way < 3:
        place[key] = rng.choice(ODD)
    elif way == 3:
        del place[key]
    elif way == 4 and isinstance(place[key], list) and place[key]:
        place[key].append(rng.choice(place[key]))
    elif way == 5 and isinstance(place[key], list):
        rng.shuffle(place[key])
    elif way == 6 and isinstance(place[key], dict):
        place[key][rng.choice(NAMES)] = rng.choice(ODD)
    elif isinstance(place[key], str):
        place[key] = rng.choice(NAMES)
    elif isinstance(place[key], float | int) and abs(place[key]) < 1e300:
        place[key] = place[key] + rng.choice((1e-7, -1e-7, 2e-6, 1, -1, 1e-13))
    text = json.dumps(holder.get(""), ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.05:  # a name twice, deep nesting, a number of other writing
        text = rng.choice(
            (text.replace('"format"', '"format": 1, "format"'), "[" * 3000 + text, text.replace("1", "1e0"))
        )
    return text.encode(errors="surrogatepass")


def make_run(rng):
    """A run.json with every field that there is."""
    return _dumped({
        "format": "decpomdp-run/1", "stopped": rng.choice(NAMES), "seconds": rng.choice((0, 1.5, 1e300)),
        "nodes": [rng.choice((1, 2, -1, 10**9)) for _ in range(2)], "problem": rng.choice(NAMES),
        "source": rng.choice(NAMES), "method": rng.choice(NAMES), "digest": "", "discount": 0.9, "seed": 1, "steps": 3,
        "value": {"value": rng.choice((1.0, None, 1e300)), "method": "exact", "error": 1e-9, "standard_error": None},
        "upper_bound": rng.choice((None, 2, 1e308)), "bound": None, "sample_size": None,
        "posterior": rng.choice((None, _belief(rng))), "settings": {rng.choice(NAMES): rng.choice(ODD)},
        "versions": {"numpy": "<b>"},
    })  # fmt: skip


def _belief(rng):
    number = (0, 1, 2, -1, 10**6)
    node = {
        "node": rng.choice(number),
        "visits": rng.choice((0.5, -1, 1e300)),
        "actions": [[rng.choice(number), 0.5, rng.choice((0.1, 2)), 0.9]],
        "time": rng.choice((None, [0.1, 0.2, 0.3])),
    }
    agent = {"same_nodes": rng.random() < 0.5, "nodes": [node] * rng.randrange(3)}
    return {"draws": rng.choice(number), "level": 0.9, "agents": [agent] * rng.randrange(4)}
