"""llama.cpp's own operator benchmark as a column: what `test-backend-ops perf -o FLASH_ATTN_EXT` printed.

Two of its forms say how long an operator took: `--output sql`, which names the commit that was built, and the
console's, which does not, so that the user has to. `--output csv` has neither times nor commit. The benchmark runs an
operator on the same K and V again and again, so short contexts come from the L2: the column informs and no more.

Of several lines that are a row's decode (with a mask and without, say) the fastest is taken, as a peer is held to the
best that it has, and the column's version says by which parameters. One line twice is refused: which to believe?
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from diffcheck.errors import BadInputError
from diffcheck.receipts.ab.model import AbReceipt
from diffcheck.receipts.ab.rows import PeerRow, Row, RowCase
from diffcheck.regular_file import read_regular
from diffcheck.repeated import first_repeated

NAME = "llama.cpp"
OPERATOR = "FLASH_ATTN_EXT"
HOW = f"test-backend-ops perf -o {OPERATOR} --output sql"
_MAX_BYTES = 64 * 1024 * 1024
_INSERT = re.compile(r"INSERT INTO test_backend_ops \(([^)]*)\) VALUES \((.*)\);")
_VALUE = re.compile(r"'((?:[^']|'')*)'")
_CONSOLE = re.compile(rf"{OPERATOR}\(([^)]*)\):\s+\d+ runs -\s+([0-9.]+) us/run")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_BACKEND = re.compile(r"Backend \d+/\d+: (\S+)")
_DEVICE = re.compile(r"Device description: (.+)")
_PARAMETER = re.compile(r"(\w+)=(\[[^]]*\]|[^,]*)")
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_ADDED = ("sinks", "max_bias", "logit_softcap")
"""What an operator may do beside the decode; each is a number, and 0 where it does not."""


@dataclass(frozen=True)
class Measured:
    """One line of the benchmark: an operator's parameters as they were printed, and microseconds a run."""

    parameters: dict[str, str]
    us: float
    commit: str
    backend: str
    device: str
    """Empty where the benchmark did not say."""

    def words(self, names: Iterable[str] | None = None) -> str:
        """Return the parameters, or the named ones, as the benchmark writes them."""
        kept = self.parameters if names is None else names
        return ",".join(f"{name}={self.parameters.get(name, '')}" for name in kept)

    def is_of(self, case: RowCase) -> bool:
        """Whether it is the decode of a row: heads, head_dim, keys and storage are the same, and nothing is added.

        `nh` counts KV heads, and `nr23` says how many query heads share one.
        """
        said = self.parameters
        head_dim = str(case.head_dim)
        wanted = {"nh": str(case.num_kv_heads), "kv": str(case.kv_len), "nb": "1"}
        wanted |= dict.fromkeys(("hs",) if "hs" in said else ("hsk", "hsv"), head_dim)
        wanted |= dict.fromkeys(("type_K", "type_V") if "type_K" in said else ("type_KV",), case.storage)
        group = case.num_q_heads // case.num_kv_heads
        shared = said.get("nr23", f"[{said.get('nr', '1')},1]") == f"[{group},1]"
        plain = all(float(said.get(name, "0")) == 0.0 for name in _ADDED)
        return shared and plain and all(said.get(name) == value for name, value in wanted.items())


def read_llama_cpp(path: Path, commit: str | None = None) -> tuple[Measured, ...]:
    """Read what the benchmark printed: SQL, or the console's text, for which `commit` names what was built.

    Raises `BadInputError` for a file without times of the operator, and where no commit is known.
    """
    if commit is not None and not _COMMIT.fullmatch(commit):
        raise BadInputError("llama-cpp-commit", commit, "a git commit: 7 to 40 hexadecimal digits")
    text = _text(path)
    found = tuple(_of_sql(text)) or tuple(_of_console(text, commit))
    if not found:
        raise BadInputError("llama-cpp", str(path), f"what `{HOW}` printed; its CSV has no times")
    for one in found:
        if not _COMMIT.fullmatch(one.commit):
            raise BadInputError("llama-cpp", str(path), "the SQL form, or the console's with --llama-cpp-commit")
        if commit is not None and not (one.commit.startswith(commit) or commit.startswith(one.commit)):
            raise BadInputError("llama-cpp-commit", commit, f"{one.commit}, which the file names")
    twice = first_repeated((one.words(), one.backend, one.device, one.commit) for one in found)
    if twice is not None:
        where = f"{twice[1] or 'a backend without a name'}, {twice[2] or 'a device without a name'}"
        raise BadInputError("llama-cpp", f"{OPERATOR}({twice[0]})", f"one time of it, and two are of {where}")
    return found


