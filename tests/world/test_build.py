"""The builder: by a model and by the sampler; resumed after a stop, with bad answers, and what it corrects."""

import asyncio
import json
import random
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from sim.llm.protocol import LLM, Reply, Request
from sim.llm.scripted import Scripted
from sim.llm.scripted_faults import Faults
from sim.llm.scripted_values import Maker
from sim.llm.scripted_words import Words
from sim.world import build as builder
from sim.world.build import Order, build, main
from sim.world.building import levels
from sim.world.building.author import Author
from sim.world.building.casting import LONGEST_COPY, cast_one
from sim.world.check import check_folder
from sim.world.checking.findings import faults_in
from sim.world.checking.money import amount
from sim.world.loader import cast_of, initial_states, load_world, read_world
from tests.world.small_worlds import a_world, add, change, put


def quiet(text: str) -> None:
    """Says nothing."""


def content_of(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def built(source: Path, out: Path, n: int, model: LLM | None = None, **fields: Any) -> dict[str, bytes]:
    """Build it; every file of the new folder."""
    by = "sampler" if model is None else "model"
    asyncio.run(build(Order(source=source, n=n, out=out, by=by, **fields), model, quiet))
    assert not out.with_name(f"{out.name}.building").exists()
    return content_of(out)


class Answering:
    """A scripted model that counts its calls, may stop like a killed process, and answers some duties its own way."""

    def __init__(self, language: str = "en", *, stop_after: int = 10_000, own: dict[str, Any] | None = None) -> None:
        self.requests: list[Request] = []
        self._scripted = Scripted(language=language)
        self._stop_after = stop_after
        self._own = own or {}

    async def complete(self, request: Request) -> Reply:
        """The scripted reply, with some fields replaced by those of the duty."""
        if len(self.requests) >= self._stop_after:
            raise KeyboardInterrupt
        self.requests.append(request)
        reply = await self._scripted.complete(request)
        if request.duty not in self._own:
            return reply
        value = {**json.loads(reply.text), **self._own[request.duty]}
        return msgspec.structs.replace(reply, text=json.dumps(value))


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("first", [0, 1, 2])
def test_a_model_writes_characters_who_know_each_other(tmp_path: Path, language: str, first: int) -> None:
    source = a_world(tmp_path / "source", language=language, n=first, positions=2)
    before = content_of(source)
    built(source, tmp_path / "out", 6, Answering(language), most_checks=2)
    world = load_world(tmp_path / "out")
    assert content_of(source) == before
    assert len(world.characters) == 6
    assert all(who.knows for who in world.characters)
    for who in world.characters:
        assert all(who.name in other.knows for other in world.characters if other.name in who.knows)
    assert faults_in(check_folder(tmp_path / "out")) == []
    states = initial_states(cast_of(world, 5))
    assert all(100 <= (state.position.weekly_income if state.position else 100) <= 500 for state in states.values())


def test_every_new_character_asks_one_story_and_sees_who_is_there(tmp_path: Path) -> None:
    model = Answering()
    source = a_world(tmp_path / "source")
    built(source, tmp_path / "out", 4, model)
    asked = [request for request in model.requests if request.duty == "character"]
    assert all(request.temperature == 1.0 for request in model.requests)
    for request in asked:
        text = request.messages[1].text
        assert "The Two Keys" in text
        assert "Ada Brook" in text
        assert "Ben Carter" in text
        assert "Ada Brook about Ben Carter" in text
        assert "A room with four walls" in request.messages[0].text


def test_the_same_command_gives_the_same_world_after_a_stop_at_any_call(tmp_path: Path) -> None:
    source = a_world(tmp_path / "source")
    whole = Answering()
    wanted = built(source, tmp_path / "whole", 5, whole, most_checks=3)
    n_calls = len(whole.requests)
    for stop_after in range(0, n_calls, 3):
        out = tmp_path / f"stopped{stop_after}"
        with pytest.raises(KeyboardInterrupt):
            built(source, out, 5, Answering(stop_after=stop_after), most_checks=3)
        assert not out.exists()
        kept = len(list(out.with_name(f"{out.name}.building").glob("0*.json")))
        going_on = Answering()
        assert built(source, out, 5, going_on, most_checks=3) == wanted
        again = [request.key for request in going_on.requests if "/accounts/" not in request.key]
        assert all(int(key.split("/")[1]) > 2 + kept for key in again)


def test_a_finished_build_is_not_done_again(tmp_path: Path) -> None:
    source = a_world(tmp_path / "source")
    wanted = built(source, tmp_path / "out", 4, Answering())
    model = Answering()
    assert built(source, tmp_path / "out", 4, model) == wanted
    assert model.requests == []


def test_bad_answers_are_asked_for_again(tmp_path: Path) -> None:
    source = a_world(tmp_path / "source")
    faulty = Scripted(faults=Faults(malformed=0.2, empty=0.1, truncated=0.1))
    built(source, tmp_path / "out", 6, faulty, fallback=True)
    assert len(load_world(tmp_path / "out").characters) == 6


def test_a_model_that_fails_is_named_with_what_to_do_and_what_it_wrote_is_kept(tmp_path: Path) -> None:
    source = a_world(tmp_path / "source")
    with pytest.raises(ValueError, match=r"character 3: 3/character: no usable answer in 5 attempts.*--fallback"):
        built(source, tmp_path / "out", 4, Scripted(faults=Faults(empty=1.0)))
    assert not (tmp_path / "out").exists()
    assert (tmp_path / "out.building" / "build.json").exists()


def test_what_the_model_fails_to_give_is_sampled_on_request_and_recorded(tmp_path: Path) -> None:
    source = a_world(tmp_path / "source")
    built(source, tmp_path / "out", 5, Scripted(faults=Faults(empty=1.0)), fallback=True)
    world = load_world(tmp_path / "out")
    record = json.loads((tmp_path / "out" / "build.json").read_text(encoding="utf-8"))
    assert record["sampled_where_the_model_failed"] == [who.name for who in world.characters[2:]]
    assert faults_in(check_folder(tmp_path / "out")) == []


STORY = "Two deputies each hold a key to one garden and each takes the other for a thief."


@pytest.mark.parametrize(
    ("own", "objection"),
    [
        ({"details": f"{STORY} Then they meet."}, "The Two Keys"),
        ({"details": "She owes everything to Gil Hart, as both of them know. " * 3, "name": "Eve Frost"}, "Gil Hart"),
        ({"ties": [{"name": "Ada Brook", "tie": "They share a secret and a bench."}] * 2}, "ties: 1 < 2"),
        (
            {"appearance": "A" * 50, "details": "Mends nets for pay and reads shipwreck reports for pleasure. " * 2},
            "Ada",
        ),
    ],
    ids=["retold", "stranger", "one tie", "told twice"],
)
def test_unusable_characters_are_refused_with_the_reason(tmp_path: Path, own: dict[str, Any], objection: str) -> None:
    source = a_world(tmp_path / "source")
    ties = [{"name": name, "tie": "They share a secret and a bench."} for name in ("Ada Brook", "Ben Carter")]
    model = Answering(own={"character": {"ties": ties, **own}})
    if objection == "Ada":
        change(source / "characters/c0.yaml", put("appearance", value="A" * 50))
        change(source / "characters/c0.yaml", put("details", value=own["details"]))
    with pytest.raises(ValueError, match=objection):
        built(source, tmp_path / "out", 3, model)
    assert len(model.requests) == 5
    assert objection in model.requests[1].messages[-1].text


def test_one_sided_kinship_between_new_memories_is_refused(tmp_path: Path) -> None:
    view = {"memory_of_newcomer": "My sister, who sings. " * 8, "memory_of_acquaintance": "The painter from 4B. " * 8}
    with pytest.raises(ValueError, match=r"3/views/.* sibling"):
        built(a_world(tmp_path / "source"), tmp_path / "out", 3, Answering(own={"views": view}))


def test_money_and_levels_of_a_new_character_are_made_by_code(tmp_path: Path) -> None:
    source = a_world(tmp_path / "source", positions=2)
    world = load_world(source)
    own = {"deposit": 15000, "extra_weekly_income": 100, "skills": [{"skill": "chess", "level": "master"}] * 2}
    author = Author(Answering(own={"character": own}), world, seed=1)
    world = msgspec.structs.replace(
        world, positions=tuple(msgspec.structs.replace(post, capacity=3, weekly_income=450) for post in world.positions)
    )
    who = asyncio.run(cast_one(author, world, number=3, left=1, seed=1)).character
    salary = 450 if who.position else 100
    extra = min(100, 500 - salary)
    assert who.extra_weekly_income == extra
    assert who.deposit == min(15000, 20 * (salary + extra))
    assert who.skills["chess"] == 300
    assert who.position is None or who.skills["baking"] >= 40
    assert all(10 <= value <= 100 for value in [*who.traits.values(), *who.talents.values()])


def test_levels_become_numbers_of_their_ranges() -> None:
    rng = random.Random(3)
    for level, (low, high) in {"low": (10, 25), "average": (55, 65), "high": (90, 100)}.items():
        assert {levels.score(level, rng) for _ in range(300)} == set(range(low, high + 1))
    drawn = {level: [levels.skill(level, rng) for _ in range(500)] for level in levels.SKILL_LEVELS}
    assert {level: (min(found), max(found)) for level, found in drawn.items() if level != "proficient"} == {
        "untrained": (0, 10),
        "beginner": (15, 30),
        "some_experience": (35, 95),
        "master": (300, 300),
    }
    assert min(drawn["proficient"]) >= 100
    assert max(drawn["proficient"]) <= 295
    assert [levels.score_level(value) for value in (0, 25, 30, 60, 69, 70, 95)] == [
        "low",
        "low",
        "below_average",
        "average",
        "average",
        "above_average",
        "high",
    ]
    assert LONGEST_COPY > 8


# --- corrections ---


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("1,200 dollars", 1200),
        ("$ 45", 45),
        ("4.500", 4500),
        ("12.50 €", 12),
        (80.0, 80),
        ("两千", None),
        ("2 or 3", None),
    ],
)
def test_amounts_that_leave_no_doubt_are_numbers(written: Any, number: int | None) -> None:
    assert amount(written) == number


