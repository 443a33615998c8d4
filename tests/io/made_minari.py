"""Small Minari datasets to be damaged.

Imported as `.made_minari`, as `.made_episodes` is.
"""

import json

import h5py
import minari
import pytest
from gymnasium import spaces
from minari.data_collector.episode_buffer import EpisodeBuffer

from decpomdp.core import FormatError
from decpomdp.io.minari import read_minari

FLAT = ("rewards", "terminations", "truncations")
COLUMNS = ("observations", "actions", *FLAT)
TWO = spaces.Discrete(2)
ABOUT = {"author": "a", "author_email": "a@b.c", "code_permalink": "c", "algorithm_name": "random", "description": "d"}
WARNINGS = [
    pytest.mark.filterwarnings("ignore:.*(eval_env|env_spec).*:UserWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


class Made:
    """A dataset of one episode of two steps."""

    def __init__(self, root, form, seen=TWO, observations=(0, 1, 0), infos=None):
        self.path, self.form = root / f"{form}-v0", form
        ends = {"terminations": [False, True], "truncations": [False, False]}
        seen_values = observations if isinstance(observations, dict) else list(observations)
        buffer = EpisodeBuffer(observations=seen_values, actions=[0, 1], rewards=[1.0, 2.0], infos=infos, **ends)
        try:
            minari.create_dataset_from_buffers(
                f"{form}-v0", [buffer], observation_space=seen, action_space=TWO, data_format=form, **ABOUT
            )
        except ValueError as error:
            if "No storage implemented" not in str(error):
                raise
            pytest.skip(f"this version of Minari does not write {form}")
        self.about, self.hdf5 = self.path / "data/metadata.json", self.path / "data/main_data.hdf5"
        self.part = self.path / f"data/0/part-0.{form}"

    def tell(self, **changed):
        """Change what the metadata say."""
        self.about.write_text(json.dumps({**json.loads(self.about.read_text()), **changed}))

    def refusal(self):
        with pytest.raises(FormatError) as caught:
            read_minari(self.path, 0.9)
        said = str(caught.value).removeprefix(str(self.path))
        assert "\n" not in said
        assert len(said) < 500
        return said


def replaced(made, name, **how):
    """Replace one HDF5 dataset of the episode."""
    with h5py.File(made.hdf5, "a") as file:
        del file[f"episode_0/{name}"]
        file["episode_0"].create_dataset(name, **how)
