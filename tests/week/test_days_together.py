"""Joint activities and encounters: turns, gifts, leaving, what each reader may know, what they leave behind."""

from typing import Any

import pytest

from sim.core.agent import Activity
from sim.core.facts import Changed, Got, Lost, Met, Noted, encode
from sim.llm.protocol import Request
from tests.builders import a_joint, an_agent, an_item
from tests.week.days import EXIT, Model, a_day, after, gift, live, people, some_settings

TRIO = ("Ann", "Ben", "Cleo")


def together(*names: str, kind: str = "joint") -> Activity:
    fields = {"participants": names, "proposer": names[0] if kind == "joint" else ""}
    return a_joint("Chess" if kind == "joint" else "Y1-W1-activity-D1/Ann", kind=kind, **fields)


class Script:
    """A fixed order of speakers and what each says; the environment says when it is over."""

    def __init__(self, *turns: tuple[str, str], **answers: Any) -> None:
        self.turns = turns
        self.answers = answers

    def __call__(self, request: Request) -> Any:
        number = int("".join(filter(str.isdigit, request.key.rsplit("/", 2)[1])) or 0)
        if request.duty == "direction":
            over = number > len(self.turns)
            properties = request.output.schema["properties"]
            name = properties["next_speaker"]["enum"][0] if over else self.turns[number - 1][0]
            ended = {"ended": over} if "ended" in properties else {}
            return {"description": f"The lamp flickers {number}.", "next_speaker": name, **ended}
        if request.duty == "turn":
            return self.turns[number - 1][1]
        return self.answers.get(request.duty)


def verdicts(facts) -> dict[str, str]:
    return {verdict.key.split("/")[-2]: verdict.drop for verdict in facts.verdicts}


def test_an_activity_has_analyses_turns_feedback_and_records():
    job = a_day("joint", people("Ann", "Ben"), together("Ann", "Ben"))
    model = Model(Script(("Ann", "I open with the pawn."), ("Ben", "I take my time."), ("Ann", "I win.")))
    facts = live(job, model)
    steps = [request.key.split("/", 2)[2].rsplit("/", 1)[0] for request in model.asked]
    assert sorted(steps[:2]) == ["Ann/Ann/analysis", "Ann/Ben/analysis"]
    assert steps[2:9] == [
        "Ann//direct1",
        "Ann/Ann/turn1",
        "Ann//direct2",
        "Ann/Ben/turn2",
        "Ann//direct3",
        "Ann/Ann/turn3",
        "Ann//direct4",
    ]
    assert sorted(steps[9:]) == [
        "Ann//feedback.Ann",
        "Ann//feedback.Ben",
        "Ann/Ann/reflection",
        "Ann/Ben/reflection",
    ]
    states = after(job, facts)
    for name, other in (("Ann", "Ben"), ("Ben", "Ann")):
        assert states[name].knows() == (other,)
        assert other in states[name].met
        (record,) = states[name].records
        assert (record.year, record.week, record.day, record.kind) == (1, 1, 1, "record")
        assert f"Together with {other}: Chess at Courtyard." in record.text
    assert facts.outputs["participants"] == ["Ann", "Ben"]
    assert facts.outputs["exited"] == []


def test_turns_end_between_the_limits():
    job = a_day("joint", people("Ann", "Ben"), together("Ann", "Ben"))

    def eager(request: Request) -> Any:
        if request.duty == "direction":
            properties = request.output.schema["properties"]
            return {"description": "", "next_speaker": "Ben", **({"ended": True} if "ended" in properties else {})}
        return "Hm." if request.duty == "turn" else None

    model = Model(eager)
    live(job, model, settings=some_settings(turns=(3, 6)))
    assert sum(request.duty == "turn" for request in model.asked) == 3

    def never(request: Request) -> Any:
        value = eager(request)
        return {**value, "ended": False} if isinstance(value, dict) and "ended" in value else value

    model = Model(never)
    live(job, model, settings=some_settings(turns=(3, 6)))
    assert sum(request.duty == "turn" for request in model.asked) == 6


def test_a_gift_moves_at_once_and_may_be_given_on():
    teapot = an_item("birth#1", name="blue teapot")
    ann, ben, cleo = an_agent("Ann", possessions=(teapot,)), an_agent("Ben"), an_agent("Cleo")
    job = a_day("joint", (ann, ben, cleo), together(*TRIO))
    model = Model(
        Script(
            ("Ann", f"For you. {gift('Blue Teapot', 'ben')}"),
            ("Ben", f"And now for you. {gift('blue teapot', 'Cleo')}"),
            ("Ann", "Oh well."),
        )
    )
    facts = live(job, model)
    states = after(job, facts)
    assert [states[name].possessions for name in TRIO] == [(), (), (teapot,)]
    assert [type(fact) for fact in facts.by_agent["Ben"] if isinstance(fact, Got | Lost)] == [Got, Lost]
    assert verdicts(facts)["turn1"] == verdicts(facts)["turn2"] == ""
    told = "Ann hands Ben a gift: blue teapot"
    assert told in model.prompts("Ben", "turn")[0]
    assert told in model.prompts("Ann", "turn")[-1]
    assert not any(told in prompt for prompt in model.prompts("Cleo"))