def test_money_that_stands_as_text_is_corrected_in_the_new_world_alone(tmp_path: Path) -> None:
    source = a_world(tmp_path / "source")
    change(source / "characters/c0.yaml", put("deposit", value="1,200 coins"))
    built(source, tmp_path / "out", 3)
    assert load_world(tmp_path / "out").characters[0].deposit == 1200
    assert {finding.kind for finding in faults_in(check_folder(source))} == {"money"}


def test_whoever_is_spoken_of_and_does_not_exist_has_left_and_the_name_is_given_to_nobody(tmp_path: Path) -> None:
    source = a_world(tmp_path / "source", names=6)
    change(source / "characters/c0.yaml", add("details", text="Gil Hart taught her the nets."))
    assert {finding.kind for finding in faults_in(check_folder(source))} == {"unknown_person"}
    built(source, tmp_path / "out", 8)
    world = load_world(tmp_path / "out")
    assert world.characters[0].goals.endswith("Gil Hart has moved away for good and can no longer be reached.")
    assert "Gil Hart" not in {name.name for name in (*world.characters, *world.names)}
    assert faults_in(check_folder(tmp_path / "out")) == []


def test_accounts_at_odds_are_written_anew_and_recorded(tmp_path: Path) -> None:
    anew = "Came with one suitcase in the spring, keeps the ovens, and never once raised a voice to anybody. " * 2
    own = {"accounts": {"corrections": [{"who": "Ada Brook", "why": "another year", "text": anew}]}}
    source = a_world(tmp_path / "source")
    built(source, tmp_path / "out", 3, Answering(own=own), most_checks=1)
    world = load_world(tmp_path / "out")
    newcomer = world.characters[2].name
    if newcomer in world.characters[0].knows:
        assert world.characters[0].knows[newcomer] == anew.strip()
    record = json.loads((tmp_path / "out" / "build.json").read_text(encoding="utf-8"))
    assert record["corrections"] == [{"who": "Ada Brook", "of": newcomer, "why": "another year", "text": anew.strip()}]


