"""Measuring, with the PTX machine in the device's place: all but the calls of CuPy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from diffcheck.errors import BadInputError, MissingRequirementError
from diffcheck.executors.gpu import GpuExecutor
from diffcheck.opcodes import store
from diffcheck.opcodes.device import device_facts, driver_release
from diffcheck.opcodes.judge import differences
from diffcheck.opcodes.measure import Measured, measure, run_facts, select
from diffcheck.opcodes.probe import all_probes
from tests.opcodes.support import DIES, FAULTS, HANGS, REFUSED, machine, unable, unreliable

THREE = tuple(select(f"add.u{bits}")[0] for bits in (16, 32, 64))
SIX = (*THREE, *(select(f"add.s{bits}")[0] for bits in (16, 32, 64)))
FACTS: dict[str, Any] = {"device": "none", "date": "2000-01-01T00:00:00+00:00"}


def test_what_the_device_gives_is_written_and_read_again(tmp_path: Path) -> None:
    out = tmp_path / "values.jsonl"
    probes = select("s[hu][lb].*")
    found = measure(probes, machine, FACTS, out, workers=2)
    assert found.count == len(probes) > 20
    assert found == Measured(count=len(probes))
    values = store.read(out)
    assert set(values.forms) == {probe.name for probe in probes}
    assert list(values.runs.values()) == [FACTS]
    for probe in probes:
        value = values.fresh(probe)
        assert value is not None
        assert value.status == "measured"
        assert not differences(probe, value.columns(probe), value.columns(probe))


def test_a_form_that_hangs_dies_or_faults_does_not_stop_the_others(tmp_path: Path) -> None:
    out = tmp_path / "values.jsonl"
    found = measure(SIX, unreliable, FACTS, out, limit_s=1.0)
    assert [line.partition(":")[0] for line in found.refused] == [REFUSED]
    assert sorted(line.partition(":")[0] for line in found.faults) == sorted([HANGS, DIES, FAULTS])
    assert {difference.form for difference in found.against_machine} == {"add.u16"}
    status = {name: value.status for name, value in store.read(out).forms.items()}
    assert status == {
        "add.u16": "measured",
        "add.s16": "measured",
        REFUSED: "refused",
        HANGS: "fault",
        DIES: "fault",
        FAULTS: "fault",
    }


def test_a_device_that_cannot_start_fails_every_form_at_once() -> None:
    found = measure(SIX, unable, FACTS, None)
    assert len(found.faults) == 6
    assert all("no context" in line for line in found.faults)


def test_a_broken_off_measurement_goes_on_where_it_stopped(tmp_path: Path) -> None:
    out = tmp_path / "values.jsonl"
    measure(THREE, machine, FACTS, out)
    later = {**FACTS, "date": "2000-01-02T00:00:00+00:00"}
    found = measure(SIX, machine, later, out, missing=True)
    assert found.count == 3
    values = store.read(out)
    assert len(values.forms) == 6
    assert [facts["date"] for facts in values.runs.values()] == [FACTS["date"], later["date"]]


def test_values_of_other_operands_are_not_taken(tmp_path: Path) -> None:
    out = tmp_path / "values.jsonl"
    probe = select("add.u32")[0]
    measure([probe], machine, FACTS, out)
    out.write_text(out.read_text().replace(probe.digest, "0" * 16))
    assert store.read(out).fresh(probe) is None


@pytest.mark.parametrize(
    ("number", "line", "what"),
    [
        (0, json.dumps({"schema": "other", "runs": {}}), "schema 'other'"),
        (1, '{"form": "add.u32"', "Expecting"),
        (1, json.dumps({"form": "add.u32", "digest": "0", "run": "9", "status": "measured"}), "run '9'"),
        (1, json.dumps({"form": "add.u32", "digest": "0", "run": "r", "status": "measured", "data": "AAAA"}), "line 2"),
    ],
)
def test_a_damaged_file_of_values_is_refused_with_its_line(tmp_path: Path, number: int, line: str, what: str) -> None:
    out = tmp_path / "values.jsonl"
    lines = [json.dumps({"schema": store.SCHEMA, "runs": {"r": {}}}), ""]
    lines[number] = line
    out.write_text("\n".join(lines[: number + 1]))
    with pytest.raises(BadInputError, match=what):
        store.read(out)


def test_data_of_another_length_is_refused() -> None:
    probe = select("add.u32")[0]
    value = store.Value(probe.digest, "r", "measured", bytes(12))
    with pytest.raises(BadInputError, match="12 bytes"):
        value.columns(probe)


def test_a_pattern_without_a_form_is_refused() -> None:
    with pytest.raises(BadInputError, match="--only"):
        select("no.such.*")


def test_the_facts_of_a_run_name_the_command_without_folders() -> None:
    facts = run_facts(["opcodes", "measure", "--out", "/somewhere/else/values.jsonl"])
    assert facts["command"] == "opcodes measure --out values.jsonl"


def test_the_driver_is_read_from_the_system(tmp_path: Path) -> None:
    file = tmp_path / "version"
    file.write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue Sep 23 10:11:16 UTC 2025\n")
    assert driver_release(file) == "580.95.05"
    assert driver_release(tmp_path / "absent") is None


def test_without_a_device_there_is_one_line() -> None:
    if GpuExecutor().available():
        pytest.skip("there is a CUDA device here")
    with pytest.raises(MissingRequirementError) as raised:
        device_facts()
    assert "\n" not in str(raised.value)


def test_digests_tell_the_forms_apart() -> None:
    digests = [probe.digest for probe in all_probes()]
    assert len(set(digests)) == len(digests)
