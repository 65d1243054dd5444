"""Values for every template: the richest first, then every other branch, the poorest last; in the words of a language.

A template without a case here fails `test_every_template_has_a_case`.
"""

from collections.abc import Mapping
from typing import get_args

from sim.context.memory_files import Code
from sim.context.view import self_view
from sim.core.agent import TALENTS, TRAITS
from sim.core.keys import UnitKey
from sim.core.resolution import Cause
from sim.core.spending import EARNINGS
from tests.builders import a_clock, a_position, an_agent
from tests.context.desks import a_desk, a_full_agent, a_world
from tests.context.environment_cases import environment_cases
from tests.context.tongues import PROSE, TONGUES, Tongue, Values, place

Cases = Mapping[str, list[Values]]
SLOT = "Y1-W1-activity-D2"
OBJECTIONS = (
    *("unreadable", "no_kind", "unknown_kind", "missing_field", "bad_decision", "too_many_actions", "oneself"),
    *("knows_nobody", "unknown_person", "empty_message", "nobody_invited", "no_activity_name", "long_activity_name"),
    *("duplicate_name", "time_form", "time_window", "others_home", "unknown_place", "no_open_invitation"),
    *("no_such_invitation", "no_own_plan", "no_such_plan", "not_owned", "not_present", "untagged", "only_thought"),
    *("nothing_open", "owns_nothing", "has_left", "other"),
)


def cases(language: str, *, short: bool) -> Cases:
    """All templates' values."""
    t = TONGUES[language]
    common = {"short": short, "time": "Y1-W1", "tools": True}
    made: Cases = {
        **_heads(t), **_parts(t), **_week(t), **_days(t), **environment_cases(t), **_year(t), **_functions(t),
        **_builder(t),
    }  # fmt: skip
    return {template: [{**common, **values} for values in every] for template, every in made.items()}


def me(t: Tongue, *, rich: bool) -> Values:
    """What an agent sees of itself: with everything filled to its limit, or with nothing."""
    desk = a_desk(world=a_world(language=t.language, currency=t.money))
    unit = UnitKey(year=1, week=1, stage="plan", who=t.ann)
    if not rich:
        poor = an_agent(t.ann, position=None, skills={}, files={}, deposit=0, possessions=())
        return self_view(desk, poor, unit)
    state = a_full_agent(t.ann, word=t.thing)
    held = a_position(t.group, t.job, weekly_skill_gain={t.skill: 2})
    names = {"position": held, "skills": {t.skill: 30.0}, "refusals": (), "schedule": ()}
    whole = an_agent(t.ann, **{**{f: getattr(state, f) for f in state.__struct_fields__ if f != "profile"}, **names})
    return {**self_view(desk, whole, unit), "refusals": [t.line], "schedule": [t.line]}


def _heads(t: Tongue) -> Cases:
    desk = a_desk(world=a_world(language=t.language))
    rich = {
        "world": a_world(language=t.language, name=t.place, content_policy=t.line, currency=t.money),
        "worldview": t.line, "rules": t.line, "clock": a_clock(), "settings": desk.settings,
    }  # fmt: skip
    poor = {**rich, "world": a_world(language=t.language, name=t.place, currency=t.money), "rules": "", "tools": False}
    named = {"name": t.ann, "gender": t.gender, "birthday": "Y1990-W1-activity-D1"}
    profile = {**named, "traits": dict.fromkeys(TRAITS, 50), "talents": dict.fromkeys(TALENTS, 50)}
    notes = [{"time": "Y1-W1", "kind": kind, "text": t.line} for kind in ("life_summary", "year_summary", "diary")]
    return {
        "head.j2": [rich, poor],
        "environment_head.j2": [rich, poor],
        "profile.j2": [{**profile, **dict.fromkeys(PROSE, t.line)}, {**profile, **dict.fromkeys(PROSE, "")}],
        "memory.j2": [{"lines": [f"characters/{t.ben}.txt: {t.line}"]}, {"lines": []}],
        "diaries.j2": [{"notes": notes}, {"notes": []}],
    }


