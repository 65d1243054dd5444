"""The scripted model: valid answers for any form, the same for the same seed, varied lives, faults as asked for."""

import asyncio
import re
from collections import Counter
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.llm.json_reader import Reading, read_checked
from sim.llm.latency import BlockCache, Latency, count_pieces
from sim.llm.outcome import Outcome
from sim.llm.protocol import Message, OutputFormat, Reply, Request, Tag, TransportError
from sim.llm.scripted import Scripted
from sim.llm.scripted_faults import Faults
from sim.llm.structured import Structured
from tests.llm.replay import a_request

names = st.sampled_from(["message", "plan", "decision", "score", "名字", "reason", "ended", "skills", "price", "to"])


def bounded(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    def build(low: int, width: int, step: int | None) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": kind, "minimum": low, "maximum": low + width}
        if step and kind == "integer":
            schema |= {"multipleOf": step, "maximum": low + width + step}
        return schema

    return st.builds(build, st.integers(-200, 200), st.integers(0, 20000), st.sampled_from([None, 3]))


texts = st.builds(
    lambda low, more: {"type": "string", "minLength": low, "maxLength": low + more},
    st.integers(0, 60),
    st.integers(0, 400),
)
patterns = st.sampled_from(
    [
        "^Y[1-9]-W\\d{1,2}-activity-D[1-5]$",
        "^(yes|no)$",
        "[A-Z][a-z]+(-[a-z]{2,4})?",
        "^\\w+@\\w+\\.org$",
        "^[^\\d]{3}$",
    ]
).map(lambda pattern: {"type": "string", "pattern": pattern})
choices = st.lists(st.text(max_size=8) | st.integers(), min_size=1, max_size=6, unique=True).map(lambda o: {"enum": o})
leaves = st.one_of(
    bounded("integer"),
    bounded("number"),
    texts,
    patterns,
    choices,
    st.just({"type": "boolean"}),
    st.just({"type": "null"}),
    st.just({"type": ["string", "null"]}),
    st.just({"const": "fixed"}),
    st.just({"type": "string"}),
    st.just({"type": "integer"}),
)


def arrays(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        lambda items, low, more: {"type": "array", "items": items, "minItems": low, "maxItems": low + more},
        inner,
        st.integers(0, 2),
        st.integers(0, 12),
    )


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(names, inner, max_size=5).flatmap(
        lambda properties: st.sets(st.sampled_from(sorted(properties)) if properties else st.nothing()).map(
            lambda required: {
                "type": "object",
                "properties": properties,
                "required": sorted(required),
                "additionalProperties": False,
            }
        )
    )


def alternatives(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    one = st.just({"oneOf": [{"type": "string", "maxLength": 50}, {"type": "integer", "maximum": 9}, {"type": "null"}]})
    return st.lists(inner, min_size=1, max_size=3).map(lambda options: {"anyOf": options}) | one


schemas = st.recursive(leaves, lambda inner: arrays(inner) | objects(inner) | alternatives(inner), max_leaves=12)


def reply_to(request: Request, model: Scripted | None = None) -> Reply:
    return asyncio.run((model or Scripted()).complete(request))


@settings(deadline=None, max_examples=300)
@given(objects(schemas), st.integers(0, 2**63 - 1), st.sampled_from(["en", "zh"]))
def test_every_answer_is_valid_by_its_schema(schema: dict[str, Any], seed: int, language: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)
    request = a_request(output=OutputFormat(kind="json", schema=schema), seed=seed, max_tokens=100_000)
    reply = reply_to(request, Scripted(language=language))
    reading = read_checked(reply.text, schema)
    assert isinstance(reading, Reading), (reading, reply.text)
    assert not reading.repaired
    assert reply.finish == "stop"


@pytest.mark.parametrize(
    "schema",
    [
        {"$defs": {"skill": {"enum": ["a", "b"]}}, "type": "array", "items": {"$ref": "#/$defs/skill"}, "minItems": 3},
        {"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": True, "minItems": 3, "maxItems": 3},
        {"type": "object", "additionalProperties": {"type": "integer", "minimum": 1, "maximum": 5}, "minProperties": 2},
        {"type": "object", "propertyNames": {"enum": ["Ann", "Bob"]}, "additionalProperties": {"type": "integer"}},
        {
            "allOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"required": ["b"]}],
            "type": "object",
        },
        {"type": "array", "prefixItems": [{"const": 1}, {"type": "string"}], "items": False, "minItems": 2},
        {"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5},
        {"type": "number", "exclusiveMinimum": 0, "maximum": 0.01},
        {"type": "number", "multipleOf": 0.5, "minimum": 1, "maximum": 3},
        {"oneOf": [{"type": "integer", "minimum": 0, "maximum": 9}, {"type": "integer", "minimum": 5, "maximum": 14}]},
        {"type": "array", "minItems": 12, "maxItems": 20, "items": {"type": "integer", "minimum": 0, "maximum": 2}},
    ],
)
def test_less_common_schemas(schema: dict[str, Any]) -> None:
    outer = {"type": "object", "properties": {"x": schema}, "required": ["x"], **({"$defs": schema.get("$defs", {})})}
    for seed in range(40):
        request = a_request(output=OutputFormat(kind="json", schema=outer), seed=seed, max_tokens=10_000)
        reading = read_checked(reply_to(request).text, outer)
        assert isinstance(reading, Reading), (seed, reading)


def test_a_pattern_beyond_its_means_is_named() -> None:
    schema = {"properties": {"x": {"type": "string", "pattern": "(?=a)b"}}, "required": ["x"]}
    with pytest.raises(ValueError, match=r"does not know '\(\?=a'"):
        reply_to(a_request(output=OutputFormat(kind="json", schema=schema)))


ROLE_ACTION = Tag(
    name="role_action",
    at_most=10,
    schema={
        "anyOf": [
            {
                "type": "object",
                "properties": {
                    "action": {"const": "contact"},
                    "to": {"enum": ["Bob Ölmez", "小雨"]},
                    "message": {"type": "string", "maxLength": 200},
                },
                "required": ["action", "to", "message"],
                "additionalProperties": False,
            },
            {
                "type": "object",
                "properties": {"action": {"const": "respond_invitation"}, "decision": {"enum": ["yes", "no"]}},
                "required": ["action", "decision"],
                "additionalProperties": False,
            },
            {
                "type": "object",
                "properties": {"action": {"const": "cancel_joint_activity"}, "activity_name": {"type": "string"}},
                "required": ["action", "activity_name"],
                "additionalProperties": False,
            },
        ]
    },
)
EXIT = Tag(name="exit_activity", schema={"type": "object", "properties": {}, "additionalProperties": False})
TURN = OutputFormat(kind="tagged", tags=(ROLE_ACTION, EXIT), spans=("private", "visible_to"), text_chars=700)
READ_FILE = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "enum": ["read_file"]},
        "arguments": {
            "type": "object",
            "properties": {"path": {"enum": ["general.txt", "characters/小雨.txt"]}},
            "required": ["path"],
        },
    },
    "required": ["name", "arguments"],
}