def with_llama_cpp(receipt: AbReceipt, measured: Sequence[Measured]) -> AbReceipt:
    """Return a receipt with the column beside its peers; a row without a number says why. Ratios are derived anew."""
    rows = [
        row if row.timing is None else row.model_copy(update={"peers": (*_others(row), _peer(row, receipt, measured))})
        for row in receipt.rows
    ]
    return AbReceipt.model_validate({**dict(receipt), "rows": tuple(rows)}, by_name=True)


def _others(row: Row) -> tuple[PeerRow, ...]:
    return tuple(peer for peer in row.peers if peer.name != NAME)


def _peer(row: Row, receipt: AbReceipt, measured: Sequence[Measured]) -> PeerRow:
    commits = ", ".join(sorted({one.commit for one in measured}))
    shaped = [one for one in measured if one.is_of(row.case)]
    on_cuda = [one for one in shaped if one.backend.startswith("CUDA")]
    here = [one for one in on_cuda if one.device in {"", receipt.host.device}]
    if not here or row.timing is None:
        why = "on another device" if on_cuda else "on no CUDA device" if shaped else "not measured in this shape"
        return PeerRow(name=NAME, version=commits, samples_us=(), median_us=None, ratio=None, reason=why)
    best = min(here, key=lambda one: one.us)
    return PeerRow(
        name=NAME,
        version=f"{best.commit}{_chosen(best, here)}",
        samples_us=(best.us,),
        median_us=best.us,
        ratio=best.us / row.timing.baseline_us,
        reason=None,
    )


def _chosen(best: Measured, here: Sequence[Measured]) -> str:
    """Return in words which line was taken of several; empty where there is one."""
    if len(here) == 1:
        return ""
    names = dict.fromkeys(name for one in here for name in one.parameters)
    unlike = [name for name in names if len({one.parameters.get(name) for one in here}) > 1]
    return f", the fastest of {len(here)}: {best.words(unlike) or best.backend}"


def _text(path: Path) -> str:
    try:
        return _COLOUR.sub("", read_regular("llama-cpp", path, _MAX_BYTES))
    except UnicodeDecodeError as error:
        raise BadInputError("llama-cpp", str(path), "a text in UTF-8") from error


def _of_sql(text: str) -> Iterator[Measured]:
    for match in _INSERT.finditer(text):
        names = [name.strip() for name in match[1].split(",")]
        values = [value.replace("''", "'") for value in _VALUE.findall(match[2])]
        said = dict(zip(names, values, strict=False))
        if (said.get("op_name"), said.get("test_mode"), said.get("supported")) == (OPERATOR, "perf", "1"):
            commit, backend = said.get("build_commit", ""), said.get("backend_reg_name") or said.get("backend_name", "")
            yield from _measured(said.get("op_params", ""), said.get("time_us", ""), commit, backend, said)


def _of_console(text: str, commit: str | None) -> Iterator[Measured]:
    backend = device = ""
    for line in text.splitlines():
        if match := _BACKEND.search(line):
            backend, device = match[1], ""
        elif match := _DEVICE.search(line):
            device = match[1].strip()
        elif match := _CONSOLE.search(line):
            yield from _measured(match[1], match[2], commit or "", backend, {"device_description": device})


def _measured(parameters: str, us: str, commit: str, backend: str, said: dict[str, str]) -> Iterator[Measured]:
    try:
        time_us = float(us)
    except ValueError:
        return
    # A case that was skipped has a time of 0.
    if 0.0 < time_us < float("inf"):
        device, named = said.get("device_description", ""), dict(_PARAMETER.findall(parameters))
        for name in _ADDED:
            _require_number(name, named.get(name, "0"))
        yield Measured(named, time_us, commit, backend, device)


def _require_number(name: str, text: str) -> None:
    try:
        float(text)
    except ValueError as error:
        raise BadInputError(f"llama-cpp, {name} of {OPERATOR}", text, "a number") from error
