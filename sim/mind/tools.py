"""The memory functions: their schemas for the grammar, and what happens when the model calls them."""

from collections.abc import Sequence
from typing import Any

from sim.context.memory_files import FileResult, FileRules, list_files, read_file, update_file
from sim.core.agent import AgentState
from sim.llm.outcome import ToolCall
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay

CALLS_PER_ROUND = 6
"""Function calls that one reply may hold; more are refused."""
_ENUM_FILES = 40
"""Up to so many files their paths stand in the grammar as a closed list."""
_PATH_CHARS = 100
_NAME_CHARS = 40
_CHARS_PER_TOKEN = 4


def schemas(desk: Desk, state: AgentState) -> tuple[dict[str, Any], ...]:
    """JSON schemas of the three functions' calls for an agent as it is now."""
    paths = sorted(state.files)
    path: dict[str, Any] = {"type": "string", "maxLength": _PATH_CHARS}
    existing = {"type": "string", "enum": paths} if 0 < len(paths) <= _ENUM_FILES else path
    short = desk.settings.prompts.profile == "short"
    text_chars = min(desk.settings.answers.text_chars, desk.settings.budgets.file * _CHARS_PER_TOKEN)
    summary_chars = desk.settings.budgets.summary * _CHARS_PER_TOKEN
    update = {
        "path": existing if short else path,
        "text": {"type": "string", "maxLength": text_chars},
        "summary": {"type": "string", "maxLength": summary_chars},
    }
    return (
        _function("list_files", {}, ()),
        _function("read_file", {"path": existing}, ("path",)),
        _function("update_file", update, ("path", "text")),
    )


def _function(name: str, properties: dict[str, Any], required: Sequence[str]) -> dict[str, Any]:
    arguments = {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"name": {"type": "string", "enum": [name]}, "arguments": arguments},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


class MemoryTools:
    """The functions as one invocation may use them; remembers which files it has read."""

    def __init__(self, desk: Desk, overlay: Overlay, agent: str, *, create_people: bool) -> None:
        """`create_people` is off where nobody new may become known by a file."""
        budgets = desk.settings.budgets
        self._desk = desk
        self._overlay = overlay
        self._agent = agent
        self._read: set[str] = set()
        self._rules = FileRules(
            cast=desk.names,
            file_tokens=budgets.file,
            summary_tokens=budgets.summary,
            count=desk.count,
            create_people=create_people,
        )

    def run(self, calls: Sequence[ToolCall]) -> str:
        """Carry out the calls in order; the results as the model is told them."""
        results = [self._one(call) for call in calls[:CALLS_PER_ROUND]]
        values = {"results": results, "too_many": max(0, len(calls) - CALLS_PER_ROUND), "most": CALLS_PER_ROUND}
        return self._desk.render.render("tools/results.j2", values)

    def _one(self, call: ToolCall) -> dict[str, Any]:
        """One call's effect, and what the result template needs."""
        result = self._result(call)
        self._overlay.cause(self._agent, *result.facts)
        if result.code in ("read", "written"):
            self._read.add(result.path)
        fields = ("code", "path", "text", "paths", "names", "size", "limit")
        return {"function": call.name[:_NAME_CHARS], **{name: getattr(result, name) for name in fields}}

    def _result(self, call: ToolCall) -> FileResult:
        """What a function says; `bad_call` if there is no such function or its arguments are not texts."""
        state = self._overlay.state(self._agent)
        path, text, summary = (call.arguments.get(name, "") for name in ("path", "text", "summary"))
        if not (isinstance(path, str) and isinstance(text, str) and isinstance(summary, str)):
            return FileResult(code="bad_call")
        match call.name:
            case "list_files":
                return list_files(state)
            case "read_file":
                return read_file(state, path, self._rules)
            case "update_file":
                return update_file(state, path, text, summary, read=self._read, rules=self._rules)
        return FileResult(code="bad_call")
