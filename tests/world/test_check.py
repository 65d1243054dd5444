"""The checker: shipped worlds have no faults, and every kind of fault that is planted is found, by itself."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sim.context.render import Renderer
from sim.core.agent import TRAITS
from sim.world.check import check_folder, main
from sim.world.checking.findings import faults_in
from tests.world.small_worlds import SHIPPED, a_world, add, change, put

WORLDS = sorted(path.parent.name for path in SHIPPED.glob("*/world.yaml"))
ONE, TWO = "characters/c0.yaml", "characters/c1.yaml"


@pytest.mark.parametrize("name", WORLDS)
def test_shipped_worlds_have_no_faults_and_places_of_the_full_form(name: str) -> None:
    found = check_folder(SHIPPED / name)
    assert [str(finding) for finding in faults_in(found)] == []
    assert [str(finding) for finding in found if finding.kind == "place"] == []


@pytest.fixture(params=["en", "zh"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A sound world of four, in either language, in which a fault may be planted."""
    return a_world(tmp_path / "world", language=request.param, n=4, positions=4, names=4)


def test_a_sound_world_has_no_faults(folder: Path) -> None:
    found = check_folder(folder)
    assert faults_in(found) == []
    assert {finding.kind for finding in found} == {"names"}


def name_of(folder: Path, file: str) -> str:
    """The name in a character's file."""
    text = (folder / file).read_text(encoding="utf-8")
    return text.split("name: ", 1)[1].splitlines()[0]


def spare_of(folder: Path) -> str:
    """The first name of the list."""
    text = (folder / "names.yaml").read_text(encoding="utf-8")
    return text.split("name: ", 1)[1].splitlines()[0]


def same_past(content: Any) -> None:
    """The looks and past of the first character, whatever the language."""
    content["appearance"] = content["details"] = "The only one who ever swam across the harbor at night and came back."


def twins(folder: Path) -> None:
    change(folder / ONE, same_past)
    change(folder / TWO, same_past)


def almost_a_name(folder: Path) -> None:
    """A second name that differs by an accent or blank alone."""
    first, second = name_of(folder, ONE), name_of(folder, TWO)
    almost = first.replace("a", "á", 1) if first.isascii() else f"{first[0]} {first[1:]}"
    for place in range(4):
        path = folder / f"characters/c{place}.yaml"
        text = path.read_text(encoding="utf-8").replace(second, almost)
        path.write_text(text, encoding="utf-8")


def kinship(folder: Path) -> None:
    one, two = name_of(folder, ONE), name_of(folder, TWO)
    mine, yours = ("My sister, who sings.", "My aunt, strict.") if one.isascii() else ("她是我妹妹。", "她是我阿姨。")
    change(folder / ONE, put("knows", two, value=mine))
    change(folder / TWO, put("knows", one, value=yours))


def secret_kinship(folder: Path) -> None:
    text = "My sister, who sings." if name_of(folder, ONE).isascii() else "她是我妹妹。"
    change(folder / ONE, put("knows", name_of(folder, TWO), value=text))


def stranger(folder: Path) -> None:
    change(folder / ONE, add("details", text=f"{spare_of(folder)}."))


def stranger_in_the_worldview(folder: Path) -> None:
    change(folder / "world.yaml", add("worldview", text=f"{spare_of(folder)}."))


def nameless(folder: Path) -> None:
    change(folder / "names.yaml", put("names", value=[]))


def spoken_alike(folder: Path) -> None:
    """Two places that differ by quotes alone."""
    path = folder / "locations.yaml"
    change(path, lambda content: put("locations", 1, "name", value=f"“{content['locations'][0]['name']}”")(content))


def named_like_somebody(folder: Path) -> None:
    change(folder / "locations.yaml", put("locations", 1, "name", value=name_of(folder, ONE)))


def soundless(folder: Path) -> None:
    change(folder / "locations.yaml", put("locations", 1, "name", value="?!"))


PLANTED: list[tuple[str, Callable[[Path], None]]] = [
    ("money", lambda folder: change(folder / ONE, put("deposit", value="1,200 coins"))),
    ("money", lambda folder: change(folder / ONE, put("possessions", 0, "value", value=2.5))),
    ("money", lambda folder: change(folder / "prices.yaml", put("prices", 0, "price", value="three"))),
    ("money", lambda folder: change(folder / "positions.yaml", put("positions", 0, "weekly_income", value=None))),
    ("file", lambda folder: change(folder / ONE, put("traits", "patience", value=101))),
    ("file", lambda folder: (folder / "stories.yaml").unlink()),
    ("file", lambda folder: (folder / TWO).unlink()),
    ("file", lambda folder: (folder / ONE).write_text("name: [", encoding="utf-8") and None),
    ("soundness", lambda folder: change(folder / ONE, put("deposit", value=99_999))),
    ("soundness", lambda folder: change(folder / ONE, lambda content: content["traits"].pop(TRAITS[0]))),
    ("duplicate", twins),
    ("duplicate", almost_a_name),
    ("contradiction", kinship),
    ("unknown_person", stranger),
    ("unknown_person", stranger_in_the_worldview),
    ("names", nameless),
    ("unreachable", spoken_alike),
    ("unreachable", named_like_somebody),
    ("unreachable", soundless),
    ("unheld_position", lambda folder: change(folder / ONE, lambda content: content.pop("position"))),
    ("age", lambda folder: change(folder / ONE, put("birthday", value="Y2010-W3-activity-D2"))),
    ("age", lambda folder: change(folder / ONE, put("birthday", value="Y1930-W3-activity-D2"))),
]