def test_tags_and_spans_are_well_formed_and_seldom_many() -> None:
    kinds: Counter[str] = Counter()
    for seed in range(400):
        text = reply_to(a_request(output=TURN, seed=seed, duty="turn")).text
        actions = re.findall(r"<role_action>(.*?)</role_action>", text)
        for action in actions:
            reading = read_checked(action, ROLE_ACTION.schema)
            assert isinstance(reading, Reading)
            assert not reading.repaired
            kinds[reading.value["action"]] += 1
            kinds["yes"] += reading.value.get("decision") == "yes"
        exits = text.count("<exit_activity>")
        assert exits <= 1
        free = re.sub(r"<(role_action|exit_activity)>.*?</\1>", "", text).strip()
        assert 0 < len(free) <= 700
        kinds["exit"] += exits
        kinds["actions"] += len(actions)
        kinds["private"] += text.count("<private>") == text.count("</private>") == 1
        for people in re.findall(r'<visible_to="([^"]+)">[^<]+</visible_to>', text):
            assert set(people.split(",")) <= {"Bob Ölmez", "小雨"}
            kinds["visible_to"] += 1
    assert 0.4 < kinds["actions"] / 400 < 1.5
    assert kinds["contact"] > 3 * kinds["cancel_joint_activity"] > 0
    assert kinds["respond_invitation"] * 0.55 < kinds["yes"] < kinds["respond_invitation"] * 0.85
    assert 0 < kinds["exit"] < 80
    assert kinds["private"] > 10
    assert kinds["visible_to"] > 10


