"""Reading experiments, hosts and policies from TOML: package data, or a file that a user names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TypeVar

import tomli
from pydantic import ValidationError

from diffcheck import digest
from diffcheck.ab.peers import PEERS
from diffcheck.arms import get_arm
from diffcheck.errors import BadInputError, choose, first_wrong
from diffcheck.experiment.hosts import Hosts
from diffcheck.experiment.model import Experiment
from diffcheck.experiment.policy import Policy
from diffcheck.experiment.rows import experiment_rows
from diffcheck.receipts.fields import Model
from diffcheck.regular_file import read_regular

HOSTS_FILE = "hosts.toml"
_MAX_BYTES = 1024 * 1024
_M = TypeVar("_M", bound=Model)


@dataclass(frozen=True)
class LoadedExperiment:
    """An experiment and the SHA-256 of the file that it was read from."""

    content: Experiment
    sha256: str


def data_folder() -> Path:
    """Return the folder with the experiments that come with the package."""
    return Path(str(resources.files("diffcheck"))) / "experiments"


def experiment_names() -> tuple[str, ...]:
    """Return the names of the experiments that come with the package, sorted."""
    return tuple(sorted(path.stem for path in data_folder().glob("*.toml") if path.name != HOSTS_FILE))


def policy_names() -> tuple[str, ...]:
    """Return the names of the policies that come with the package, sorted."""
    return tuple(sorted(path.stem for path in (data_folder() / "policies").glob("*.toml")))


def load_experiment(name: str) -> LoadedExperiment:
    """Return an experiment by name, or from a file when `name` ends in `.toml`.

    Raises `BadInputError` that names the file and the first field that is wrong: an unknown key, an arm or generator
    that does not exist, bits asked for between arms that cannot have the same.
    """
    path = _named(name, "experiment", experiment_names(), data_folder())
    experiment = read_toml(path, Experiment)
    _require_stem(path, experiment.name)
    with _naming(path):
        _check_arms(experiment)
        choose("policy", experiment.policy, policy_names())
        experiment_rows(experiment)
    return LoadedExperiment(experiment, digest.of_file(path))


def load_policy(name: str) -> Policy:
    """Return a policy by name, or from a file when `name` ends in `.toml`. Raises `BadInputError`."""
    path = _named(name, "policy", policy_names(), data_folder() / "policies")
    policy = read_toml(path, Policy)
    _require_stem(path, policy.name)
    return policy


@cache
def load_hosts() -> Hosts:
    """Return the known hosts. Raises `BadInputError`."""
    return read_toml(data_folder() / HOSTS_FILE, Hosts)


def read_toml(path: Path, model: type[_M]) -> _M:
    """Read and check a TOML file. Raises `BadInputError` that names the file and the first field that is wrong."""
    try:
        content = tomli.loads(read_regular("file", path, _MAX_BYTES))
        # TOML has types of its own: "4096" is no number, and true is no 1. As JSON a list may become a tuple.
        return model.model_validate_json(json.dumps(content, default=str), strict=True)
    except BadInputError:
        raise
    except ValidationError as error:
        raise first_wrong(path.name, error) from error
    except (ValueError, RecursionError) as error:
        raise BadInputError("file", str(path), f"a TOML file in UTF-8 ({error})") from error


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Name the file in what is wrong with its content."""
    try:
        yield
    except BadInputError as error:
        raise BadInputError(f"{path.name}, {error.field}", error.value, error.allowed) from error


def _named(name: str, field: str, names: tuple[str, ...], folder: Path) -> Path:
    return Path(name) if name.endswith(".toml") else folder / f"{choose(field, name, names)}.toml"


def _require_stem(path: Path, name: str) -> None:
    if path.stem != name:
        raise BadInputError(f"{path.name}, name", name, f"the name of its file, {path.stem}")


def _check_arms(experiment: Experiment) -> None:
    for name in experiment.arms.peers:
        choose("arms.peers", name, PEERS)
    baselines = [family.baseline for family in experiment.rows if family.baseline is not None]
    for name in (experiment.arms.baseline, experiment.arms.candidate, *baselines):
        arm = get_arm(name)
        if arm.role == "reference":
            raise BadInputError("arms", name, "an arm that is made of kernels")
        if experiment.relation == "bitwise" and arm.role != "bits":
            raise BadInputError("relation", experiment.relation, f"bounded, as {name} does not promise equal bits")
    for row in experiment_rows(experiment):
        if row.baseline_case.storage not in get_arm(row.baseline).storages:
            raise BadInputError("rows", row.name, f"storages that {row.baseline} has")
        if row.candidate_case.storage not in get_arm(row.candidate).storages:
            raise BadInputError("rows", row.name, f"storages that {row.candidate} has")
