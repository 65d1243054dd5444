"""Folders of small worlds in either language, for tests that break, check or extend them."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from sim.core.agent import TALENTS, TRAITS

SHIPPED = Path(__file__).resolve().parents[2] / "configs" / "worlds"
_EN_NAMES = ["Ada Brook", "Ben Carter", "Cleo Dunn", "Dov Ellis", "Eve Frost", "Gil Hart", "Ivy Jones", "Kit Lane"]
_ZH_NAMES = ["林晓雨", "周子航", "陈安然", "欧阳若溪", "赵明远", "孙佳宁", "吴思齐", "郑一凡"]
_EN = {
    "place": "Room {n}",
    "description": "A room with four walls. It is bright. People meet here. It has number {n}.",
    "objects": ["bench {n}", "lamp {n}", "table {n}", "shelf {n}", "clock {n}"],
    "organizations": ["Bakery", "Library", "Clinic", "Garden"],
    "role": "Helper",
    "skill": "baking",
    "story": ("The Two Keys", "Two deputies each hold a key to one garden and each takes the other for a thief. " * 8),
    "told": [
        "Mends nets for pay and reads shipwreck reports for pleasure.",
        "Left a dairy farm at nineteen with one suitcase and a grudge.",
        "Once walked three days to return a borrowed umbrella.",
        "Keeps bees on the roof and forgives nobody who is late.",
        "Sang in a railway choir until the line was closed.",
        "Learned cards from a grandmother, and patience from losing.",
        "Draws every stranger on the back of old receipts.",
        "Was a clerk for years, and dreams of glaciers.",
    ],
    "view": "{name} is the one I met in the year of the flood, tall and slow to speak, able with bread and careful "
    "with words; works as a helper, keeps a promise, has carried my boxes twice and never asked for a thing in return.",
}
_ZH = {
    "place": "{n}号教室",
    "description": "四面有墙。光线很好。大家在这里见面。这是{n}号。",
    "objects": ["{n}号长凳", "{n}号灯", "{n}号桌子", "{n}号书架", "{n}号钟"],
    "organizations": ["面包房", "图书馆", "医务室", "花园"],
    "role": "助手",
    "skill": "烘焙",
    "story": ("两把钥匙", "两个副手各有一把同一座花园的钥匙，都以为对方是贼。" * 8),
    "told": [
        "靠补渔网挣钱，闲时爱读沉船的旧闻。",
        "十九岁离开牧场，只带一只箱子和一肚子气。",
        "为了还一把雨伞，曾经走过三天山路。",
        "在屋顶养蜂，最不能原谅迟到的人。",
        "唱过铁路合唱团，直到那条线停开。",
        "跟祖母学会打牌，从输里学会耐心。",
        "喜欢在旧收据背面画每一个陌生人。",
        "当了很多年文书，梦里总是冰川。",
    ],
    "view": "{name}是发大水那年认识的，个子高，说话慢，会做面包，话不多说；当助手，说到做到，帮我搬过两次箱子，"
    "从来不求什么回报，我们常在走廊里碰见，点点头就各自去忙，有时也会一起吃饭，聊聊这里的人和事，我觉得这个人很可靠。",
}


def a_world(folder: Path, *, language: str = "en", n: int = 2, positions: int = 2, names: int = 6) -> Path:
    """A sound world of n characters who all know each other, with as many positions and spare names as asked."""
    words, people = (_ZH, _ZH_NAMES) if language == "zh" else (_EN, _EN_NAMES)
    (folder / "characters").mkdir(parents=True)
    _write(
        folder / "world.yaml",
        {
            "name": "small",
            "language": language,
            "start_year": 2024,
            "currency": "coins",
            "worldview": words["description"].format(n=0),
            "rules": words["description"].format(n=1),
            "cast": [f"c{place}" for place in range(n)],
        },
    )
    sizes = ["small"] * 15 + ["medium"] * 10 + ["large"] * 5
    places = [
        {
            "name": words["place"].format(n=number),
            "size": size,
            "description": words["description"].format(n=number),
            "objects": [thing.format(n=number) for thing in words["objects"]],
        }
        for number, size in enumerate(sizes)
    ]
    _write(folder / "locations.yaml", {"locations": places})
    posts = [
        {
            "organization": words["organizations"][place],
            "role": words["role"],
            "type": "work",
            "weekly_income": 200,
            "weekly_skill_gain": {words["skill"]: 2},
            "capacity": 1,
            "requirements": {"skills": {words["skill"]: 40}, "min_age": 20, "max_age": 60},
        }
        for place in range(positions)
    ]
    _write(folder / "positions.yaml", {"positions": posts})
    _write(folder / "prices.yaml", {"prices": [{"item": words["objects"][0], "price": 3, "category": "home"}]})
    spare = [{"name": name, "gender": "female"} for name in people[n : n + names]]
    _write(folder / "names.yaml", {"names": spare})
    title, text = words["story"]
    _write(folder / "stories.yaml", {"stories": [{"title": title, "text": text.strip()}]})
    for place in range(n):
        _write(folder / "characters" / f"c{place}.yaml", _character(words, people[:n], place, positions))
    return folder


def _character(words: dict[str, Any], cast: list[str], place: int, positions: int) -> dict[str, Any]:
    name = cast[place]
    told = words["told"][place]
    key = f"{words['organizations'][place]}/{words['role']}" if place < positions else None
    entry = {
        "name": name,
        "gender": "female",
        "birthday": f"Y{1990 + place}-W3-activity-D2",
        **dict.fromkeys(("appearance", "details", "conflicts", "motivation", "values", "preferences", "goals"), told),
        "traits": dict.fromkeys(TRAITS, 50 + place),
        "talents": dict.fromkeys(TALENTS, 60),
        "skills": {words["skill"]: 50},
        "deposit": 100,
        "possessions": [{"name": words["objects"][1].format(n=place), "description": told, "value": 5}],
        "home": {
            "description": words["description"].format(n=place),
            "objects": [thing.format(n=place) for thing in words["objects"]],
        },
        "knows": {other: words["view"].format(name=other) for other in cast if other != name},
    }
    return {**entry, "position": key} if key else entry


def a_copy(folder: Path, name: str = "apartment") -> Path:
    """A copy of a shipped world that a test may break."""
    return Path(shutil.copytree(SHIPPED / name, folder))


def change(path: Path, edit: Callable[[Any], None]) -> None:
    """Edit a YAML file's content in place."""
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    edit(content)
    _write(path, content)


def put(*keys: str | int, value: Any) -> Callable[[Any], None]:
    """An edit that sets a value at a path of keys."""

    def edit(content: Any) -> None:
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = value

    return edit


def add(*keys: str | int, text: str) -> Callable[[Any], None]:
    """An edit that adds a sentence to a text."""

    def edit(content: Any) -> None:
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = f"{content[keys[-1]]} {text}"

    return edit


def _write(path: Path, content: Any) -> None:
    path.write_text(yaml.safe_dump(content, allow_unicode=True, sort_keys=False), encoding="utf-8")
