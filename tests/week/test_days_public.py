"""Public events: what attendees let each other see, who gets to know whom, what the event may change."""

from typing import Any

import pytest

from sim.core.agent import AgentState
from sim.core.facts import Changed, Noted, UnitFacts
from sim.llm.protocol import Request
from sim.settings import LimitSettings, PromptSettings, SimSettings
from tests.builders import a_unit, an_agent, an_event
from tests.week.days import Model, a_day, after, live, people, some_settings

TRIO = ("Ann", "Ben", "Cleo")
EVENT = an_event("Market", TRIO, description="Stalls and music.")


def acts(model: Model, states: list[AgentState], **fields: Any) -> dict[Any, Any]:
    """Everybody's first half: outputs by unit."""
    outputs = {}
    for state in states:
        job = a_day("public_act", [state], EVENT)
        outputs[job.unit] = live(job, model, **fields).outputs
    return outputs


def attend(answer: Any = None, *, states: list[AgentState] | None = None, short: bool = False) -> Any:
    """Both halves for everybody: the second halves' facts, states afterwards, and the model."""
    states = states or people(*TRIO)
    model = Model(answer)
    fields = {"settings": some_settings(short=short)}
    done = acts(model, states, **fields)
    facts: dict[str, UnitFacts] = {}
    ends: dict[str, AgentState] = {}
    for state in states:
        mine = {unit: {"for": {state.name: outputs["for"][state.name]}} for unit, outputs in done.items()}
        job = a_day("public_meet", [state], EVENT, more=mine)
        facts[state.name] = live(job, model, **fields)
        ends.update(after(job, facts[state.name]))
    return facts, ends, model


def chooses(**wanted: list[str]) -> Any:
    def answer(request: Request) -> Any:
        if request.duty == "connect":
            return {"connect": [{"name": who, "note": f"{who} hums."} for who in wanted.get(request.agent, [])]}
        if request.duty == "public_act":
            return {"action": f"{request.agent} sells jam."}
        return None

    return answer


def test_attendees_see_each_others_acts():
    facts, _, model = attend(chooses())
    for name in TRIO:
        (prompt,) = model.prompts(name, "connect")
        assert all(f"{who}: {who} sells jam." in prompt for who in TRIO)
        duties = [request.duty for request in model.asked if request.agent == name]
        assert duties == ["public_act", "connect", "reflection"]
        assert facts[name].outputs["kind"] == "public"
        assert facts[name].outputs["participants"] == [name]
        (record,) = [fact.note for fact in facts[name].by_agent[name] if isinstance(fact, Noted)]
        assert record.text.startswith("Public event Market")


def test_each_side_of_a_choice_is_its_own():
    facts, ends, _ = attend(chooses(Ann=["Ben", "Cleo"], Ben=["Ann"]))
    assert ends["Ann"].knows() == ("Ben", "Cleo")
    assert ends["Ben"].knows() == ("Ann",)
    assert ends["Cleo"].knows() == ()
    assert "Cleo hums." in ends["Ann"].files["characters/Cleo.txt"].text
    assert set(ends["Ann"].met) == {"Ben", "Cleo"}
    assert facts["Ann"].outputs["connects"] == ["Ben", "Cleo"]
    assert facts["Cleo"].outputs["connects"] == []


def test_what_is_written_of_somebody_known_is_added_while_there_is_room():
    states = [an_agent("Ann", knows=("Ben",)), an_agent("Ben"), an_agent("Cleo")]
    _, ends, _ = attend(chooses(Ann=["Ben"]), states=states)
    assert ends["Ann"].files["characters/Ben.txt"].text.startswith("Knows Ben.\n")
    assert "Ben hums." in ends["Ann"].files["characters/Ben.txt"].text
    assert ends["Ann"].files["characters/Ben.txt"].summary == "Knows Ben."