def _parts(t: Tongue) -> Cases:
    hints = [
        {"name": name, "level": level}
        for name in ("vitality", "mood", "material", "social", "esteem") for level in ("low", "very_low")
    ]  # fmt: skip
    activity = {"slot": SLOT, "name": t.event, "location": t.place, "participants": [t.ann, t.ben]}
    message = {"year": 1, "week": 1, "round": 2, "sender": t.ann, "to": t.ben, "activity": t.event, "text": t.line}
    card = {"gender": t.gender, "age": 30, "position": f"{t.group}/{t.job}", "appearance": t.line}
    objection = {"original": '{"action": "contact"}', "given": t.thing, "to": t.ben, "kind": "contact", "field": "to"}
    objection |= {"limit": "10", "nearest": [t.place, t.event]}
    notice = {"activity": t.event, "slot": SLOT, "proposer": t.ann, "instead": t.event, "missing": [t.ben, t.ann]}
    notice |= {"mine": False}
    standard = {"chosen": "luxurious", "cost": 500, "deposit": 120, "standard": "frugal", "paid": 100}
    standard |= {"currency": t.money}
    proposal = {"activity": t.event, "proposer": t.ann, "slot": SLOT, "location": t.place, "description": t.line}
    proposal |= {"invited": [t.ben], "required": [t.ben]}
    bare = {**proposal, "description": "", "required": []}
    return {
        "parts/me.j2": [{"me": me(t, rich=True)}, {"me": me(t, rich=False)}],
        "parts/hints.j2": [{"me": {"hints": hints}}, {"me": {"hints": hints[:1]}}],
        "parts/refusals.j2": [{"me": {"refusals": [t.line, t.line]}}, {"me": {"refusals": [t.line]}}],
        "parts/principles.j2": [{}],
        "parts/with_note.j2": [{"name": t.thing, "note": 20}, {"name": t.ann, "note": ""}],
        "parts/labelled.j2": [{"name": t.thing, "text": t.line}],
        "parts/vitality.j2": [{"level": level} for level in ("rested", "good", "tired", "exhausted", "depleted")],
        "parts/activity.j2": [
            {"activity": {**activity, "kind": "joint"}}, {"activity": {**activity, "kind": "public"}},
            {"activity": {**activity, "kind": "encounter", "name": "", "participants": []}},
        ],
        "parts/answer.j2": [{"decision": "yes", "message": t.line}, {"decision": "no", "message": ""}],
        "parts/first_contact.j2": [
            {"name": t.ben, "time": "Y1-W1", "kind": kind, "activity": t.event} for kind in ("invitation", "message")
        ],
        "parts/invitation.j2": [
            {"slot": SLOT, "location": t.place, "description": text, "message": text} for text in (t.line, "")
        ],
        "parts/message.j2": [
            {"message": {**message, "kind": kind}}
            for kind in ("invitation", "response", "cancellation", "notice", "message")
        ],
        "parts/note.j2": [
            {"note": {"year": 1, "week": 1, "day": day, "kind": kind, "text": t.line}, "dated": dated}
            for kind in ("plan", "signup", "contact", "record", "diary") for day in (2, 0) for dated in (True, False)
        ],
        "parts/notice.j2": [{**notice, "cause": cause} for cause in get_args(Cause)]
            + [{**notice, "cause": "no_yes", "mine": True, "proposer": ""}],
        "parts/objection.j2": [{**objection, "code": code} for code in OBJECTIONS],
        "parts/open_invitation.j2": [{"one": proposal, "answer": "yes"}, {"one": bare, "answer": ""}],
        "parts/own_proposal.j2": [
            {"one": proposal, "answers": {t.ben: "yes", t.ann: "no"}}, {"one": bare, "answers": {}},
        ],
        "parts/people.j2": [{"people": [t.ann, t.ben]}, {"people": []}],
        "parts/person.j2": [
            {"name": t.ben, "card": card, "memory": t.line},
            {"name": t.ben, "card": {**card, "position": "", "appearance": ""}, "memory": ""},
            {"name": t.ben, "card": None, "memory": ""},
        ],
        "parts/place.j2": [{"place": place(t, size)} for size in ("small", "medium", "large", "home")],
        "parts/standard.j2": [{**standard, "verdict": "too_dear"}, {**standard, "verdict": "penniless"}],
        "compaction.j2": [{"reasoning": t.line}],
        **{
            f"fold_{span}.j2": [
                {"entries": [{"time": "Y1-W1", "kind": f"{span}_summary", "text": t.line}] * 3, "words": 150},
                {"entries": [{"time": "Y1-W1", "kind": "diary", "text": t.line}], "words": 20},
            ]
            for span in ("year", "life")
        },
        "world/absent.j2": [{"name": t.ben}],
        **{
            f"feedback/{kind}.j2": [{"text": '"x" → ? ("y")', "code": code, "detail": detail} for code, detail in told]
            for kind, told in FAULTS.items()
        },
        "tools/offer.j2": [{"rounds": 7}],
        "tools/answer_now.j2": [{}],
    }  # fmt: skip