def test_no_more_questions_than_allowed_are_asked_in_the_check(tmp_path: Path) -> None:
    for most in (0, 1, 2):
        model = Answering()
        built(a_world(tmp_path / f"source{most}"), tmp_path / f"out{most}", 6, model, most_checks=most)
        assert len({request.key.rsplit("/", 1)[0] for request in model.requests if request.duty == "accounts"}) == most


# --- the folder ---


def test_what_is_unchanged_is_copied_byte_by_byte_and_the_rest_is_sound(tmp_path: Path) -> None:
    source = a_world(tmp_path / "source", n=4, positions=4)
    (source / "notes.md").write_text("Über die Welt", encoding="utf-8")
    after, before = built(source, tmp_path / "out", 30), content_of(source)
    for file in ("locations.yaml", "prices.yaml", "stories.yaml", "notes.md"):
        assert after[file] == before[file]
    assert yaml.safe_load(after["world.yaml"])["cast"][:4] == ["c0", "c1", "c2", "c3"]
    assert len([file for file in after if file.startswith("characters/")]) == 30


def test_a_built_world_may_be_built_upon(tmp_path: Path) -> None:
    built(a_world(tmp_path / "source"), tmp_path / "ten", 10)
    built(tmp_path / "ten", tmp_path / "twenty", 20)
    ten, twenty = load_world(tmp_path / "ten"), load_world(tmp_path / "twenty")
    assert [who.name for who in twenty.characters[:10]] == [who.name for who in ten.characters]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{source}", "--to", "1", "--out", "{out}", "--sampler"], "the world has 2 characters already"),
        (["{source}", "--to", "0", "--out", "{out}", "--sampler"], "from 1 to"),
        (["{source}", "--to", "4", "--out", "{source}", "--sampler"], "lies inside"),
        (["{source}", "--to", "4", "--out", "{source}/in", "--sampler"], "lies inside"),
        (["{source}/no", "--to", "4", "--out", "{out}", "--sampler"], "no world.yaml"),
        (["{source}", "--to", "4", "--out", "{out}"], "say who writes"),
        (["{source}", "--to", "4", "--out", "{out}", "--model", "m"], "needs both --base-url and --model"),
        (["{source}", "--to", "4", "--out", "{out}", "--sampler", "--base-url", "http://a/v1"], "exclude each other"),
        (["{source}", "--to", "4", "--out", "{out}", "--base-url", "nowhere", "--model", "m"], "base_url"),
        (["{source}", "--to", "4", "--out", "{out}", "--config", "no.yaml"], "can't be read"),
        (["{source}", "--to", "4", "--out", "{out}", "--config", "configs/laptop.yaml"], "vllm serve"),
    ],
)
def test_wrong_commands_are_refused_with_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    source = a_world(tmp_path / "source")
    before = content_of(source)
    assert main([word.format(source=source, out=tmp_path / "out") for word in words]) == 1
    assert message in capsys.readouterr().err
    assert content_of(source) == before
    assert not (tmp_path / "out").exists()


