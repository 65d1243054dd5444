"""Renders a model's own chat template to text exactly as Hugging Face tokenizers and vLLM do, without importing them.

Every row that vLLM served proves it: training compares the digest of the ids made from this text with the server's.
"""

import datetime
import json
from collections.abc import Mapping, Sequence
from typing import Any, Never

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment


class _Generation(Extension):
    """Accepts `{% generation %}…{% endgeneration %}`, which marks answers in some templates, as plain text."""

    tags = {"generation"}  # noqa: RUF012  (the attribute that jinja reads)

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """The block's body itself."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class ChatTemplate:
    """A compiled chat template with the tokenizer's special tokens."""

    def __init__(
        self, source: str, special_tokens: Mapping[str, str], options: Mapping[str, Any] | None = None
    ) -> None:
        """Compile; ValueError if the text is no valid template. `options` are those that the server is given too."""
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, "jinja2.ext.loopcontrols"]
        )
        environment.filters["tojson"] = _tojson
        environment.globals |= {"raise_exception": _refuse, "strftime_now": _now}
        try:
            self._template = environment.from_string(source)
        except jinja2.TemplateSyntaxError as error:
            raise ValueError(f"the chat template is not valid ({error}); give a model with a working one") from error
        self._values = {**special_tokens, **(options or {})}

    def render(self, messages: Sequence[Mapping[str, str]], *, add_generation_prompt: bool) -> str:
        """The conversation as text; ValueError if the template refuses these messages."""
        try:
            return self._template.render(
                messages=[dict(message) for message in messages],
                tools=None,
                documents=None,
                add_generation_prompt=add_generation_prompt,
                **self._values,
            )
        except jinja2.TemplateError as error:
            roles = [message["role"] for message in messages]
            raise ValueError(f"the chat template refuses messages with the roles {roles}: {error}") from error


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _refuse(message: str) -> Never:
    raise jinja2.TemplateError(message)


def _now(form: str) -> str:
    return datetime.datetime.now().strftime(form)