_MALFORMED = ("too_deep", "unicode", "unended", "several", "blanks", "no_object")
FAULTS: Mapping[str, list[tuple[str, str]]] = {
    "malformed": [("syntax", "{x"), ("syntax", ""), *((code, "64") for code in _MALFORMED)],
    "invalid": [
        ("schema", "$.plan: maxLength 50"),
        ("no_function", "list_files, read_file"),
        ("no_calls", ""),
        ("", ""),
    ],
    **{kind: [("", "")] for kind in ("truncated", "empty", "unanswered")},
}
"""Codes and details of refused answers, by kind."""


def _week(t: Tongue) -> Cases:
    rich, poor = {"me": me(t, rich=True)}, {"me": me(t, rich=False)}
    standards = [{"name": "frugal", "cost": 100, "material": -5}, {"name": "luxurious", "cost": 500, "material": 10}]
    plan = {"standards": standards, "chars": 900}
    event = {"name": t.event, "slot": SLOT, "location": t.place, "weeks": 3, "description": t.line}
    contact = {
        "round": 2, "rounds": 5, "places": [place(t, size) for size in ("small", "medium", "large")],
        "home": f"home/{t.ann}", "chars": 800, "most": 10, "first_day": SLOT, "last_day": "Y1-W5-activity-D5",
    }  # fmt: skip
    mail = {name: [t.line] for name in ("people", "history", "received", "invitations", "proposals")}
    item = {"name": t.thing, "value": 20, "description": t.line}
    events = {
        "most": 4, "n_day": 5, "most_weeks": 5, "chars": 300, "places": contact["places"], "people": [t.ann, t.ben],
        "attended": [{"name": t.event, "n_people": 3}] * 2,
        "going_on": [{"name": t.event, "day": 2, "location": t.place}] * 2,
    }  # fmt: skip
    return {
        "plan.j2": [{**rich, **plan}, {**poor, **plan}],
        "signup.j2": [{**rich, "events": [event] * 3}, {**poor, "events": [{**event, "weeks": 1}]}],
        "contact.j2": [
            {**rich, **contact, **mail, "due": True}, {**rich, **contact, **mail, "due": False},
            {**poor, **contact, **dict.fromkeys(mail, ()), "due": False},
        ],
        "review.j2": [{**rich, "chars": 1500}, {**poor, "chars": 200, "tools": False}],
        "cleanup.j2": [
            {"limit": 50, "excess": 2, "items": [item] * 52},
            {"limit": 1, "excess": 1, "items": [{**item, "description": ""}] * 2},
        ],
        "public_events.j2": [events, {**events, "attended": [], "going_on": []}],
    }  # fmt: skip


