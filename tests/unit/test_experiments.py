"""Experiments, hosts, policies: the files that come with the package, and what their loader refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffcheck.cli.main import run
from diffcheck.errors import BadInputError
from diffcheck.experiment.hosts import Hosts
from diffcheck.experiment.load import (
    data_folder,
    experiment_names,
    load_experiment,
    load_hosts,
    load_policy,
    policy_names,
    read_toml,
)
from diffcheck.experiment.rows import experiment_rows, select_rungs

PROMOTE = data_folder() / "promote-oxide.toml"


def test_every_file_of_the_package_loads() -> None:
    assert {"promote-oxide", "splitk-vs-naive"} <= set(experiment_names())
    assert {"kernel-001", "faster"} <= set(policy_names())
    for name in experiment_names():
        assert load_experiment(name).content.name == name
    for name in policy_names():
        assert load_policy(name).name == name
    assert {host.arch for host in load_hosts().hosts} >= {"sm_89", "sm_121"}


def test_every_required_architecture_has_a_known_host() -> None:
    known = {host.arch for host in load_hosts().hosts}
    for name in experiment_names():
        assert set(load_experiment(name).content.required_architectures) <= known


def test_promote_oxide_asks_what_the_decision_needs() -> None:
    content = load_experiment("promote-oxide").content
    rows = experiment_rows(content)
    shapes = {(row.baseline_case.num_q_heads, row.baseline_case.num_kv_heads) for row in rows}
    assert shapes == {(16, 4), (24, 4), (8, 2)}
    assert {row.baseline_case.kv_len for row in rows} == {4096, 8192, 20000, 60000, 148000, 262144}
    assert {row.baseline_case.storage for row in rows} == {"f16", "f32"}
    assert {row.baseline_case.generator for row in rows} == {"random", "rising"}
    assert set(content.required_architectures) == {"sm_89", "sm_121"}
    assert {row.candidate_case.policy for row in rows} == {row.baseline_case.policy for row in rows}


def test_rungs_choose_rows() -> None:
    rows = experiment_rows(load_experiment("promote-oxide").content)
    assert select_rungs(rows, ()) == rows
    assert {row.baseline_case.kv_len for row in select_rungs(rows, (4096, 60000))} == {4096, 60000}
    with pytest.raises(BadInputError, match=r"rungs: 5 is not allowed; allowed: 4096, 8192"):
        select_rungs(rows, (5,))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[budget]", "colour = 1\n[budget]", "promote-oxide.toml, rows.1.colour"),
        ('title = "oxide', 'tilte = "oxide', "promote-oxide.toml, ti"),
        ('candidate = "oxide"', 'candidate = "builder"', "both builder"),
        ('candidate = "oxide"', 'candidate = "oxyde"', "arm: 'oxyde'"),
        ('candidate = "oxide"', 'candidate = "naive"', "bounded, as naive does not promise"),
        ('candidate = "oxide"', 'candidate = "twin"', "made of kernels"),
        ('candidate = "table"', 'candidate = "note"', "bits can be compared only within one"),
        ("[24, 4]", "[24, 5]", "query heads that the KV heads divide"),
        ("[24, 4]", "[16, 4]", "each row once"),
        ("[4096, 8192", "[0, 8192", "greater than or equal to 1"),
        ('"rising"', '"falling"', "generator: 'falling'"),
        ('"kernel-001"', '"kernel-002"', "promote-oxide.toml, policy: 'kernel-002'"),
        ('name = "promote-oxide"', 'name = "another"', "the name of its file"),
        ("diffcheck-experiment/1", "diffcheck-experiment/2", "schema"),
        ('["sm_89", "sm_121"]', '["sm_89", "sm_89"]', "names one twice"),
        ("max_blocks = 400", "max_blocks = 4", "is below min_blocks"),
        ("interval_width = 0.01", "interval_width = nan", "interval_width"),
        ("[arms]", "[arms", "TOML"),
        ("[4096, 8192", '["4096", 8192', "rows.0.kv_lens.0"),
        ("[4096, 8192", f"[{', '.join(map(str, range(1, 2000)))}, 8192", "rows: 12025 is not allowed"),
        ("[4096, 8192", "[true, 8192", "rows.0.kv_lens.0"),
        ("[4096, 8192", "[4096.0, 8192", "rows.0.kv_lens.0"),
        ('relation = "bitwise"', "relation = 2026-01-01", "relation"),
        ('["torch-flash"', '["torch-flash", "torch-flash"', "peers: torch-flash is there twice"),
        ('title = "oxide', '# "oxide', "promote-oxide.toml, title: is missing"),
        ('["torch-flash"', '["torch-flush"', "promote-oxide.toml, arms.peers: 'torch-flush'"),
    ],
)
def test_a_wrong_experiment_is_refused_in_one_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = PROMOTE.read_text()
    assert old in text
    path = tmp_path / "promote-oxide.toml"
    path.write_text(text.replace(old, new))
    with pytest.raises(BadInputError) as caught:
        load_experiment(str(path))
    assert message in str(caught.value)
    assert "promote-oxide.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("limit_passes = true", 'limit_passes = "false"'),
        ("clean_tree = true", "clean_tree = 0"),
        ("limit = 1.2", 'limit = "1.2"'),
        ("limit = 1.2", "limit = inf"),
        ("[2.0, 10.0]", "[2.0, nan]"),
        ("60000", "6e4"),
    ],
)
def test_a_wrong_policy_is_refused_in_one_line(tmp_path: Path, old: str, new: str) -> None:
    text = (data_folder() / "policies" / "kernel-001.toml").read_text()
    assert old in text
    path = tmp_path / "kernel-001.toml"
    path.write_text(text.replace(old, new))
    with pytest.raises(BadInputError, match=old.partition(" =")[0] if "=" in old else "controls") as caught:
        load_policy(str(path))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="can be read"):
        load_experiment(str(tmp_path / "none.toml"))
    with pytest.raises(BadInputError, match="experiment: 'none'"):
        load_experiment("none")
    with pytest.raises(BadInputError, match="policy: 'none'"):
        load_policy("none")


def test_host_ids_are_unique(tmp_path: Path) -> None:
    path = tmp_path / "hosts.toml"
    host = '[[hosts]]\nid = "a"\narch = "sm_89"\ntitle = "t"\n'
    path.write_text('schema = "diffcheck-hosts/1"\n' + host + host)
    with pytest.raises(BadInputError, match="two have the id a"):
        read_toml(path, Hosts)


def test_the_folder_at_the_top_is_the_packages() -> None:
    top = Path(__file__).resolve().parents[2] / "experiments"
    assert top.resolve() == data_folder().resolve()


@pytest.mark.parametrize("what", ["experiments", "hosts", "policies"])
def test_list(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["list", what]) == 0
    out = capsys.readouterr().out
    names = {"experiments": experiment_names(), "policies": policy_names(), "hosts": ("rtx4090", "gb10", "h200")}
    assert all(name in out for name in names[what])