def test_functions_are_called_in_a_share_of_the_answers() -> None:
    output = OutputFormat(kind="text", tools=(READ_FILE,))
    structured = Structured(Scripted(), attempts=1)

    def ask(seed: int) -> Outcome[str]:
        asked = structured.ask(a_request(output=output, seed=seed), str, feedback=lambda refusal: refusal.text)
        return asyncio.run(asked)

    outcomes = [ask(seed) for seed in range(300)]
    assert all(outcome.status == "ok" for outcome in outcomes)
    calls = [call for outcome in outcomes for call in outcome.tool_calls]
    assert 50 < len(calls) < 150
    assert {call.arguments["path"] for call in calls} == {"general.txt", "characters/小雨.txt"}


def test_the_same_seed_gives_the_same_answer_whatever_else_changes() -> None:
    request = a_request(output=TURN, seed=99)
    first = reply_to(request, Scripted(version="1"))
    again = reply_to(msgspec.structs.replace(request, key="Y9-W1/x.0/Z/Z/other/3", agent="Z"), Scripted(version="2"))
    assert first.text == again.text
    assert (first.model, again.model) == ("scripted@1", "scripted@2")
    assert len({reply_to(a_request(output=TURN, seed=seed)).text for seed in range(50)}) > 45


def test_a_short_limit_gives_a_brief_answer_and_an_impossible_one_is_cut_off() -> None:
    schema = {
        "type": "object",
        "properties": {"plan": {"type": "string", "maxLength": 900}, "thoughts": {"type": "string", "maxLength": 900}},
        "required": ["plan", "thoughts"],
    }
    output = OutputFormat(kind="json", schema=schema)
    for seed in range(30):
        reply = reply_to(a_request(output=output, seed=seed, max_tokens=60))
        assert reply.finish == "stop"
        assert reply.usage.output_tokens <= 60
    cut = reply_to(a_request(output=output, max_tokens=5))
    assert cut.finish == "length"
    assert cut.usage.output_tokens <= 5


def test_chinese_words() -> None:
    schema = {"properties": {"diary": {"type": "string", "maxLength": 300}}, "required": ["diary"]}
    reply = reply_to(a_request(output=OutputFormat(kind="json", schema=schema)), Scripted(language="zh"))
    assert re.search("[\u4e00-\u9fff]{5}", reply.text)
    assert not re.search("[a-z]{4}", reply.text.replace("diary", ""))


SCORES = OutputFormat(
    kind="json",
    schema={
        "type": "object",
        "properties": {"affection": {"type": "integer", "minimum": 0, "maximum": 100}},
        "required": ["affection"],
        "additionalProperties": False,
    },
)


def requests_with(outputs: list[OutputFormat], many: int) -> list[Request]:
    return [
        a_request(output=outputs[n % len(outputs)], key=f"Y1-W1/plan.0/A{n}/A{n}/plan/0", seed=n * 7919)
        for n in range(many)
    ]