def _days(t: Tongue) -> Cases:
    rich, poor = {"me": me(t, rich=True)}, {"me": me(t, rich=False)}
    people = [{"name": t.ann}, {"name": t.ben}, {"name": t.ann}]
    together = {
        "kind": "joint", "activity": {"name": t.event, "description": t.line}, "proposer": t.ann, "place": place(t),
        "people": [t.line, t.line], "memories": [{"name": t.ben, "text": t.line}],
    }  # fmt: skip
    alone = {**together, "kind": "encounter", "activity": {"name": "", "description": ""}, "place": None}
    alone |= {"people": [], "memories": [], "proposer": ""}
    event = {"event": {"name": t.event, "description": t.line}, "place": place(t), "people": [t.line]}
    home = place(t) | {"name": f"home/{t.ann}"}
    solo = {"home": home, "places": [t.place, t.place], "goods": [f"{t.thing}: 20"], "pay": EARNINGS}
    parts = [
        {"kind": "public", "text": t.line, "to": []}, {"kind": "private", "text": t.line, "to": []},
        {"kind": "visible_to", "text": t.line, "to": [t.ben]}, {"kind": "visible_to", "text": "", "to": [t.ben]},
    ]  # fmt: skip
    record = {"activity": t.event, "location": t.place, "others": [t.ann, t.ben], "income": 80, "texts": [t.line] * 2}
    record |= {"bought": {"name": t.thing, "price": 20}}
    bare = {**record, "location": "", "others": [], "income": 0, "bought": None}
    entry = {"time": SLOT, "name": t.ben}
    return {
        "days/together.j2": [{**rich, **together}, {**poor, **alone}],
        "days/public.j2": [{**rich, **event}, {**poor, **event, "place": None, "people": []}],
        "days/solo.j2": [{**rich, **solo}, {**poor, **solo, "places": [], "goods": []}],
        "days/analyse.j2": [{}],
        "days/your_turn.j2": [{"name": t.ann}],
        "days/act.j2": [{"chars": 700}],
        "days/intend.j2": [{"chars": 700, "offers": True}, {"chars": 700, "offers": False}],
        "days/choose.j2": [{"note": t.line, "offers": [t.thing]}, {"note": "", "offers": [t.thing]}],
        "days/connect.j2": [{"chars": 200}],
        "days/reflect.j2": [{"feedback": t.line, "chars": 700}, {"feedback": t.line, "chars": 700, "tools": False}],
        "days/seen.j2": [{"own": t.line, "acts": [t.line]}, {"own": t.line, "acts": []}],
        "days/speech.j2": [{"speaker": t.ann, "parts": parts}, {"speaker": t.ann, "parts": []}],
        "days/notice.j2": [
            {"code": "gift", "name": t.ann, "item": t.thing, "to": t.ben},
            {"code": "left", "name": t.ann, "item": "", "to": ""},
        ],
        "days/opening.j2": [
            {"participants": people, "place": place(t), "activity": {"name": t.event}},
            {"participants": people[:2], "place": None, "activity": {"name": ""}},
        ],
        "days/record.j2": [{**record, "kind": kind} for kind in ("joint", "encounter", "public", "solo")]
            + [{**bare, "kind": kind} for kind in ("public", "solo")],
        "days/first_entry.j2": [
            {**entry, "location": t.place, "activity": t.event}, {**entry, "location": "", "activity": ""},
        ],
        "days/bought.j2": [{"time": SLOT}],
        "days/scene.j2": [{"text": t.line}],
        **{f"days/{name}.j2": [{}] for name in ("plain_act", "plain_intention", "silence")},
    }  # fmt: skip


