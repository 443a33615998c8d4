"""Input that is almost right: pieces of the grammars, changed here and there, so that checks beyond the first are met.

`mutate(target, data, rng)` gives new bytes for a target of `targets.py`, made from `data` or afresh. Everything random
comes from `rng`, a `random.Random`: that of hypothesis, which can shrink, or one with a seed. One file per format:
`make_*` writes a whole file, `change_*` changes one, `odd.py` has what they put into it.

Where an input no longer is what a change needs (no JSON, no Parquet, more rows than are worth the time), its bytes are
flipped instead: every call gives an input, none is left out.
"""

from fuzz_inputs.dpomdp import change_dpomdp, make_dpomdp
from fuzz_inputs.json_files import change_json, make_controller, make_run, make_team
from fuzz_inputs.odd import flipped
from fuzz_inputs.parquet_files import change_parquet, make_episodes, make_trace
from fuzz_inputs.tables import change_csv, make_csv, make_table


def mutate(target, data, rng):
    """New bytes for this target."""
    change = rng.random()
    if change < 0.05:
        return flipped(data, rng)
    if change < 0.35:
        return CHANGES[target](MAKERS[target](rng), rng)
    if change < 0.4:
        return MAKERS[target](rng)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        data = CHANGES[target](data, rng)
    return data


MAKERS = {
    "dpomdp": make_dpomdp,
    "team": make_team,
    "controller": make_controller,
    "episodes": make_episodes,
    "table_csv": make_csv,
    "table_parquet": make_table,
    "run_record": make_run,
    "run_trace": make_trace,
    "run_team": make_team,
}
CHANGES = {
    "dpomdp": change_dpomdp,
    "team": change_json,
    "controller": change_json,
    "episodes": change_parquet,
    "table_csv": change_csv,
    "table_parquet": change_parquet,
    "run_record": change_json,
    "run_trace": change_parquet,
    "run_team": change_json,
}