@pytest.mark.parametrize(("kind", "plant"), PLANTED, ids=[f"{kind}{n}" for n, (kind, _) in enumerate(PLANTED)])
def test_every_kind_of_fault_is_found(folder: Path, kind: str, plant: Callable[[Path], None]) -> None:
    plant(folder)
    kinds = {finding.kind for finding in faults_in(check_folder(folder))}
    further = {"soundness", "unreachable"} if plant is almost_a_name else set[str]()
    assert kind in kinds
    assert kinds - {kind} <= further


WARNED: list[tuple[str, Callable[[Path], None]]] = [
    ("place", lambda folder: change(folder / "locations.yaml", lambda content: content["locations"].pop())),
    ("place", lambda folder: change(folder / "locations.yaml", put("locations", 0, "description", value="One."))),
    ("place", lambda folder: change(folder / "locations.yaml", put("locations", 0, "objects", value=["bench"]))),
    (
        "place",
        lambda folder: change(folder / "locations.yaml", put("locations", 0, "size", value="large")) or both(folder),
    ),
    ("place", lambda folder: change(folder / ONE, put("home", "objects", value=["bed"]))),
    ("place", lambda folder: change(folder / ONE, put("home", "description", value="One."))),
    ("length", lambda folder: change(folder / ONE, put("knows", name_of(folder, TWO), value="Tall."))),
    ("contradiction", secret_kinship),
    ("skill", lambda folder: change(folder / ONE, lambda content: content.update(skills={"x": 1}))),
    ("supply", lambda folder: change(folder / "positions.yaml", put("positions", 0, "capacity", value=9))),
]


def both(folder: Path) -> None:
    """A second place that is large instead of small."""
    change(folder / "locations.yaml", put("locations", 1, "size", value="large"))


@pytest.mark.parametrize(("kind", "plant"), WARNED, ids=[f"{kind}{n}" for n, (kind, _) in enumerate(WARNED)])
def test_what_is_unusual_is_a_warning(folder: Path, kind: str, plant: Callable[[Path], None]) -> None:
    plant(folder)
    found = check_folder(folder)
    assert faults_in(found) == []
    assert kind in {finding.kind for finding in found}


@pytest.mark.parametrize(
    ("here", "there", "differ"),
    [("owes 400 for a stove", "lent 300", True), ("owes 400", "lent 400", False), ("since 2019", "since 2020", True)],
)
def test_different_sums_and_years_are_worth_a_look(folder: Path, here: str, there: str, differ: bool) -> None:
    one, two = name_of(folder, ONE), name_of(folder, TWO)
    change(folder / ONE, add("knows", two, text=here))
    change(folder / TWO, add("knows", one, text=there))
    found = check_folder(folder)
    assert faults_in(found) == []
    assert ("contradiction" in {finding.kind for finding in found}) == differ


def test_whoever_is_said_to_have_left_may_be_spoken_of(folder: Path) -> None:
    stranger(folder)
    language = "en" if name_of(folder, ONE).isascii() else "zh"
    left = Renderer(language).render("world/absent.j2", {"name": spare_of(folder)})
    change(folder / ONE, add("goals", text=left))
    assert faults_in(check_folder(folder)) == []


def test_a_wrong_family_name_is_worth_a_look(tmp_path: Path) -> None:
    folder = a_world(tmp_path / "world")
    change(folder / ONE, add("details", text="Ben Cartwright of all people helped; Ben Carter's brother did not."))
    assert [finding.about for finding in check_folder(folder) if finding.kind == "unknown_person"] == [
        ("Ben Cartwright",)
    ]


# --- the command ---


def test_the_command_ends_with_one_on_faults_and_lists_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = a_world(tmp_path / "world")
    assert main([str(folder)]) == 0
    assert "faults: 0" in capsys.readouterr().out
    nameless(folder)
    assert main([str(folder)]) == 1
    assert "[names] names.yaml: no name is left" in capsys.readouterr().out


def test_the_command_prints_json_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = a_world(tmp_path / "world")
    nameless(folder)
    assert main([str(folder), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [item["kind"] for item in found if item["severity"] == "fault"] == ["names"]


def test_a_folder_that_is_no_world_is_a_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 1
    assert "world.yaml: missing" in capsys.readouterr().out.replace("\n", " ")


def test_a_model_is_asked_only_of_a_sound_world(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = a_world(tmp_path / "world", n=3, positions=3)
    config = tmp_path / "scripted.yaml"
    config.write_text("serving: {environment: {kind: scripted}}", encoding="utf-8")
    assert main([str(folder), "--config", str(config), "--calls", "3"]) == 0
    assert "[account]" in capsys.readouterr().out
    change(folder / ONE, put("deposit", value="much"))
    assert main([str(folder), "--config", str(config)]) == 1
    assert "mend the faults" in capsys.readouterr().err
