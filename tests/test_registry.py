from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from evoharness import Adapter, registry
from evoharness.registry import load_adapter, registered
from evoharness.testing import ToyAdapter

TOY = "evoharness.testing:ToyAdapter"


def test_an_adapter_is_found_by_module_and_class() -> None:
    assert isinstance(load_adapter(TOY), ToyAdapter)


def test_registered_ones_are_named_and_not_loaded() -> None:
    points = registered()
    assert list(points) == sorted(points)
    assert all(isinstance(point, EntryPoint) for point in points.values())


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package that registers adapters, found on `sys.path` like any other."""
    info = tmp_path / "boxes-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: boxes\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[evoharness.adapters]\n"
        f"boxes = {TOY}\n"
        "lost = boxes_of_nowhere:Adapter\n"
        "misspelt = evoharness.testing:ToyAdaptor\n"
        "wrong = evoharness.testing:ScriptedModel\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("package")
def test_an_adapter_is_found_by_its_registered_name() -> None:
    assert "boxes" in registered()
    assert isinstance(load_adapter("boxes"), ToyAdapter)


@pytest.mark.usefixtures("package")
def test_a_miss_names_what_there_is_and_what_was_meant() -> None:
    with pytest.raises(LookupError) as caught:
        load_adapter("boxs")
    message = str(caught.value)
    assert "no adapter is registered as 'boxs'" in message
    assert "Did you mean 'boxes'?" in message
    assert "boxes" in message.split("Registered: ")[1]
    assert "`module:Class`" in message


@pytest.mark.usefixtures("package")
def test_a_miss_that_is_near_nothing_guesses_nothing() -> None:
    with pytest.raises(LookupError) as caught:
        load_adapter("zzzzzz")
    assert "Did you mean" not in str(caught.value)


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize("name", ["lost", "misspelt"])
def test_a_registered_adapter_that_cannot_be_loaded_names_its_package(name: str) -> None:
    with pytest.raises(ImportError, match=f"adapter '{name}' of boxes cannot be loaded"):
        load_adapter(name)


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize("name", ["wrong", "evoharness.testing:ScriptedModel", "json:dumps"])
def test_what_is_no_adapter_is_refused(name: str) -> None:
    with pytest.raises(TypeError, match=r"not a subclass of evoharness\.Adapter"):
        load_adapter(name)


@pytest.mark.parametrize(
    "name", ["no_such_module:Adapter", "evoharness.testing:NoAdapter", "evoharness.nothing:Adapter"]
)
def test_a_path_that_leads_nowhere_is_told(name: str) -> None:
    with pytest.raises(LookupError, match="cannot be imported"):
        load_adapter(name)


@pytest.mark.parametrize("name", [":Adapter", "evoharness:", ":", ".testing:Adapter", "a b:C"])
def test_a_path_of_another_form_is_told(name: str) -> None:
    with pytest.raises(LookupError, match="`module:Class`"):
        load_adapter(name)


def test_settings_the_adapter_does_not_take_are_refused() -> None:
    with pytest.raises(ValueError, match=r"keyword argument 'colour'; its settings are none"):
        load_adapter(TOY, colour="red")


def test_settings_reach_the_adapter() -> None:
    assert isinstance(load_adapter(f"{__name__}:Coloured", colour="red"), Adapter)


class Coloured(ToyAdapter):
    def __init__(self, colour: str) -> None:
        assert colour == "red"


def test_the_group_is_the_documented_one() -> None:
    assert registry.GROUP == "evoharness.adapters"