@pytest.mark.parametrize(
    "action",
    [
        gift("piano", "Ben"),
        gift("blue teapot", "Dora"),
        gift("blue teapot", "Ann"),
        "<role_action>{broken</role_action>",
        '<role_action>{"action": "contact", "to": "Ben", "message": "hi"}</role_action>',
    ],
)
def test_an_action_that_is_not_possible_is_told_to_its_speaker_and_not_trained_on(action: str):
    ann = an_agent("Ann", possessions=(an_item(name="blue teapot"),))
    job = a_day("joint", (ann, an_agent("Ben")), together("Ann", "Ben"))
    model = Model(Script(("Ann", f"Look. {action}"), ("Ben", "What?"), ("Ann", "Nothing.")))
    facts = live(job, model)
    assert after(job, facts)["Ann"].possessions == ann.possessions
    assert verdicts(facts)["turn1"] in ("invalid_action", "malformed_action")
    assert verdicts(facts)["turn3"] == ""
    told = model.prompts("Ann", "turn")[1].split("Look.", 1)[1]
    assert "Error: " in told
    assert not any("Error: " in prompt for prompt in model.prompts("Ben"))


def test_who_leaves_keeps_what_it_got_and_sees_nothing_more():
    ann = an_agent("Ann", possessions=(an_item(name="blue teapot"),))
    job = a_day("joint", (ann, an_agent("Ben"), an_agent("Cleo")), together(*TRIO))
    model = Model(
        Script(
            ("Ann", f"Take it. {gift('blue teapot', 'Ben')}"),
            ("Ben", f"Thanks, I must go. {EXIT}"),
            ("Ann", "Now that he is gone: he snores."),
            ("Cleo", "He does."),
        )
    )
    facts = live(job, model)
    assert facts.outputs["exited"] == ["Ben"]
    assert [item.name for item in after(job, facts)["Ben"].possessions] == ["blue teapot"]
    feedback = {p.split("Answer about ")[1].split(":")[0]: p for p in model.prompts("", "feedback")}
    assert "Ben leaves" in feedback["Cleo"]
    assert "Ben left before the end" in feedback["Ben"]
    assert "snores" in feedback["Cleo"]
    assert "snores" not in feedback["Ben"]
    assert not any("snores" in prompt for prompt in model.prompts("Ben"))
    assert any(isinstance(fact, Noted) for fact in facts.by_agent["Ben"])
    assert {fact.name for fact in facts.by_agent["Ben"] if isinstance(fact, Met)} == {"Ann", "Cleo"}


def test_fewer_than_two_end_it():
    job = a_day("joint", people("Ann", "Ben"), together("Ann", "Ben"))
    model = Model(Script(("Ann", f"Bye. {EXIT}"), ("Ben", "Alone now."), ("Ben", "Still alone.")))
    facts = live(job, model, settings=some_settings(turns=(3, 6)))
    assert sum(request.duty == "turn" for request in model.asked) == 1
    assert facts.outputs["exited"] == ["Ann"]
    assert all(any(isinstance(fact, Noted) for fact in facts.by_agent[name]) for name in ("Ann", "Ben"))


def test_marked_words_reach_nobody_else():
    job = a_day("joint", people(*TRIO), together(*TRIO))
    model = Model(
        Script(
            ("Ann", "Good morning. <private>XXALONE</private> <visible_to=“ben”>XXPAIR</visible_to>"),
            ("Ben", "Morning. ＜private＞XXOWN"),
            ("Cleo", "You two are up to something."),
            ("Ann", 'Never. <visible_to="Ben, Stranger">XXAGAIN'),
        ),
    )
    facts = live(job, model, settings=some_settings(check=True))

    def readers(word: str) -> set[str]:
        return {name for name in TRIO if any(word in prompt for prompt in model.prompts(name))}

    def in_facts(word: str) -> set[str]:
        return {name for name in TRIO if any(word in repr(fact) for fact in facts.by_agent[name])}

    assert readers("XXALONE") == {"Ann"}
    assert readers("XXOWN") == {"Ben"}
    assert readers("XXPAIR") == readers("XXAGAIN") == {"Ann", "Ben"}
    assert in_facts("XXALONE") <= {"Ann"}
    assert in_facts("XXOWN") <= {"Ben"}
    assert in_facts("XXPAIR") <= {"Ann", "Ben"}
    assert "XX" not in repr(facts.outputs)
    assert not any("XX" in prompt for prompt in model.prompts("", "direction"))
    feedback = {p.split("Answer about ")[1].split(":")[0]: p for p in model.prompts("", "feedback")}
    assert "XX" not in feedback["Cleo"]
    assert "XXALONE" not in feedback["Ben"]
    assert "something passes between Ann and Ben" in feedback["Cleo"]
    assert "Good morning." in feedback["Cleo"]


