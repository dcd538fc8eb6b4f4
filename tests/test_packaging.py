"""The wheel, as a user gets it: right names in it, and working away from the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("evoharness", "evoharness_alfworld")

pytestmark = pytest.mark.xdist_group("packaging")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # Built from a copy: the checkout stays as it is.
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in ("evoharness", "adapters"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out)]
    subprocess.run([*command, str(source)], check=True, capture_output=True)
    [built] = out.glob("*.whl")
    return built


def test_the_wheel_has_our_packages_and_nothing_else(wheel: Path) -> None:
    checked = subprocess.run(
        [Path(sysconfig.get_path("scripts")) / "check-wheel-contents", wheel],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info" not in name}
    assert tops == set(PACKAGES)
    for package in PACKAGES:
        assert f"{package}/py.typed" in names
    assert "evoharness_alfworld/priors.json" in names


def test_every_file_of_the_packages_is_in_the_wheel(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in (ROOT / "evoharness", ROOT / "adapters/alfworld/evoharness_alfworld"):
        for path in folder.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                assert str(path.relative_to(folder.parent)) in names


def test_the_wheel_works_away_from_the_checkout(wheel: Path, tmp_path: Path) -> None:
    """A fresh environment has the wheel alone; its dependencies are looked up in ours."""
    home = tmp_path / "venv"
    venv.create(home, with_pip=False, symlinks=True)
    python = home / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True)
    # Path files in a folder of PYTHONPATH are not read, so our editable install stays out.
    environment = {**os.environ, "PYTHONPATH": sysconfig.get_path("purelib"), "NO_COLOR": "1"}

    def output(*command: str | Path) -> str:
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    for package in PACKAGES:
        where = output(python, "-c", f"import {package}; print({package}.__file__)")
        assert Path(where.strip()).is_relative_to(home)
    script = home / "bin" / "evoharness"
    assert output(script, "--version").startswith("evoharness ")
    assert "alfworld" in output(script, "adapters")
    assert "solved" in output(script, "run", "evoharness.testing:ToyAdapter")
    assert "solved" in output(script, "demo")


@pytest.mark.parametrize("folder", ["adapters", "adapters/alfworld", "cookbook"])
def test_folders_that_would_hide_other_packages_are_no_packages(folder: str) -> None:
    assert not (ROOT / folder / "__init__.py").exists()


def test_files_stay_readable_in_one_sitting() -> None:
    for folder in ("evoharness", "adapters", "benchmarks", "cookbook"):
        for path in (ROOT / folder).rglob("*.py"):
            lines = len(path.read_text().splitlines())
            name = str(path.relative_to(ROOT))
            assert lines <= 420, f"{name} has {lines} lines"
