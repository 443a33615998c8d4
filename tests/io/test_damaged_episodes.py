"""Files that are no longer those that were written: cut, damaged, changed, or of another kind."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from decpomdp.core import FormatError, concatenate
from decpomdp.io.episodes import read_episodes, write_episodes

from .made_episodes import episodes, refusal, with_column, written


def test_files_that_cannot_be_read(tmp_path):
    assert refusal(tmp_path / "none").endswith("No such file or directory")
    for content in (b"", b"PAR1", b'{"format": "decpomdp-team/1"}' * 10):
        (tmp_path / "other").write_bytes(content)
        assert refusal(tmp_path / "other").startswith("cannot be read as Parquet: ")


def test_truncated_files_are_refused(path):
    write_episodes(episodes(), path)
    data = path.read_bytes()
    for length in np.linspace(0, len(data) - 1, 60).astype(int):
        path.write_bytes(data[:length])
        assert refusal(path).startswith("cannot be read as Parquet: ")


def test_a_damaged_file_is_never_read_as_another(path):
    """Rows and metadata: labels, discount, name and facts are in a footer that has no checksum of its own."""
    write_episodes(episodes(), path)
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(400):
        damaged = bytearray(data)
        damaged[rng.integers(len(data))] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        try:
            assert read_episodes(path) == episodes()
        except FormatError:
            refused += 1
    assert refused > 200


@pytest.mark.parametrize("change", [(b'"stay"', b'"stax"'), (b"0.30000000000000004", b"0.30000000000000001")])
def test_changed_metadata_are_refused(path, change):
    write_episodes(episodes(), path)
    with pq.ParquetFile(path) as file:
        table, digest = file.read(), file.metadata.metadata[b"decpomdp-digest"]
    about = table.schema.metadata[b"decpomdp"]
    assert change[0] in about
    kept = {"decpomdp": about.replace(*change), "decpomdp-digest": digest}
    pq.write_table(table.replace_schema_metadata(kept), path)
    assert refusal(path).startswith("expected the rows and metadata that were written, got others")
    pq.write_table(table.replace_schema_metadata({"decpomdp": about.replace(*change)}), path)
    assert read_episodes(path).discount == 0.3 or read_episodes(path).agents[0].actions == ("stax", "go")


def test_changed_rows_are_refused(path):
    write_episodes(episodes(), path)
    with pq.ParquetFile(path) as file:
        table = file.read()
    rewards = table["reward"].to_pylist()
    pq.write_table(with_column(table, "reward", [*rewards[:-1], -rewards[-1]]), path)
    assert "changed or damaged" in refusal(path)


def test_files_of_earlier_versions_have_no_digest(path):
    held = episodes()
    table = written(path, held)
    assert b"decpomdp-digest" not in table.schema.metadata
    pq.write_table(table, path)
    assert read_episodes(path) == held


def test_the_digest_depends_on_the_rows_alone(path):
    from decpomdp.io.episode_digest import Digest, digest_of

    held = episodes()
    parts = Digest()
    for seed in (1, 2):
        parts.add(episodes(seed=seed))
    joined = concatenate([episodes(seed=1), episodes(seed=2)])
    assert parts.text(b"about") == digest_of(joined, b"about")
    assert digest_of(held, b"about") != digest_of(held, b"other")


def test_another_kind_of_data_says_how_to_convert_it(tmp_path):
    from decpomdp.io.tables import write_table

    for name in ("my log.csv", "long.parquet"):
        write_table(episodes(), tmp_path / name)
        said = refusal(tmp_path / name)
        assert said.startswith("expected an episodes file, got a long table; convert it first: decpomdp data convert ")
        assert ("'" in said) == (" " in name)
    (tmp_path / "folder").mkdir()
    assert "got a folder; if it is a Minari dataset, convert it first" in refusal(tmp_path / "folder")