def test_an_analysis_is_read_by_its_author_alone():
    def answer(request: Request) -> Any:
        if request.key.rsplit("/", 2)[1] == "analysis":
            return dict.fromkeys(("position", "goals", "plan", "risks", "strategy"), f"XX{request.agent.upper()}")
        return None

    job = a_day("joint", people("Ann", "Ben"), together("Ann", "Ben"))
    model = Model(answer)
    live(job, model)
    assert not any("XXBEN" in prompt for prompt in model.prompts("Ann") + model.prompts(""))
    assert all("XXANN" in prompt for prompt in model.prompts("Ann", "turn") + model.prompts("Ann", "reflection"))


def test_a_hostile_environment_changes_nothing_beyond_the_table():
    def hostile(request: Request) -> Any:
        if request.duty == "feedback":
            skills = [{"name": name, "gain": 100} for name in ("baking", "lockpicking", "flying")]
            return {"feedback": "Glory!", "vitality": 100, "mood": -100, "social": 99, "esteem": 77, "skills": skills}
        return None

    for stage in ("joint", "encounter"):
        job = a_day(stage, people("Ann", "Ben"), together("Ann", "Ben", kind=stage))
        facts = live(job, Model(hostile))
        for name in ("Ann", "Ben"):
            (changed,) = [fact for fact in facts.by_agent[name] if isinstance(fact, Changed)]
            assert (changed.vitality, changed.mood, changed.social, changed.esteem) == (5, -5, 5, 3)
            assert (changed.material, changed.money) == (0, 0)
            assert changed.skills == {"baking": 3, "lockpicking": 3, "flying": 3}
        assert facts.outputs["skills_up"] == {"Ann": True, "Ben": True}


@pytest.mark.parametrize("short", [False, True])
@pytest.mark.parametrize("garbage", ["", "I'd rather not.", '{"speech": 1', "<private><visible_to=>"])
def test_whatever_the_models_say_it_ends_with_a_record_for_everybody(garbage: str, short: bool):
    for stage in ("joint", "encounter"):
        job = a_day(stage, people(*TRIO), together(*TRIO, kind=stage))
        facts = live(job, Model(lambda request: garbage), settings=some_settings(short=short, check=True))
        for name in TRIO:
            (record,) = [fact for fact in facts.by_agent[name] if isinstance(fact, Noted)]
            assert "Nothing out of the ordinary" in record.note.text
            assert not any(getattr(c, "skills", None) for c in facts.by_agent[name] if isinstance(c, Changed))


def test_without_a_usable_direction_seats_decide():
    job = a_day("joint", people(*TRIO), together(*TRIO))
    model = Model(lambda request: {"direction": "no", "turn": "Hm."}.get(request.duty))
    live(job, model, settings=some_settings(turns=(2, 4)))
    speakers = [request.agent for request in model.asked if request.duty == "turn"]
    assert speakers == ["Ann", "Ben", "Cleo", "Ann"]


def test_a_violation_is_kept_out_of_training_and_changes_nothing_else():
    def answer(request: Request) -> Any:
        if request.duty == "principles":
            first = "/check1/" in request.key
            return {"reason": "It serves tea like a butler.", "violated": "no_assistant_behaviour" if first else "none"}
        return Script(("Ann", "How may I help you?"), ("Ben", "Just sit down."))(request)

    job = a_day("joint", people("Ann", "Ben"), together("Ann", "Ben"))
    model = Model(answer)
    facts = live(job, model, settings=some_settings(check=True))
    assert verdicts(facts)["turn1"] == "principle:no_assistant_behaviour"
    assert verdicts(facts)["turn2"] == ""
    assert "How may I help you?" in model.prompts("Ben", "turn")[0]
    assert not any("butler" in prompt for name in ("Ann", "Ben") for prompt in model.prompts(name))


def test_a_content_policy_is_checked_too():
    job = a_day("joint", people("Ann", "Ben"), together("Ann", "Ben"))
    model = Model()
    live(job, model, settings=some_settings(check=True), content_policy="Nothing romantic.")
    checks = [request for request in model.asked if request.duty == "principles"]
    assert checks
    for request in checks:
        assert request.output.schema["properties"]["violated"]["enum"][-1] == "content_policy"
        assert "Nothing romantic." in "".join(message.text for message in request.messages)


