"""Receipts with a fault. To add one, add it to `mutants`.

A real run of one small case makes a receipt; each mutant alters it the way an edit, a merge or a bug would, and reading
it must refuse it, with the field that is wrong named.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from diffcheck.arms import BuilderArm, TwinArm
from diffcheck.cases import get_case
from diffcheck.errors import BadInputError
from diffcheck.executors.machine import MachineExecutor
from diffcheck.parity.suite import Request, Setup, run_suite
from diffcheck.receipts.build import build_receipt
from diffcheck.receipts.model import read_receipt
from diffcheck.selftest.base import Finding, Mutant
from diffcheck.selftest.model import SelfTestNotRun
from diffcheck.selftest.ptx_run import PROFILE, TARGET

CHECK = "receipt"
CASE = "random-8x2-L65-f16"
Change = Callable[[dict[str, Any]], None]


@lru_cache(maxsize=1)
def _text() -> str:
    setup = Setup(MachineExecutor(), TARGET, PROFILE)
    report = run_suite(Request((get_case(CASE),), (BuilderArm(),), TwinArm(), (setup,)), lambda _name, _run: None)
    receipt = build_receipt(report, ["parity", "--case", CASE], SelfTestNotRun(reason="planted"))
    return receipt.model_dump_json(by_alias=True)


def _refusal(text: str) -> str:
    """Return what reading a receipt says of it; empty where it is taken."""
    with TemporaryDirectory(prefix="diffcheck-selftest-") as folder:
        path = Path(folder) / "receipt.json"
        path.write_text(text, encoding="utf-8")
        try:
            read_receipt(path)
        except BadInputError as error:
            return str(error)
    return ""


@dataclass(frozen=True)
class ReceiptMutant:
    """An altered receipt; `says` is what the refusal must speak of."""

    change: Change
    says: str

    def __call__(self) -> Finding:
        """Read the altered receipt and the real one."""
        altered = json.loads(_text())
        self.change(altered)
        refused = _refusal(json.dumps(altered))
        sound = _refusal(_text())
        caught = (CHECK,) if self.says in refused and refused else ()
        said = refused.rsplit("allowed: ", 1)[-1] if refused else "it was taken"
        return Finding(caught, said, f"the receipt itself: {sound}" if sound else "")


def _case(receipt: dict[str, Any]) -> dict[str, Any]:
    case: dict[str, Any] = receipt["interpreted"]["cases"][0]
    return case


def _check(receipt: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(check for check in _case(receipt)["checks"] if check["name"] == name)
    return found


def _no_cases(receipt: dict[str, Any]) -> None:
    receipt["interpreted"]["cases"] = []


def _no_tier(receipt: dict[str, Any]) -> None:
    receipt["interpreted"] = None


def _no_checks(receipt: dict[str, Any]) -> None:
    _case(receipt)["checks"] = []


def _without(name: str) -> Change:
    def change(receipt: dict[str, Any]) -> None:
        case = _case(receipt)
        case["checks"] = [check for check in case["checks"] if check["name"] != name]

    return change


def _failing_check(receipt: dict[str, Any]) -> None:
    _check(receipt, "memory")["holds"] = False


def _nothing_compared(receipt: dict[str, Any]) -> None:
    _check(receipt, "memory")["compared"] = 0


def _nan_ratio(receipt: dict[str, Any]) -> None:
    _check(receipt, "oracle")["ratio"] = "NaN"


def _past_the_bound(receipt: dict[str, Any]) -> None:
    _check(receipt, "oracle")["ratio"] = 1.5


def _one_word_differs(receipt: dict[str, Any]) -> None:
    whole = _check(receipt, "bits")["whole"]
    whole["equal"] -= 1
    whole["bitwise_percent"] = 100.0 * whole["equal"] / whole["words"]


def _no_such_arm(receipt: dict[str, Any]) -> None:
    receipt["arms"] = [arm for arm in receipt["arms"] if arm["name"] != "builder"]


def _idle_arm(receipt: dict[str, Any]) -> None:
    arms = receipt["arms"]
    arms.append({**arms[-1], "name": "oxide"})


def _no_reference(receipt: dict[str, Any]) -> None:
    receipt["reference"]["cases"] = []


def _other_plan(receipt: dict[str, Any]) -> None:
    plan = _case(receipt)["case"]["plan"]
    plan["key"] = plan["key"].replace(f"|{plan['policy']}|", "|fixed:1|")
    plan["policy"] = "fixed:1"


def _short_digest(receipt: dict[str, Any]) -> None:
    _case(receipt)["arms"][0]["ptx_sha256"] = "0" * 63


def _verdict(receipt: dict[str, Any]) -> None:
    receipt["verdict"] = "PROMOTE"


def _status(receipt: dict[str, Any]) -> None:
    receipt["status"] = "fails"


def _measured_time(receipt: dict[str, Any]) -> None:
    _case(receipt)["arms"][0]["launch_seconds"] = 1e-6


def mutants() -> tuple[Mutant, ...]:
    """Return the mutants of receipts; none where the native module is not built."""
    try:
        import rust_kernel.ptx  # noqa: F401
    except ImportError:
        return ()
    return (
        _receipt("no-cases", "a tier has no case", "cases", _no_cases),
        _receipt("no-tier", "nothing ran anywhere", "one of them must be there", _no_tier),
        _receipt("no-checks", "a case has no check", "checks", _no_checks),
        _receipt("no-bits-check", "no one compared the bits", "builder has no check bits", _without("bits")),
        _receipt("no-memory-check", "no one looked at the memory", "builder has no check memory", _without("memory")),
        _receipt("failing-check", "a check fails in a case that holds", "contradicts the checks", _failing_check),
        _receipt("nothing-compared", "a check over no word holds", "nothing was compared", _nothing_compared),
        _receipt("nan-ratio", "an error that is NaN holds", "contradicts an error", _nan_ratio),
        _receipt("past-the-bound", "an error past its bound holds", "contradicts an error", _past_the_bound),
        _receipt("one-word", "one word differs, and bits hold", "equal words", _one_word_differs),
        _receipt("missing-arm", "an arm that ran is not among the arms", "not among the arms", _no_such_arm),
        _receipt("idle-arm", "an arm took part in no case", "took part in no case", _idle_arm),
        _receipt("no-reference", "the reference computed nothing", "reference", _no_reference),
        _receipt("other-plan", "a case ran by a plan that the reference did not", "no case", _other_plan),
        _receipt("short-digest", "a digest is cut", "ptx_sha256", _short_digest),
        _receipt("verdict", "a field that no receipt has", "verdict", _verdict),
        _receipt("status", "the status is not that of the cases", "contradicts the cases", _status),
        _receipt(
            "measured-time", "a time of a device stands in the interpreted tier", "launch_seconds", _measured_time
        ),
    )


def _receipt(name: str, what: str, says: str, change: Change) -> Mutant:
    return Mutant(f"receipt-{name}", "receipt", what, CHECK, ReceiptMutant(change, says))
