"""The grammars that answers are held to: what they admit and what they don't, by the grammar engine itself."""

import json
import os
from pathlib import Path

import pytest

from pipeline.response_format import response_format
from sim.llm.protocol import OutputFormat, Tag

pytestmark = pytest.mark.engine

MODEL = os.environ.get("LIFELOOP_MODEL", str(Path(__file__).parents[2] / ".cache/models/smollm2-135m-instruct"))


def closed(properties):
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def function(name, properties):
    return closed({"name": {"type": "string", "enum": [name]}, "arguments": closed(properties)})


PLAN = closed({"plan": {"type": "string", "maxLength": 20}, "n": {"type": "integer", "minimum": 0, "maximum": 10}})
ACTION = {
    "anyOf": [
        closed({"action": {"enum": ["gift"]}, "to": {"type": "string", "maxLength": 40}}),
        closed({"action": {"enum": ["exit_activity"]}}),
    ]
}
TOOLS = (function("list_files", {}), function("read_file", {"path": {"enum": ["general.txt", "characters/李.txt"]}}))
SPEECH = OutputFormat(
    kind="tagged",
    tags=(Tag(name="role_action", schema=ACTION, at_most=2),),
    spans=("private", "visible_to"),
    text_chars=100,
)

ANSWER = '{"plan": "go", "n": 3}'
LIST = '<tool_call>{"name": "list_files", "arguments": {}}</tool_call>'
READ = '<tool_call>{"name": "read_file", "arguments": {"path": "characters/李.txt"}}</tool_call>'
GIFT = '<role_action>{"action":"gift","to":"Bo"}</role_action>'
EXIT = '<role_action>{"action": "exit_activity"}</role_action>'


@pytest.fixture(scope="module")
def admits():
    """Whether a form's grammar admits a text as a whole answer."""
    import xgrammar
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    compiler = xgrammar.GrammarCompiler(xgrammar.TokenizerInfo.from_huggingface(tokenizer))

    def check(output, text):
        field = response_format(output, 200)["response_format"]
        if field["type"] == "json_schema":
            grammar = compiler.compile_json_schema(json.dumps(field["json_schema"]["schema"]), any_whitespace=False)
        else:
            grammar = compiler.compile_structural_tag(json.dumps(field))
        matcher = xgrammar.GrammarMatcher(grammar)
        return matcher.accept_string(text) and matcher.accept_token(tokenizer.eos_token_id)

    return check


@pytest.mark.parametrize("text", [ANSWER, LIST, READ + LIST, f"{READ}\n{LIST}\n"])
def test_json_or_function_calls_are_admitted(admits, text):
    assert admits(OutputFormat(kind="json", schema=PLAN, tools=TOOLS), text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Hello",
        ANSWER + LIST,
        LIST + ANSWER,
        LIST * 3,
        '{"plan": "go"}',
        '{"plan": "go", "n": 11}',
        '{"plan":  "go", "n": 3}',
        '{"plan": "' + "x" * 21 + '", "n": 3}',
        '<tool_call>{"name": "delete", "arguments": {}}</tool_call>',
    ],
)
def test_json_or_function_calls_refuse_the_rest(admits, text):
    assert not admits(OutputFormat(kind="json", schema=PLAN, tools=TOOLS), text)


@pytest.mark.parametrize(
    "text",
    [
        "Hello.",
        f"Hello {GIFT}",
        GIFT,
        GIFT + EXIT,
        f"{GIFT} bye {EXIT} now",
        f'Hi <private>hm</private> so <visible_to="Mara Voss,李雷">psst</visible_to>{GIFT}',
    ],
)
def test_speech_with_whole_tags_is_admitted(admits, text):
    assert admits(SPEECH, text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        GIFT * 3,
        "Hi <role_action>x",
        "Hi <private>x",
        'Hi <visible_to="a>x</visible_to>',
        "Hi <b>x</b>",
        "x" * 101,
        f"Hi {LIST}",
    ],
)
def test_speech_with_broken_tags_is_refused(admits, text):
    assert not admits(SPEECH, text)


def test_a_required_tag_can_not_be_left_out(admits):
    output = OutputFormat(kind="tagged", tags=(Tag(name="plan", schema=PLAN, at_least=1),), text_chars=100)
    assert admits(output, f"So: <plan>{ANSWER}</plan> Done.")
    assert admits(output, f"<plan>{ANSWER}</plan>")
    assert not admits(output, "So.")
    assert not admits(output, f"<plan>{ANSWER}</plan>" * 2)


def test_plain_json_is_compact(admits):
    assert admits(OutputFormat(kind="json", schema=PLAN), ANSWER)
    assert not admits(OutputFormat(kind="json", schema=PLAN), '{"plan":   "go", "n": 3}')
