"""What a wheel holds: the three packages with their data, and nothing else. Built from this tree, so it takes cargo."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("diffcheck", "py_builder_kernel", "rust_kernel")
# The crate rust_kernel lies in the folder of the package of that name.
CRATE = ("rust_kernel/src/", "rust_kernel/kernel/", "rust_kernel/Cargo.toml", "rust_kernel/build.rs")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    pytest.importorskip("maturin", reason="maturin is not installed: scripts/setup.py installs it")
    out = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "maturin", "build", "--release", "--quiet", "--out", str(out)]
    run = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    (path,) = out.glob("*.whl")
    return zipfile.ZipFile(path)


def packaged(wheel: zipfile.ZipFile) -> set[str]:
    return {name for name in wheel.namelist() if ".dist-info/" not in name}


def metadata(wheel: zipfile.ZipFile, name: str) -> str:
    (path,) = (path for path in wheel.namelist() if path.endswith(f".dist-info/{name}"))
    return wheel.read(path).decode()


def test_wheel_has_no_folder_but_the_packages(wheel: zipfile.ZipFile) -> None:
    assert {PurePosixPath(name).parts[0] for name in packaged(wheel)} == set(PACKAGES)


def test_wheel_has_no_rust(wheel: zipfile.ZipFile) -> None:
    rust = {".rs", ".lock"}
    assert [
        name for name in wheel.namelist() if PurePosixPath(name).suffix in rust or name.endswith("Cargo.toml")
    ] == []


def test_wheel_has_every_file_of_the_packages(wheel: zipfile.ZipFile) -> None:
    tree = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    expected = {name for name in tree if not name.startswith(CRATE)}
    assert packaged(wheel) == expected


def test_wheel_has_the_data_that_the_packages_read(wheel: zipfile.ZipFile) -> None:
    typed = {f"{package}/py.typed" for package in PACKAGES}
    needed = {"py_builder_kernel/opcodes.toml", "rust_kernel/_native.pyi", "rust_kernel/_native.abi3.so", *typed}
    assert needed <= packaged(wheel)


def test_wheel_is_for_the_stable_abi(wheel: zipfile.ZipFile) -> None:
    assert wheel.filename is not None
    assert "-cp310-abi3-" in Path(wheel.filename).name


def test_wheel_installs_the_command(wheel: zipfile.ZipFile) -> None:
    assert "diffcheck=diffcheck.cli:main" in metadata(wheel, "entry_points.txt").replace(" ", "")


def test_wheel_asks_for_no_gpu_library_unless_told(wheel: zipfile.ZipFile) -> None:
    requirements = Parser().parsestr(metadata(wheel, "METADATA")).get_all("Requires-Dist", [])
    always = {requirement.split(">=")[0] for requirement in requirements if "extra ==" not in requirement}
    assert always == {"jinja2", "matplotlib", "numpy", "pydantic", "rich", "scipy", "tomli", "typer"}