def test_marked_words_of_an_act_reach_nobody_else():
    def answer(request: Request) -> Any:
        if request.duty == "public_act" and request.agent == "Ann":
            return {"action": 'I sing. <private>XXALONE</private> <visible_to="Ben">XXPAIR</visible_to>'}
        return None

    facts, _, model = attend(answer)
    for word, readers in (("XXALONE", {"Ann"}), ("XXPAIR", {"Ann", "Ben"})):
        assert {name for name in TRIO if any(word in prompt for prompt in model.prompts(name))} <= readers
        assert {name for name in TRIO if word in repr(facts[name].by_agent)} <= readers
    judged = {prompt.split("Answer about ")[1].split(":")[0]: prompt for prompt in model.prompts("", "public_feedback")}
    assert "I sing." in judged["Cleo"]
    assert "XX" not in judged["Cleo"]
    assert "XXALONE" not in judged["Ben"]


def test_a_hostile_environment_changes_nothing_beyond_the_table():
    def answer(request: Request) -> Any:
        if request.duty == "public_feedback":
            skills = [{"name": "singing", "gain": 100}]
            return {"feedback": "Fame!", "vitality": -100, "mood": 100, "social": 100, "esteem": -100, "skills": skills}
        return None

    facts, _, _ = attend(answer)
    for name in TRIO:
        (changed,) = [fact for fact in facts[name].by_agent[name] if isinstance(fact, Changed)]
        assert (changed.vitality, changed.mood, changed.social, changed.esteem) == (-5, 5, 3, -2)
        assert (changed.material, changed.money, changed.skills) == (0, 0, {"singing": 3})
        assert facts[name].outputs["skills_up"] == {name: True}


@pytest.mark.parametrize("short", [False, True])
@pytest.mark.parametrize("garbage", ["", "no", '{"action": []}'])
def test_whatever_the_models_say_it_ends_with_a_record(garbage: str, short: bool):
    facts, ends, _ = attend(lambda request: garbage, short=short)
    for name in TRIO:
        assert "Nothing out of the ordinary" in ends[name].records[0].text
        assert ends[name].knows() == ()
        assert facts[name].outputs["connects"] == []


def test_weak_models_connect_and_look_back_in_one_call():
    def answer(request: Request) -> Any:
        if request.duty == "reflection":
            properties = request.output.schema["properties"]
            assert properties["connect"]["maxItems"] == 1
            return {"summary": "Nice stalls.", "connect": properties["connect"]["items"]["enum"][:1]}
        return None

    facts, ends, model = attend(answer, short=True)
    assert [request.duty for request in model.asked if request.agent == "Ann"] == ["public_act", "reflection"]
    assert facts["Ann"].outputs["connects"] == list(ends["Ann"].knows())
    assert len(ends["Ann"].knows()) == 1
    assert "Nice stalls." in ends["Ann"].records[0].text


def test_an_event_attended_alone_goes_without_a_choice():
    event = an_event("Market", ("Ann",))
    ann, model = an_agent("Ann"), Model()
    first = a_day("public_act", [ann], event)
    done = {first.unit: live(first, model).outputs}
    facts = live(a_day("public_meet", [ann], event, more=done), model)
    assert "connect" not in [request.duty for request in model.asked]
    assert facts.outputs["connects"] == []
    assert "You saw nobody else there." in model.prompts("Ann", "reflection")[0]


def test_of_many_attendees_a_bounded_number_is_noticed_known_ones_first():
    crowd = tuple(f"Guest {number:02d}" for number in range(30))
    event = an_event("Market", ("Ann", *crowd))
    ann = an_agent("Ann", knows=("Guest 29", "Guest 11"))
    seen = {a_unit("public_act", who, index=1): {"for": {"Ann": {"what": f"{who}: sits."}}} for who in ("Ann", *crowd)}
    model = Model()
    settings = SimSettings(limits=LimitSettings(met_people=5), prompts=PromptSettings(tools="none"))
    live(a_day("public_meet", [ann], event, more=seen), model, settings=settings)
    (request,) = [request for request in model.asked if request.duty == "connect"]
    listed = request.output.schema["properties"]["connect"]["items"]["properties"]["name"]["enum"]
    assert listed[:2] == ["Guest 11", "Guest 29"]
    assert len(listed) == 5


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("short", [False, True])
def test_scripted_events_in_both_languages(language: str, short: bool):
    model, (ann, *_) = Model(language=language), people(*TRIO)
    fields = {"settings": some_settings(short=short), "language": language}
    done = acts(model, people(*TRIO), **fields)
    facts = live(a_day("public_meet", [ann], EVENT, more=done), model, **fields)
    assert all(verdict.status == "ok" for verdict in facts.verdicts)
