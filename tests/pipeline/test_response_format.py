"""Every form of an answer becomes the grammar that admits it and nothing else; here its shape, without a server."""

import json

from pipeline.response_format import response_format
from sim.llm.protocol import OutputFormat, Tag

SCHEMA = {"type": "object", "properties": {"plan": {"type": "string", "maxLength": 20}}, "required": ["plan"]}
TOOL = {"type": "object", "properties": {"name": {"enum": ["list_files"]}, "arguments": {"type": "object"}}}


def form_of(output, max_tokens=800):
    return response_format(output, max_tokens)


def formats_in(value):
    """All formats of a structural tag, outermost first."""
    if isinstance(value, dict):
        if "type" in value and value["type"] != "object":
            yield value
        for name, inner in value.items():
            if name != "json_schema":
                yield from formats_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from formats_in(inner)


def test_plain_json_is_a_strict_schema():
    field = form_of(OutputFormat(kind="json", schema=SCHEMA))["response_format"]
    assert field == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
    }


def test_functions_are_an_alternative_to_the_answer():
    field = form_of(OutputFormat(kind="json", schema=SCHEMA, tools=(TOOL,)))["response_format"]
    assert field["type"] == "structural_tag"
    answer, calls = field["format"]["elements"]
    assert field["format"]["type"] == "or"
    assert answer["json_schema"] == SCHEMA
    assert calls["min"] == 1
    assert calls["content"]["elements"][0]["begin"] == '<tool_call>{"name": "list_files", "arguments": '


def test_json_inside_tags_never_allows_runs_of_blanks():
    tag = Tag(name="role_action", schema=SCHEMA, at_most=3)
    output = OutputFormat(kind="tagged", tags=(tag,), spans=("private", "visible_to"), tools=(TOOL,))
    values = [one for one in formats_in(form_of(output)) if one["type"] == "json_schema"]
    assert values
    assert all(one["max_whitespace_cnt"] == 1 for one in values)


def test_every_repetition_and_every_text_is_bounded():
    output = OutputFormat(
        kind="tagged", tags=(Tag(name="role_action", schema=SCHEMA, at_most=3),), spans=("private",), tools=(TOOL,)
    )
    for one in formats_in(form_of(output)):
        if one["type"] == "repeat":
            assert one["max"] >= max(1, one["min"])
        if one["type"] == "regex":
            assert not set(one["pattern"]) & {"*", "+"}
        assert one["type"] not in ("any_text", "star", "plus", "triggered_tags")


def test_tags_are_counted_by_name():
    tags = (
        Tag(name="act", schema=SCHEMA, at_most=2),
        Tag(name="act", schema=TOOL),
        Tag(name="end", schema=TOOL, at_least=1),
    )
    spoken, silent = form_of(OutputFormat(kind="tagged", tags=tags))["response_format"]["format"]["elements"]
    counts = [(one["min"], one["max"]) for one in spoken["elements"] if one["type"] == "repeat"]
    assert counts == [(0, 3), (1, 1)]
    assert [(one["min"], one["max"]) for one in silent["elements"]] == [(1, 3), (1, 1)]


def test_a_short_answer_has_room_for_fewer_calls():
    output = OutputFormat(kind="json", schema=SCHEMA, tools=(TOOL,))
    most = [form_of(output, tokens)["response_format"]["format"]["elements"][1]["max"] for tokens in (40, 160, 8000)]
    assert most == [1, 2, 6]


def test_the_field_is_json():
    output = OutputFormat(kind="text", text_chars=300, tools=(TOOL,))
    assert json.loads(json.dumps(form_of(output))) == form_of(output)
