"""Memory functions: what the grammar allows, and calls that are none."""

import jsonschema
import pytest

from sim.core.agent import MemoryFile
from sim.llm.outcome import ToolCall
from sim.mind.tools import MemoryTools, schemas
from sim.settings import PromptSettings, SimSettings
from tests.builders import an_agent
from tests.context.desks import a_desk, an_overlay


def files(n: int) -> dict[str, MemoryFile]:
    return {f"others/{number}.txt": MemoryFile(text="x") for number in range(n)}


def by_name(state, settings=None):
    return {schema["properties"]["name"]["enum"][0]: schema for schema in schemas(a_desk(settings=settings), state)}


def test_each_function_has_a_schema_of_its_own():
    tools = by_name(an_agent("Ann", files=files(2)))
    assert sorted(tools) == ["list_files", "read_file", "update_file"]
    jsonschema.validate({"name": "list_files", "arguments": {}}, tools["list_files"])
    jsonschema.validate({"name": "read_file", "arguments": {"path": "others/1.txt"}}, tools["read_file"])
    update = {"name": "update_file", "arguments": {"path": "others/new.txt", "text": "t"}}
    jsonschema.validate(update, tools["update_file"])
    jsonschema.validate({**update, "arguments": {**update["arguments"], "summary": "s"}}, tools["update_file"])


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("list_files", {"path": "x"}),
        ("read_file", {}),
        ("read_file", {"path": "others/9.txt"}),
        ("update_file", {"path": "general.txt"}),
        ("update_file", {"path": "general.txt", "text": "x" * 5000}),
    ],
)
def test_what_the_schemas_refuse(function, arguments):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"name": function, "arguments": arguments}, by_name(an_agent(files=files(2)))[function])


def path_of(function: str, state, settings=None) -> dict:
    return by_name(state, settings)[function]["properties"]["arguments"]["properties"]["path"]


def test_paths_are_a_closed_list_while_they_are_few():
    assert path_of("read_file", an_agent(files=files(40)))["enum"] == sorted(files(40))
    assert "enum" not in path_of("read_file", an_agent(files=files(41)))
    assert "enum" not in path_of("read_file", an_agent(files={}))


def test_weak_models_choose_a_file_to_change_from_the_list():
    short = SimSettings(prompts=PromptSettings(profile="short"))
    assert "enum" in path_of("update_file", an_agent(files=files(2)), short)
    assert "enum" not in path_of("update_file", an_agent(files=files(2)))


@pytest.mark.parametrize(
    "call",
    [
        ToolCall(name="delete_file", arguments={"path": "general.txt"}),
        ToolCall(name="read_file", arguments={"path": 3}),
        ToolCall(name="update_file", arguments={"path": "general.txt", "text": ["x"]}),
        ToolCall(name="x" * 500, arguments={}),
    ],
)
def test_a_call_that_is_none_changes_nothing_and_says_so(call):
    overlay = an_overlay(an_agent("Ann"))
    text = MemoryTools(a_desk(), overlay, "Ann", create_people=True).run([call])
    assert "this is no call of list_files" in text
    assert len(text) < 300
    assert overlay.finish().by_agent["Ann"] == ()
