"""What must hold of every set of receipts: properties of the verdict, with receipts altered at random."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from diffcheck.decide.collect import Found, read_content_as_found
from diffcheck.decide.model import Decision, Verdict
from diffcheck.decide.verdict import decide
from diffcheck.experiment.load import load_hosts, load_policy
from diffcheck.subjects.tree import TreeHashes
from tests.factory.ab import (
    Content,
    ab_content,
    check,
    comparison,
    drop_row,
    fail_parity,
    retime,
    sealed,
    small_experiment,
)

SMALL = small_experiment()
HOSTS, TREE = load_hosts(), TreeHashes()
POLICIES = {name: load_policy(name) for name in ("kernel-001", "faster")}
RECEIPTS: dict[str, Content] = {host: ab_content(host, SMALL) for host in ("rtx4090", "gb10", "h200")}
# From best to worst.
ORDER: tuple[Verdict, ...] = ("PROMOTE", "INCONCLUSIVE", "HOLD", "REJECT")

Change = Callable[[Content], object]


def found_of(content: Content, name: str | None = None) -> Found:
    return read_content_as_found(content, name or str(content["host"]["id"]))


def decided(contents: dict[str, Content], policy: str = "kernel-001") -> Decision:
    files = [found_of(content if "digest" in content else sealed(content), name) for name, content in contents.items()]
    return decide(files, SMALL.content, POLICIES[policy], HOSTS, TREE)


def altered(host: str, change: Change) -> dict[str, Content]:
    contents = {**RECEIPTS, host: copy.deepcopy(RECEIPTS[host])}
    change(contents[host])
    return contents


def _slow(content: Content) -> None:
    for row in content["rows"]:
        retime(row, 1.4)


# Each makes a receipt of a required host one that must not carry a promotion.
SPOILS: dict[str, Change] = {
    "old cases": lambda c: c["subjects"].update(cases_sha256="0" * 64),
    "old PTX": lambda c: c["subjects"]["ptx"][0].update(sha256="0" * 64),
    "dirty": lambda c: c["tool"]["source"].update(dirty=True, dirty_paths=["a.py"]),
    "foreign": lambda c: c["gpu_users"].update(
        after=[{"kind": "compute", "state": "live", "memory_bytes": 1}],
    ),
    "no controls": lambda c: c.update(controls=[]),
    "one row": lambda c: drop_row(c, len(c["rows"]) - 1),
    "no host": lambda c: c["host"].update(id=None),
    "slow": _slow,
    "unsure": lambda c: retime(c["rows"][0], 1.2),
    "another interval": lambda c: c["rows"][0]["timing"]["ratio"].update(high=1.1),
    "few samples": lambda c: c["rows"][-1].update(timing=comparison(60.0, 0.99, blocks=1)),
    "no checks of bits": lambda c: c["rows"][0].update(
        parity=[one for one in c["rows"][0]["parity"] if one["name"] != "bits"]
    ),
}


@given(st.permutations(["rtx4090", "gb10", "h200"]), st.dictionaries(st.sampled_from(sorted(SPOILS)), st.booleans()))
@settings(max_examples=30, deadline=None)
def test_the_order_of_receipts_never_matters(order: list[str], spoils: dict[str, bool]) -> None:
    contents = copy.deepcopy(RECEIPTS)
    for name, first in spoils.items():
        SPOILS[name](contents["rtx4090" if first else "gb10"])
    assert decided({name: contents[name] for name in order}) == decided(contents)


@given(st.sets(st.sampled_from(sorted(SPOILS))), st.sampled_from(["rtx4090", "gb10"]), st.booleans())
@settings(max_examples=40, deadline=None)
def test_promote_only_from_complete_fresh_and_clean_sets(spoils: set[str], host: str, advisory_too: bool) -> None:
    contents = copy.deepcopy(RECEIPTS)
    if not advisory_too:
        del contents["h200"]
    for name in sorted(spoils):
        SPOILS[name](contents[host])
    assert (decided(contents).verdict == "PROMOTE") == (not spoils)


@given(st.sets(st.sampled_from(["rtx4090", "gb10", "h200"])))
@settings(max_examples=20, deadline=None)
def test_without_a_required_receipt_there_is_no_promotion(kept: set[str]) -> None:
    contents = {name: content for name, content in RECEIPTS.items() if name in kept}
    assert (decided(contents).verdict == "PROMOTE") == ({"rtx4090", "gb10"} <= kept)


@given(st.sampled_from(["rtx4090", "gb10"]), st.data())
@settings(max_examples=40, deadline=None)
def test_an_aged_receipt_never_promotes(host: str, data: st.DataObject) -> None:
    content = copy.deepcopy(RECEIPTS[host])
    subjects = content["subjects"]
    plain = sorted(name for name in subjects if name != "ptx")
    which = data.draw(st.sampled_from([*plain, *range(len(subjects["ptx"]))]))
    digit = data.draw(st.sampled_from("0123456789abcdef"))
    place: Content = subjects["ptx"][which] if isinstance(which, int) else subjects
    key = "sha256" if isinstance(which, int) else str(which)
    place[key] = digit * 64
    assert decided({**RECEIPTS, host: content}).verdict == "HOLD"


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*path, index))
    else:
        yield path


def put(content: Content, path: tuple[Any, ...], value: object) -> None:
    inner: Any = content
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value


def at(content: Content, path: tuple[Any, ...]) -> Any:
    inner: Any = content
    for key in path:
        inner = inner[key]
    return inner


LEAVES = sorted(leaves(RECEIPTS["rtx4090"]), key=str)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-3, 10**6), st.floats(0, 1e6), st.text(max_size=9))


@given(st.sampled_from(LEAVES), SCALARS)
@settings(max_examples=100, deadline=None)
def test_an_edit_without_a_new_digest_never_promotes(path: tuple[Any, ...], value: object) -> None:
    content = sealed(copy.deepcopy(RECEIPTS["rtx4090"]))
    if json.dumps(at(content, path)) == json.dumps(value):
        return
    put(content, path, value)
    assert decided({**RECEIPTS, "rtx4090": content}).verdict == "HOLD"


FLOATS = [path for path in LEAVES if isinstance(at(RECEIPTS["rtx4090"], path), float)]


@given(st.sampled_from(FLOATS), st.sampled_from(["NaN", "Infinity", "-Infinity"]))
@settings(max_examples=100, deadline=None)
def test_what_is_no_number_never_promotes(path: tuple[Any, ...], word: str) -> None:
    contents = altered("rtx4090", lambda content: put(content, path, word))
    decision = decided(contents)
    # An infinite relative error of a row of zeros is a number that a holding check may have.
    if word == "NaN" or "parity" not in path:
        assert decision.verdict != "PROMOTE"


def worse_time(content: Content, row: int, by: float) -> None:
    retime(content["rows"][row], content["rows"][row]["timing"]["ratio"]["estimate"] * by)


def worse_error(content: Content, row: int, by: float) -> None:
    for one in content["rows"][row]["parity"]:
        if one["name"] == "oracle":
            one["whole"]["max_abs"] = one["whole"]["max_abs"] * by**40


def worse_cosine(content: Content, row: int, by: float) -> None:
    for one in content["rows"][row]["parity"]:
        if one["name"] == "oracle":
            one["whole"]["cosine"] -= (by - 1) * 1e-3


def worse_bits(content: Content, row: int, _by: float) -> None:
    one = next(one for one in content["rows"][row]["parity"] if one["name"] == "bits")
    one.update(check("bits", one["a"], one["b"], one["compared"], holds=False))
    fail_parity(content, row)


WORSE = (worse_time, worse_error, worse_cosine)


@given(
    st.sampled_from(["kernel-001", "faster"]),
    st.floats(0.9, 1.3),
    st.lists(st.tuples(st.sampled_from(WORSE), st.integers(0, 1), st.floats(1.0, 1.5)), max_size=4),
    st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_a_worse_number_never_makes_a_better_verdict(
    policy: str, start: float, steps: list[tuple[Callable[[Content, int, float], None], int, float]], bits: bool
) -> None:
    contents = copy.deepcopy(RECEIPTS)
    for row in range(2):
        worse_time(contents["rtx4090"], row, start)
    before = ORDER.index(decided(contents, policy).verdict)
    for step, row, by in steps:
        step(contents["rtx4090"], row, by)
        after = ORDER.index(decided(contents, policy).verdict)
        assert after >= before
        before = after
    if bits:
        worse_bits(contents["rtx4090"], 0, 1.0)
        assert decided(contents, policy).verdict == "REJECT"