def _year(t: Tongue) -> Cases:
    rich, poor = {"me": me(t, rich=True)}, {"me": me(t, rich=False)}
    wishes = {"most": 3, "stay": "STAY_CURRENT", "over_age": False, "max_age": 60, "chars": 500}
    key, other = f"{t.group}/{t.job}", f"{t.group}/{t.skill}"
    position = {
        "key": key, "weekly_income": 300, "type": "work", "weekly_skill_gain": {t.skill: 2}, "capacity": 2,
        "requirements": {"skills": {t.skill: 20}, "min_age": 18, "max_age": 60},
    }  # fmt: skip
    plain = {**position, "type": "non-work", "weekly_skill_gain": {}}
    plain["requirements"] = {"skills": {}, "min_age": None, "max_age": None}
    people = {"people": [t.ann, t.ben], "names": [t.ann, t.ben]}
    return {
        "year/judging.j2": [{**people, "founding": False}, {"people": [t.ben], "names": [t.ben], "founding": True}],
        "year/wishes.j2": [
            {**rich, **wishes, "open": [t.line], "goals": [t.line]},
            {**rich, **wishes, "open": [t.line], "goals": [], "over_age": True},
            {**poor, **wishes, "open": [t.line], "goals": []},
        ],
        "year/position.j2": [
            {"position": position, "free": 1, "lacks": {t.skill: 10}}, {"position": plain, "free": 0, "lacks": {}},
        ],
        "year/outcome.j2": [
            {"old": key, "new": other, "tried": [other]}, {"old": None, "new": other, "tried": []},
            {"old": key, "new": None, "tried": []}, {"old": key, "new": key, "tried": [other]},
            {"old": None, "new": None, "tried": [other]},
        ],
        "year/colleague.j2": [{"name": t.ben, "year": 1, "position": key}, {"name": t.ben, "year": 1, "position": ""}],
    }  # fmt: skip


def _functions(t: Tongue) -> Cases:
    base = {"function": "read_file", "path": f"characters/{t.ben}.txt", "text": t.line, "size": 70, "limit": 50}
    lists = [{"paths": ("general.txt",), "names": (t.ann, t.ben)}, {"paths": (), "names": ()}]
    results = [{**base, "code": code, **lists_} for lists_ in lists for code in get_args(Code)]
    every = [{"results": [result], "too_many": 0, "most": 6} for result in results]
    return {"tools/results.j2": [{"results": results, "too_many": 2, "most": 6}, *every]}


def _builder(t: Tongue) -> Cases:
    """What the world builder asks."""
    person = {"name": t.ann, "gender": t.gender, "age": 30, "position": f"{t.group}/{t.job}", "details": t.line}
    person |= {"appearance": t.line, "conflicts": t.line, "skills": [t.skill], "traits": dict.fromkeys(TRAITS, 50)}
    other, alone = {**person, "name": t.ben}, {**person, "position": ""}
    lines = [{"name": t.ben, "text": t.line, "as": t.line}] * 2
    post = {"key": f"{t.group}/{t.job}", "income": 200, "skills": f"{t.skill} 20", "min_age": 18, "max_age": 60}
    character = {
        "n_people": 3, "people": [person, other], "edges": [{"who": t.ann, "whom": t.ben, "as": t.line}],
        "story": {"title": t.event, "text": t.line}, "names": [{"name": t.ann, "gender": t.gender}],
        "positions": [post, {**post, "skills": "", "min_age": 0, "max_age": 0}], "currency": t.money,
        "unemployed": "-", "places": [t.place], "youngest": 16, "oldest": 90, "n_ties": 2,
        "score_levels": ["low", "high"], "skill_levels": ["beginner", "master"],
    }  # fmt: skip
    first = {"n_people": 0, "people": [], "edges": [], "story": None, "positions": [], "n_ties": 0}
    views = {"newcomer": person, "acquaintance": other, "known": lines, "tie": t.line, "words": [80, 120]}
    return {
        "world/build/head.j2": [
            {"worldview": t.line, "rules": t.line, "content_policy": policy} for policy in (t.line, "")
        ],
        "world/build/character.j2": [character, {**character, **first}],
        "world/build/views.j2": [views, {**views, "newcomer": alone, "acquaintance": alone, "known": []}],
        "world/build/accounts.j2": [
            {"person": person, "own": lines, "accounts": lines}, {"person": alone, "own": [], "accounts": lines},
        ],
    }  # fmt: skip
