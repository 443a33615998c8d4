"""Teams as files: a whole team (team.json), or one agent's controller alone, which is all that agent needs.

What is in them, and what is refused: `team_json`. A file is written completely or not at all.
"""

from decpomdp.core import Team
from decpomdp.io.files import FilePath, path_of, read_bytes, write_bytes
from decpomdp.io.team_json import controller_from_json, controller_to_json, team_from_json, team_to_json

__all__ = [
    "controller_to_json",
    "read_controller",
    "read_team",
    "team_from_json",
    "team_to_json",
    "write_controller",
    "write_team",
]

LIMIT = 256 * 2**20  # bytes; a larger file is a mistake, not a team of small controllers


def write_team(team: Team, path: FilePath) -> None:
    """Write the whole team to `path`, completely or not at all.

    Parameters
    ----------
    team
        What to write.
    path
        The new file; one that is there is replaced.

    Raises
    ------
    InputError
        It is no team, or the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import decpomdp as dp
    >>> team = dp.Team.uniform(dp.load("dectiger"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dp.write_team(team, f"{folder}/team.json")
    ...     dp.read_team(f"{folder}/team.json") == team
    True
    """
    write_bytes(path, team_to_json(team))


def read_team(path: FilePath) -> Team:
    """The team in the file at `path`; FormatError says what is wrong with it and where.

    Parameters
    ----------
    path
        A team.json.

    Returns
    -------
    Team
        Equal to the team that was written.

    Raises
    ------
    FormatError
        The file cannot be read, or is not what it should be; says where.

    Examples
    --------
    >>> import tempfile
    >>> import decpomdp as dp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dp.write_team(dp.Team.uniform(dp.load("recycling")), f"{folder}/team.json")
    ...     dp.read_team(f"{folder}/team.json").problem
    'recycling'
    """
    return team_from_json(read_bytes(path, LIMIT), path_of(path))


def write_controller(team: Team, agent_name: str, path: FilePath) -> None:
    """Write the controller of one agent of the team to `path`.

    Parameters
    ----------
    team
        Whose agent it is.
    agent_name
        Which one.
    path
        The new file; one that is there is replaced.

    Raises
    ------
    InputError
        The team has no such agent, or the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import decpomdp as dp
    >>> team = dp.Team.uniform(dp.load("dectiger"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dp.write_controller(team, "agent2", f"{folder}/agent2.json")
    ...     dp.read_controller(f"{folder}/agent2.json").agents[0].name
    'agent2'
    """
    write_bytes(path, controller_to_json(team, agent_name))


def read_controller(path: FilePath) -> Team:
    """The controller in the file at `path`, as a team of one agent.

    Parameters
    ----------
    path
        What `write_controller` or `decpomdp export --format json` wrote.

    Returns
    -------
    Team
        With one agent.

    Raises
    ------
    FormatError
        The file cannot be read, or is not what it should be; says where.

    Examples
    --------
    >>> import tempfile
    >>> import decpomdp as dp
    >>> team = dp.Team.uniform(dp.load("dectiger"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dp.write_controller(team, "agent1", f"{folder}/agent1.json")
    ...     dp.read_controller(f"{folder}/agent1.json").controllers[0] == team.controllers[0]
    True
    """
    return controller_from_json(read_bytes(path, LIMIT), path_of(path))
