"""Whole lives keep to the language of their world: no English in a Chinese one but exact forms, and the other way."""

import re
from collections.abc import Iterable

import pytest
from chinese_world import a_chinese_world
from lives import SMALL, Life, lived, small_life

from sim.llm.protocol import LLM, Reply, Request
from sim.llm.scripted import Scripted
from sim.llm.scripted_faults import Faults
from sim.settings import SimSettings

CHINESE = re.compile(r"[\u3400-\u9fff\u3000-\u303f\uff00-\uffef]")
RUN = re.compile(r"[A-Za-z][\w'-]*(?: +[A-Za-z][\w'-]*)+")
EXACT = re.compile(
    r"living_standard (frugal|moderate|comfortable|luxurious)|(read|update)_file (general|characters|others)"
)
MODELS_OWN = ("Nobody of this name", "and so on")
"""What the scripted model writes itself where it answers badly, and is shown again."""
TIME = {"n_year": 1, "n_week": 2, "n_day": 3, "n_contact": 2}


class Kept:
    """A model that keeps what it was asked."""

    def __init__(self, inner: LLM) -> None:
        self.inner = inner
        self.asked: list[Request] = []

    async def complete(self, request: Request) -> Reply:
        self.asked.append(request)
        return await self.inner.complete(request)

    def texts(self) -> Iterable[tuple[str, str]]:
        """Duties and what stood in their prompts, the model's own earlier words left out."""
        for request in self.asked:
            for message in request.messages:
                if message.role != "assistant":
                    yield request.duty, message.text


def settings_of(profile: str) -> SimSettings:
    return SimSettings.model_validate({**SMALL, "n_agents": 5, "time": TIME, "prompts": {"profile": profile}})


def english_in(model: Kept) -> set[tuple[str, str]]:
    """Duties and runs of English words in their prompts that are no exact form."""
    return {
        (duty, run)
        for duty, text in model.texts()
        for run in RUN.findall(text)
        if not EXACT.fullmatch(run) and not any(own in run for own in MODELS_OWN)
    }


@pytest.mark.parametrize("profile", ["full", "short"])
@pytest.mark.parametrize("malformed", [0.0, 0.2])
def test_a_chinese_life_is_chinese(tmp_path, profile, malformed):
    model = Kept(Scripted(language="zh", faults=Faults(malformed=malformed)))
    lived(tmp_path, Life(settings=settings_of(profile), world=a_chinese_world()), model)
    assert english_in(model) == set()
    duties = {request.duty for request in model.asked}
    expected = {"plan", "contact", "review", "judging", "wishes", "solo_outcome", "profile_update", "feedback"}
    assert expected <= duties


def test_the_chinese_world_that_ships_is_chinese(tmp_path):
    model = Kept(Scripted(language="zh"))
    lived(tmp_path, small_life("campus"), model)
    assert english_in(model) == set()


def test_an_english_life_has_no_chinese(tmp_path):
    model = Kept(Scripted())
    lived(tmp_path, small_life(), model)
    assert {duty for duty, text in model.texts() if CHINESE.search(text)} == set()
