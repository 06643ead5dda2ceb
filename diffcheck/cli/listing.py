"""`diffcheck list`: what there is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer
from pydantic import BaseModel

from diffcheck import terminal
from diffcheck.arms import ARMS
from diffcheck.cases import SUITES, all_cases, select
from diffcheck.cli.options import JsonFile, check_files, write_file
from diffcheck.decide.reasons import RULES
from diffcheck.decide.run import decide_experiment
from diffcheck.errors import BadInputError, choose
from diffcheck.experiment.load import experiment_names, load_experiment, load_hosts, load_policy, policy_names
from diffcheck.experiment.rows import experiment_rows
from diffcheck.faults import all_faults
from diffcheck.faults.markdown import fault_table
from diffcheck.goals.load import goals_names, load_goals, selected_rows
from diffcheck.selftest.registry import all_mutants


class Listing(BaseModel):
    """What was listed, as JSON."""

    kind: str
    items: list[dict[str, Any]]


def _cases() -> list[dict[str, Any]]:
    return [case.to_json() for case in all_cases()]


def _arms() -> list[dict[str, Any]]:
    return [
        {
            "name": arm.name,
            "role": arm.role,
            "title": arm.title,
            "available": bool(arm.available()),
            "reason": arm.available().reason,
        }
        for arm in ARMS.values()
    ]


def _suites() -> list[dict[str, Any]]:
    found = [(suite, select(suite)) for suite in SUITES]
    return [
        {
            "name": suite,
            "cases": len(cases),
            "smallest_kv_len": min(case.kv_len for case in cases),
            "largest_kv_len": max(case.kv_len for case in cases),
            "kv_bytes": sum(case.kv_bytes for case in cases),
        }
        for suite, cases in found
    ]


def _mutants() -> list[dict[str, Any]]:
    return [
        {"name": mutant.name, "where": mutant.where, "meant_for": mutant.meant_for, "what": mutant.what}
        for mutant in all_mutants()
    ]


def _experiments() -> list[dict[str, Any]]:
    found = [load_experiment(name) for name in experiment_names()]
    return [
        {
            "name": loaded.content.name,
            "title": loaded.content.title,
            "baseline": loaded.content.arms.baseline,
            "candidate": loaded.content.arms.candidate,
            "relation": loaded.content.relation,
            "rows": len(experiment_rows(loaded.content)),
            "policy": loaded.content.policy,
            "required": ", ".join(loaded.content.required_architectures) or "none",
            "state": decide_experiment(loaded.content.name).verdict,
        }
        for loaded in found
    ]


def _hosts() -> list[dict[str, Any]]:
    return [{"name": host.id, "arch": host.arch, "title": host.title} for host in load_hosts().hosts]


def _policies() -> list[dict[str, Any]]:
    found = [load_policy(name) for name in policy_names()]
    return [{"name": policy.name, "limit": policy.speed.limit, "title": policy.title} for policy in found]


def _goals() -> list[dict[str, Any]]:
    return [
        {
            "name": goals.name,
            "arch": goals.arch,
            "kind": goal.kind,
            "goal": goal.title,
            "experiment": goal.experiment,
            "rows": len(selected_rows(goal)),
        }
        for goals in map(load_goals, goals_names())
        for goal in goals.goals
    ]


def _reasons() -> list[dict[str, Any]]:
    return [
        {"name": rule.code.value, "required": rule.required, "advisory": rule.advisory, "meaning": rule.meaning}
        for rule in RULES
    ]


def _faults() -> list[dict[str, Any]]:
    return [
        {**fault.to_json(), "covered_by": _counted(fault.to_json()), "found_in": ", ".join(fault.reports)}
        for fault in all_faults()
    ]


def _counted(fault: dict[str, Any]) -> str:
    kinds = [(len(fault[kind]), kind[:-1]) for kind in ("cases", "tests", "commands")]
    return ", ".join(f"{count} {kind}{'s' if count > 1 else ''}" for count, kind in kinds if count)


# The columns of a table, and those that a narrow terminal leaves out; JSON has all fields.
_WIDE_ONLY = ("num_q_heads", "num_kv_heads", "policy", "layout", "title", "reason", "found_in", "input")
_COLUMNS: dict[str, tuple[Callable[[], list[dict[str, Any]]], tuple[str, ...]]] = {
    "cases": (
        _cases,
        ("name", "num_q_heads", "num_kv_heads", "kv_len", "storage", "policy", "layout", "generator", "expect"),
    ),
    "arms": (_arms, ("name", "role", "title", "available", "reason")),
    "suites": (_suites, ("name", "cases", "smallest_kv_len", "largest_kv_len", "kv_bytes")),
    "mutants": (_mutants, ("name", "where", "meant_for", "what")),
    "experiments": (
        _experiments,
        ("name", "state", "title", "baseline", "candidate", "relation", "rows", "policy", "required"),
    ),
    "hosts": (_hosts, ("name", "arch", "title")),
    "goals": (_goals, ("name", "arch", "kind", "goal", "experiment", "rows")),
    "reasons": (_reasons, ("name", "required", "advisory", "meaning")),
    "policies": (_policies, ("name", "limit", "title")),
    "faults": (_faults, ("name", "topic", "status", "found_in", "input", "covered_by", "waits_for")),
}


def list_command(
    what: Annotated[str, typer.Argument(metavar="KIND", help="|".join(_COLUMNS))],
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the table of docs/faults.md instead.")] = False,
    json: JsonFile = None,
) -> None:
    """List cases, arms, suites, mutants, faults, experiments, hosts, policies, goals or reasons."""
    check_files(json)
    items, columns = _COLUMNS[choose("what", what, _COLUMNS)]
    if markdown and what != "faults":
        raise BadInputError("markdown", what, "faults, which have a page of documentation")
    rows = items()
    if markdown:
        print(fault_table(), end="")
        write_file(json, Listing(kind=what, items=rows))
        return
    out = terminal.console()
    columns = tuple(column for column in columns if column not in _WIDE_ONLY or out.width >= terminal.WIDE)
    numeric = [column for column in columns if rows and type(rows[0][column]) is int]
    cells = [[row[column] for column in columns] for row in rows]
    out.print(terminal.table(f"{len(rows)} {what}", columns, cells, numeric))
    write_file(json, Listing(kind=what, items=rows))


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("list")(list_command)