def test_another_build_in_the_same_place_is_refused(tmp_path: Path) -> None:
    source, out = a_world(tmp_path / "source"), tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        built(source, out, 5, Answering(stop_after=3))
    with pytest.raises(ValueError, match=r"another unfinished build \(seed 1, now 2\)"):
        built(source, out, 5, Answering(), seed=2)
    out.mkdir()
    with pytest.raises(ValueError, match="is there already; name a new folder"):
        built(source, out, 5)


def test_an_unsound_world_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    source = a_world(tmp_path / "source")
    change(source / "characters/c0.yaml", put("deposit", value=99_999))
    with pytest.raises(ValueError, match=r"not sound; mend it first\n.*deposit: 99999"):
        built(source, tmp_path / "out", 4)
    assert not (tmp_path / "out").exists()


# --- a server ---


@pytest.fixture
def server() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server that speaks the OpenAI chat protocol and answers by the schema; its address and what it was asked."""
    bodies: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            bodies.append({**body, "authorization": self.headers.get("Authorization")})
            schema = body["response_format"]["json_schema"]["schema"]
            value = Maker(random.Random(body["seed"]), Words("en"), schema).value(schema)
            choice = {"message": {"content": json.dumps(value)}, "finish_reason": "stop"}
            data = json.dumps({"choices": [choice], "model": body["model"]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the name is http.server's)
            """Keep the tests' output clean."""

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{running.server_address[1]}/v1", bodies
    finally:
        running.shutdown()
        thread.join(timeout=10)
        running.server_close()


def test_the_command_asks_a_server_and_keeps_the_key_to_itself(
    tmp_path: Path, server: tuple[str, list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, bodies = server
    monkeypatch.setenv("MY_KEY", "secret-word")
    source, out = a_world(tmp_path / "source"), tmp_path / "out"
    words = [str(source), "--to", "4", "--out", str(out), "--base-url", url, "--model", "writer", "--key-env", "MY_KEY"]
    assert main(words) == 0
    assert {body["model"] for body in bodies} == {"writer"}
    assert {body["authorization"] for body in bodies} == {"Bearer secret-word"}
    assert len(load_world(out).characters) == 4
    assert not any(b"secret-word" in data or url.encode() in data for data in content_of(out).values())


def test_the_command_takes_the_outside_endpoint_of_a_settings_file(
    tmp_path: Path, server: tuple[str, list[dict[str, Any]]]
) -> None:
    url, bodies = server
    config = tmp_path / "own.yaml"
    endpoint = {"kind": "openai", "base_url": url, "model": "from-settings"}
    config.write_text(yaml.safe_dump({"serving": {"environment": endpoint}, "seed": 3}), encoding="utf-8")
    source, out = a_world(tmp_path / "source"), tmp_path / "out"
    assert main([str(source), "--to", "3", "--out", str(out), "--config", str(config)]) == 0
    assert {body["model"] for body in bodies} == {"from-settings"}
    assert read_world(out)[0].characters[2].name


def test_the_command_samples_a_world_that_a_run_can_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = a_world(tmp_path / "source"), tmp_path / "out"
    assert main([str(source), "--to", "12", "--out", str(out), "--sampler", "--seed", "7"]) == 0
    assert f"worlds=[{out}]" in capsys.readouterr().out
    assert len(initial_states(load_world(out))) == 12
    assert builder.STOPPED == 130