def test_faults_come_in_the_shares_asked_for_and_are_noticed() -> None:
    model = Scripted(faults=Faults(malformed=0.3, empty=0.05, truncated=0.05, unanswered=0.02))
    structured = Structured(model, attempts=1)
    outputs = [SCORES, OutputFormat(kind="text"), OutputFormat(kind="text", tools=(READ_FILE,))]
    drawn: Counter[str | None] = Counter()
    seen: Counter[str | None] = Counter()
    for request in requests_with(outputs, 3000):
        drawn[model.fault_of(request)] += 1
        try:
            outcome = asyncio.run(structured.ask(request, lambda value: value, feedback=lambda refusal: refusal.text))
        except TransportError:
            seen["unanswered"] += 1
            continue
        kind = outcome.rejected[0].kind if outcome.rejected else None
        seen["malformed" if kind == "invalid" else kind] += 1
    assert seen == drawn
    for kind, share in {"malformed": 0.3, "empty": 0.05, "truncated": 0.05, "unanswered": 0.02}.items():
        assert abs(drawn[kind] / 3000 - share) < 4 * (share * (1 - share) / 3000) ** 0.5


@settings(deadline=None)
@given(objects(schemas), st.integers(0, 2**40))
def test_a_malformed_answer_is_refused_by_any_schema(schema: dict[str, Any], seed: int) -> None:
    output = OutputFormat(kind="json", schema=schema)
    reply = reply_to(a_request(output=output, seed=seed), Scripted(faults=Faults(malformed=1.0)))
    assert not isinstance(read_checked(reply.text, schema), Reading)


def test_a_call_that_is_never_answered_stays_so_and_the_next_attempt_is_drawn_anew() -> None:
    model = Scripted(faults=Faults(unanswered=0.5))
    request = next(r for r in requests_with([SCORES], 50) if model.fault_of(r) == "unanswered")
    for _ in range(3):
        with pytest.raises(TransportError):
            asyncio.run(model.complete(request))
    stem = request.key.rsplit("/", 1)[0]
    others = [msgspec.structs.replace(request, key=f"{stem}/{attempt}") for attempt in range(1, 30)]
    assert {model.fault_of(other) for other in others} == {None, "unanswered"}


def test_usage_counts_prompt_and_answer() -> None:
    message = Message(role="user", parts=("abcd" * 10, "你好吗"))
    reply = reply_to(a_request(messages=(message,), output=SCORES))
    assert reply.usage.prompt_tokens == 13
    assert reply.usage.output_tokens == count_pieces(reply.text)
    counted = reply_to(a_request(messages=(message,), output=SCORES), Scripted(count=len))
    assert counted.usage.prompt_tokens == 43


def test_latency_by_hand() -> None:
    seconds = Latency().seconds(prompt_tokens=4800, cached_tokens=800, output_tokens=100)
    assert seconds == pytest.approx(0.10 + 4000 / 8000 + 100 / 40)


def test_latency_is_felt_only_through_the_clock_handed_in() -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    prompt = (Message(role="system", parts=("head " * 640,)),)
    model = Scripted(latency=Latency(), cache=BlockCache(1000), sleep=sleep)
    first, second = (reply_to(a_request(messages=prompt, output=SCORES), model) for _ in range(2))
    assert first.usage.cached_tokens == 0
    assert second.usage.cached_tokens == 800 == second.usage.prompt_tokens
    assert waited == [first.seconds, second.seconds]
    assert first.seconds - second.seconds == pytest.approx(800 / 8000)


def test_the_cache_knows_whole_prefixes_and_drops_the_least_recently_used() -> None:
    cache = BlockCache(4)
    head, a, b = ["h"] * 32, ["a"] * 16, ["b"] * 16
    assert cache.admit(head + a) == 0
    assert cache.admit(head + b) == 32
    assert cache.admit(b + head) == 0
    assert cache.admit(head + b) == 16
    cache.clear()
    assert cache.admit(head + b) == 0
    assert cache.admit([*head, *b, "x"]) == 48
