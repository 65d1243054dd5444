"""The check of a response: it sees what it measures by, and reports a breach of the world's content policy."""

import pytest

from sim.environment.principles import CONTENT_POLICY, NONE, PRINCIPLES, choices
from sim.llm.protocol import Request
from tests.builders import a_joint, a_profile, an_agent, an_item
from tests.context.desks import a_desk, a_world
from tests.week.days import Model, a_day, live, people, some_settings

POLICY = "Nothing romantic."


def checked(violated: str, *, short: bool = False, language: str = "en", policy: str = POLICY):
    """A conversation whose every check gives this answer: the checks, and why answers are kept out of training."""

    def answer(request: Request):
        if request.duty != "principles":
            return None
        return {"violated": violated} if short else {"reason": "", "violated": violated}

    ann = an_agent(
        "Ann",
        profile=a_profile("Ann", motivation="To win.", conflicts="Proud and shy."),
        possessions=(an_item("i1", name="brass bell"),),
        deposit=77,
        vitality=33.0,
    )
    model = Model(answer, language=language)
    job = a_day("joint", (ann, *people("Ben")), a_joint("Chess", participants=("Ann", "Ben"), proposer="Ann"))
    settings = some_settings(check=True, short=short)
    facts = live(job, model, settings=settings, content_policy=policy, language=language)
    drops = {verdict.drop for verdict in facts.verdicts if verdict.duty == "turn"} - {"invalid_action"}
    return [request for request in model.asked if request.duty == "principles"], drops


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("short", [False, True])
def test_a_breach_of_the_content_policy_is_reported_and_kept_out_of_training(language: str, short: bool) -> None:
    checks, drops = checked(CONTENT_POLICY, short=short, language=language)
    assert checks
    assert drops == {"principle:content_policy"}
    for request in checks:
        assert all(POLICY in message.text for message in request.messages), "in the shared head and in the check"
        assert CONTENT_POLICY in request.messages[1].text
        assert request.output.schema["properties"]["violated"]["enum"] == [NONE, *PRINCIPLES, CONTENT_POLICY]


def test_without_a_policy_nobody_can_be_said_to_break_it() -> None:
    checks, drops = checked(NONE, policy="")
    assert drops == {""}
    assert all(CONTENT_POLICY not in request.messages[1].text for request in checks)
    assert choices(a_desk(world=a_world())) == (NONE, *PRINCIPLES)


def test_the_check_sees_persona_condition_belongings_and_place() -> None:
    checks, _ = checked(NONE)
    text = next(request.messages[1].text for request in checks if "The response of Ann" in request.messages[1].text)
    for shown in ("To win.", "Proud and shy.", "brass bell", "77 dollars", "Vitality 33", "Courtyard", "empathy 50"):
        assert shown in text


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_principle_has_its_line(language: str) -> None:
    checks, _ = checked(NONE, language=language)
    assert all(f"\n- {name}" in checks[0].messages[1].text for name in PRINCIPLES)
