"""Reading goals: package data, or a file that a user names."""

from __future__ import annotations

from pathlib import Path

from diffcheck.ab.peers import PEERS
from diffcheck.ab.peers.llama_cpp import NAME as LLAMA_CPP
from diffcheck.errors import BadInputError, choose
from diffcheck.experiment.load import data_folder, experiment_names, load_experiment, read_toml
from diffcheck.experiment.rows import ExperimentRow, experiment_rows
from diffcheck.goals.model import ErrorGoal, Goal, Goals, PeerGoal, Selection, TimeGoal


def goals_names() -> tuple[str, ...]:
    """Return the names of the goals that come with the package, sorted."""
    return tuple(sorted(path.stem for path in (data_folder() / "goals").glob("*.toml")))


def load_goals(name: str) -> Goals:
    """Return goals by name, or from a file when `name` ends in `.toml`.

    Raises `BadInputError` that names the file and the first field that is wrong: an unknown key, an experiment or a
    peer that does not exist, a goal that selects no row.
    """
    known = data_folder() / "goals"
    path = Path(name) if name.endswith(".toml") else known / f"{choose('goals', name, goals_names())}.toml"
    goals = read_toml(path, Goals)
    if path.stem != goals.name:
        raise BadInputError(f"{path.name}, name", goals.name, f"the name of its file, {path.stem}")
    for place, goal in enumerate(goals.goals):
        _check(goal, f"{path.name}, goals.{place}")
    return goals


def selected_rows(goal: Goal) -> tuple[ExperimentRow, ...]:
    """Return the rows that a goal is of, in the order of its experiment. Raises `BadInputError` for no experiment."""
    return tuple(row for row in experiment_rows(load_experiment(goal.experiment).content) if _fits(goal, row))


def _check(goal: Goal, where: str) -> None:
    choose(f"{where}.experiment", goal.experiment, experiment_names())
    peers = [*PEERS, LLAMA_CPP]
    if isinstance(goal, PeerGoal):
        for name in (*goal.peers, *goal.peers_where_measured):
            choose(f"{where}.peers", name, peers)
    if isinstance(goal, ErrorGoal):
        choose(f"{where}.peer", goal.peer, PEERS)
    rows = selected_rows(goal)
    if not rows:
        raise BadInputError(where, goal.title, f"a goal that selects rows of {goal.experiment}")
    if isinstance(goal, TimeGoal):
        lengths = sorted({row.baseline_case.kv_len for row in rows})
        for kv_len, _ in goal.at_most_us:
            if kv_len not in lengths:
                raise BadInputError(f"{where}.at_most_us", kv_len, f"lengths of {goal.experiment} that it selects")


def _fits(goal: Selection, row: ExperimentRow) -> bool:
    case = row.baseline_case
    return (
        (goal.heads is None or (case.num_q_heads, case.num_kv_heads) in goal.heads)
        and (goal.storages is None or case.storage in goal.storages)
        and (goal.generators is None or case.generator in goal.generators)
        and (goal.from_kv_len is None or case.kv_len >= goal.from_kv_len)
        and (goal.below_kv_len is None or case.kv_len < goal.below_kv_len)
        and (not isinstance(goal, TimeGoal) or case.kv_len in dict(goal.at_most_us))
    )
