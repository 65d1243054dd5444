"""A small world in Chinese, so that whatever is English in its prompts comes from the program."""

from sim.core.agent import TALENTS, TRAITS, Location, Position, Requirements
from sim.world.schema import Belonging, Character, Home, Price, World

NAMES = ("林晓", "陈默", "周宁", "许安", "方圆")


def a_chinese_world() -> World:
    """Five people in a lane, two of them with a position, who know some of each other."""
    return World(
        name="巷子",
        language="zh",
        start_year=2024,
        currency="元",
        worldview="河边的一条老巷子，家家户户都认得楼梯的响声。",
        rules="进别人家要先得到邀请。",
        content_policy="不写任何恋爱内容。",
        locations=tuple(
            Location(name=name, size=size, description="巷子里的一个去处。", objects=("长凳", "茶壶"))
            for name, size in (("茶馆", "small"), ("天井", "medium"), ("河堤", "large"))
        ),
        positions=(
            Position(
                organization="面包房", role="面包师", type="work", weekly_income=200, weekly_skill_gain={"烘焙": 2},
                capacity=2, requirements=Requirements(skills={"烘焙": 5}),
            ),
            Position(
                organization="茶馆", role="说书人", type="work", weekly_income=150, weekly_skill_gain={"口才": 3},
                capacity=2, requirements=Requirements(),
            ),
            Position(
                organization="夜校", role="学生", type="non-work", weekly_income=60, weekly_skill_gain={"算术": 3},
                capacity=3, requirements=Requirements(min_age=16, max_age=60),
            ),
        ),
        prices=(Price(item="茶壶", price=40, category="用品"), Price(item="晚饭", price=15, category="吃喝")),
        names=(),
        stories=(),
        characters=tuple(_character(place) for place in range(len(NAMES))),
        digest="0",
    )  # fmt: skip


def _character(place: int) -> Character:
    name, others = NAMES[place], [NAMES[(place + step) % len(NAMES)] for step in (1, 2)]
    return Character(
        name=name,
        gender="女" if place % 2 else "男",
        birthday=f"Y{1990 + place}-W2-activity-D1",
        appearance="穿一件旧外套，走路很快。",
        details="在巷子里长大，离开过几年又回来了。",
        conflicts="想走，又舍不得。",
        motivation="想被人需要。",
        values="公道。",
        preferences="喜欢喝茶。",
        traits=dict.fromkeys(TRAITS, 50),
        talents=dict.fromkeys(TALENTS, 50),
        skills={"烘焙": 20, "口才": 10},
        position=("面包房/面包师", "茶馆/说书人", None)[place % 3],
        deposit=300,
        possessions=(Belonging(name="旧书", description="翻烂了的一本书。", value=5),),
        home=Home(description="两间屋子，朝南。", objects=("床", "桌子", "椅子", "炉子")),
        goals="把日子过好。",
        knows=dict.fromkeys(others, "住在隔壁，人不错，话不多。"),
    )