def test_an_encounter_begins_with_a_scene_from_what_is_public():
    ann = an_agent("Ann", knows=("Ben",))
    job = a_day("encounter", (ann, an_agent("Ben")), together("Ann", "Ben", kind="encounter"))
    model = Model(
        lambda request: {"scene": "Both reach for the last loaf."} if request.duty == "encounter_scene" else None
    )
    facts = live(job, model)
    (scene,) = model.prompts("", "encounter_scene")
    assert "They know each other." in scene
    assert "red scarf" in scene
    assert "Knows Ben." not in scene
    assert "Y1-W1-activity-D1/Ann" not in scene
    assert all("Both reach for the last loaf." in prompt for prompt in model.prompts("Ann", "turn"))
    assert "Ran into Ann" in after(job, facts)["Ben"].records[0].text


def test_weak_models_are_asked_for_one_line_without_analysis():
    job = a_day("joint", people("Ann", "Ben"), together("Ann", "Ben"))
    model = Model()
    live(job, model, settings=some_settings(short=True, turns=(1, 2)))
    duties = [request.duty for request in model.asked]
    assert "analysis" not in duties
    assert 1 <= duties.count("turn") <= 2
    turn = next(request for request in model.asked if request.duty == "turn")
    assert turn.output.kind == "json"
    assert turn.output.schema["properties"]["say"]["maxLength"] <= 200


def test_the_history_of_a_speaker_alternates_and_keeps_its_own_words():
    job = a_day("joint", people("Ann", "Ben"), together("Ann", "Ben"))
    model = Model(Script(("Ann", "One. <private>P</private>"), ("Ann", "Two."), ("Ben", "Three."), ("Ann", "Four.")))
    live(job, model)
    last = [request for request in model.asked if request.agent == "Ann" and request.duty == "turn"][-1]
    roles = [message.role for message in last.messages]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user", "assistant", "user"]
    assert last.messages[4].text == "One. <private>P</private>"
    assert last.messages[6].text == "Two."
    assert "Ben: Three." in last.messages[7].text


def test_prompts_of_one_speaker_grow_at_their_end_only():
    job = a_day("joint", people("Ann", "Ben"), together("Ann", "Ben"))
    model = Model(Script(("Ann", "One."), ("Ben", "Two."), ("Ann", "Three.")))
    live(job, model)
    first, second = (
        [part for message in request.messages for part in message.parts]
        for request in model.asked
        if request.agent == "Ann" and request.duty == "turn"
    )
    assert second[: len(first)] == first


@pytest.mark.parametrize("language", ["en", "zh"])
def test_scripted_lives_in_both_languages(language: str):
    for stage in ("joint", "encounter"):
        job = a_day(stage, people("Ann", "Ben"), together("Ann", "Ben", kind=stage))
        facts = live(job, Model(language=language), settings=some_settings(check=True), language=language)
        assert all(verdict.status in ("ok", "repaired") for verdict in facts.verdicts)
        assert set(facts.by_agent) == {"Ann", "Ben"}


@pytest.mark.parametrize("short", [False, True])
def test_the_order_in_which_answers_come_changes_nothing(short: bool):
    results = set()
    for slowness in range(4):
        job = a_day("joint", people(*TRIO), together(*TRIO))
        facts = live(job, Model(slowness=slowness), settings=some_settings(short=short, check=True))
        results.add(encode(facts))
    assert len(results) == 1


def test_a_reasoning_models_thoughts_come_back_short_in_its_own_history():
    script = Script(("Ann", "One."), ("Ben", "Two."), ("Ann", "Three."), compaction="I wanted XXQUIET.")

    def reason(request: Request) -> str:
        return "" if request.duty == "compaction" or not request.agent else f"XXLONG {request.agent}"

    job = a_day("joint", people("Ann", "Ben"), together("Ann", "Ben"))
    model = Model(script, reason=reason)
    settings = some_settings()
    thinking = settings.model_copy(update={"answers": settings.answers.model_copy(update={"thinking": True})})
    live(job, model, settings=thinking)
    first, second = (request for request in model.asked if request.agent == "Ann" and request.duty == "turn")
    assert "XXQUIET" in first.messages[2].text
    assert second.messages[4].text == "(I wanted XXQUIET.)\n\nOne."
    ben = next(request for request in model.asked if request.agent == "Ben" and request.duty == "turn")
    assert sum("XXQUIET" in message.text for message in ben.messages) == 1
    assert not any("XXLONG" in prompt for prompt in model.prompts("Ann", "turn") + model.prompts(""))
