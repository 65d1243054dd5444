"""Reads one JSON object out of a model's text and checks it by its schema.

Exact reading comes first; then only repairs that leave the content as written: text or code fences around one object,
smart, single and full-width quotes and punctuation as delimiters, comments, trailing commas, raw control characters,
and one missing final brace where the answer was not cut off. Whatever is ambiguous is refused.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, cast

import msgspec
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, relevance

from sim.llm.outcome import Refusal

MAX_DEPTH = 64
MAX_DIGITS = 308
MAX_DETAIL = 300

_BRACE = re.compile(r"[{｛]")
_BRACKETS = re.compile(r"[{}\[\]]")
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_TOKENS = r"""(?P<blank>\s+|//[^\n]*|/\*.*?\*/|\#[^\n]*)
    | (?P<string>"[^"\\]*(?:\\.[^"\\]*)*")
    | (?P<smart>[“”„][^“”„"\\]*(?:\\.[^“”„"\\]*)*[“”„]|＂[^＂"\\]*(?:\\.[^＂"\\]*)*＂
        |「[^「」"\\]*(?:\\.[^「」"\\]*)*」)
    | (?P<single>%s)
    | (?P<mark>[{}\[\],:｛｝［］，：])
    | (?P<word>[^\s{}\[\],:"“”„＂「｛｝［］，：%s]+)
    | (?P<other>.)"""
_TOKEN = re.compile(_TOKENS % ("(?!)", ""), re.DOTALL | re.VERBOSE)
_TOKEN_OF_SINGLE_QUOTES = re.compile(
    _TOKENS % (r"'[^'\\]*(?:\\.[^'\\]*)*'|[‘’][^‘’\\]*(?:\\.[^‘’\\]*)*[‘’]", "'‘’"), re.DOTALL | re.VERBOSE
)
"""Tokens of an object whose first name stands in single quotes, as in Python."""
_SINGLE_QUOTES = re.compile(r"[{｛]\s*['‘’]")
_IN_SINGLE_QUOTES = re.compile(r"""\\.|\"""", re.DOTALL)
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}
_FENCED = re.compile(r"```[\w-]*[ \t]*\r?\n(.*?)\r?\n?[ \t]*```", re.DOTALL)
_CONTENT = frozenset({"enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
"""Rules of a schema that are about what was chosen among what the world offers; all others are about form."""
_ASCII = {"｛": "{", "｝": "}", "［": "[", "］": "]", "，": ",", "：": ":"}
_CLOSER = {"{": "}", "[": "]"}


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """An object as read; `repaired` tells that the text was no plain JSON object."""

    value: dict[str, Any]
    repaired: bool


class _Span(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of text from an opening brace on, in plain JSON delimiters."""

    text: str
    end: int
    open: tuple[str, ...]
    """Closing marks still missing at the end of the text."""
    like_object: bool
    """The brace is followed by a string or the closing brace, as in JSON and not as in prose."""


def read_object(text: str, *, complete: bool = True) -> Reading | Refusal:
    """The one object in a text; `complete` is false where the answer was cut off by its length."""
    if _has_lone_surrogate(text):
        return _malformed("unicode", "the text has characters that are no valid Unicode")
    stripped = text.strip().removeprefix("\ufeff").strip()
    exact = _exact(stripped)
    if exact is not None:
        return exact
    refusal: Refusal | None = None
    for candidate in _candidates(stripped):
        found = _search(candidate, complete)
        if isinstance(found, Reading):
            return found
        refusal = refusal or found
    return refusal or _malformed("no_object", "no JSON object")


def check(value: Any, schema: Mapping[str, Any]) -> Refusal | None:
    """What is wrong with a value by its JSON schema, or None."""
    errors: list[ValidationError] = list(_validator(msgspec.json.encode(schema)).iter_errors(value))  # pyright: ignore
    if not errors:
        return None
    worst = _deepest(max(errors, key=relevance))
    return Refusal(
        kind="invalid" if worst.validator in _CONTENT else "malformed",
        text=_clipped(f"{worst.json_path}: {worst.message}"),
        code="schema",
        detail=_clipped(_broken_rule(worst)),
    )


def read_checked(text: str, schema: Mapping[str, Any], *, complete: bool = True) -> Reading | Refusal:
    """The one object in a text, valid by the schema."""
    reading = read_object(text, complete=complete)
    if isinstance(reading, Refusal):
        return reading
    return check(reading.value, schema) or reading


def _broken_rule(error: ValidationError) -> str:
    """Where and which rule of the schema, such as `$.plan: maxLength 50`; of the fields, those that are missing."""
    rule: Any = error.validator_value
    if error.validator == "required":
        rule = [name for name in rule if name not in cast(Mapping[str, Any], error.instance)]
    return f"{error.json_path}: {error.validator} {json.dumps(rule, ensure_ascii=False)}"


def _deepest(error: ValidationError) -> ValidationError:
    """Below a choice between schemas, the error of the alternative that fits best; else the error itself."""
    while error.context:
        by_alternative: dict[Any, list[ValidationError]] = {}
        for inner in error.context:
            by_alternative.setdefault(inner.schema_path[0], []).append(inner)
        error = max(min(by_alternative.values(), key=len), key=lambda inner: len(inner.path))
    return error


@lru_cache(maxsize=512)
def _validator(schema: bytes) -> Draft202012Validator:
    return Draft202012Validator(msgspec.json.decode(schema))


def _candidates(text: str) -> Iterator[str]:
    """The text, then the inside of its only code fence."""
    yield text
    fenced = _FENCED.findall(text)
    if len(fenced) == 1:
        yield fenced[0].strip()


def _exact(text: str) -> Reading | Refusal | None:
    """A plain JSON object; a refusal for other plain JSON values; None if a lenient reading should be tried."""
    if _depth(text) > MAX_DEPTH:
        return _malformed("too_deep", f"nested deeper than {MAX_DEPTH}", str(MAX_DEPTH))
    value = _load(text, strict=True)
    if isinstance(value, dict):
        return _encodable(Reading(value=cast(dict[str, Any], value), repaired=False))
    if isinstance(value, _Broken) and not text.startswith(("[", "［")):
        return None
    return _malformed("no_object", "a JSON object is needed, not a list or a single value")


def _search(text: str, complete: bool) -> Reading | Refusal:
    """The only object among braces in a text."""
    found: list[dict[str, Any]] = []
    at = 0
    while (brace := _BRACE.search(text, at)) is not None:
        span = _scan(text, brace.start())
        if isinstance(span, Refusal):
            return span
        at = span.end
        source = span.text
        if span.open:
            if not _only_final_brace_missing(span, complete):
                return _malformed("unended", "the JSON object does not end")
            source += "}"
        value = _load(source, strict=False)
        if isinstance(value, dict):
            found.append(cast(dict[str, Any], value))
        elif span.like_object or span.open:
            return _broken(value) if isinstance(value, _Broken) else _malformed("no_object", "no JSON object")
    if not found:
        return _malformed("no_object", "no JSON object")
    if any(other != found[0] for other in found[1:]):
        return _malformed("several", "several different JSON objects")
    return _encodable(Reading(value=found[0], repaired=True))


def _only_final_brace_missing(span: _Span, complete: bool) -> bool:
    return complete and span.open == ("}",) and span.text.rstrip()[-1] not in ",:{"


def _scan(text: str, start: int) -> _Span | Refusal:
    """Follow the tokens from an opening brace to its end; delimiters become plain, trailing commas go."""
    tokens: list[str] = []
    open_marks: list[str] = []
    at = start
    like_object = False
    single = _SINGLE_QUOTES.match(text, start) is not None
    reader = _TOKEN_OF_SINGLE_QUOTES if single else _TOKEN
    while at < len(text):
        match = cast(re.Match[str], reader.match(text, at))
        at = match.end()
        if match.lastgroup == "blank":
            continue
        token = _plain(match, single)
        if token == '"':
            return _malformed("unended", "a string does not end")
        if len(tokens) == 1:
            like_object = token[0] in '"}'
        if token in _CLOSER:
            open_marks.append(_CLOSER[token])
            if len(open_marks) > MAX_DEPTH:
                return _malformed("too_deep", f"nested deeper than {MAX_DEPTH}", str(MAX_DEPTH))
        elif open_marks and token == open_marks[-1]:
            open_marks.pop()
            if tokens[-1] == ",":
                tokens.pop()
        tokens.append(token)
        if not open_marks:
            break
    return _Span(text=" ".join(tokens), end=at, open=tuple(open_marks), like_object=like_object)


def _plain(match: re.Match[str], single: bool) -> str:
    """A token with ASCII delimiters; a string keeps its inside."""
    token = match.group()
    if match.lastgroup == "smart":
        return f'"{token[1:-1]}"'
    if match.lastgroup == "single":
        return f'"{_IN_SINGLE_QUOTES.sub(_as_in_json, token[1:-1])}"'
    if single and match.lastgroup == "word":
        return _PYTHON_WORDS.get(token, token)
    return _ASCII.get(token, token)


def _as_in_json(match: re.Match[str]) -> str:
    """An escape or a quote of a string in single quotes as JSON writes it."""
    return {"\\'": "'", '"': '\\"'}.get(match.group(), match.group())


class _Broken(msgspec.Struct, frozen=True, kw_only=True):
    """Not JSON, and why; `near` is the text around the fault."""

    why: str
    near: str = ""


def _load(text: str, *, strict: bool) -> Any:
    """The decoded value, or _Broken."""
    try:
        return json.loads(
            text,
            strict=strict,
            object_pairs_hook=_object,
            parse_constant=_no_constant,
            parse_float=_number,
            parse_int=_integer,
        )
    except json.JSONDecodeError as error:
        near = text[max(0, error.pos - 20) : error.pos + 20]
        return _Broken(why=f"{error.msg} near {near!r}", near=near)
    except (ValueError, RecursionError) as error:
        return _Broken(why=str(error))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for name, item in pairs:
        if name in value and value[name] != item:
            raise ValueError(f"{name!r} stands twice with different values")
        value[name] = item
    return value


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON number")


def _number(text: str) -> float | int:
    """A number without a fraction is a whole one, so that 3.0 serves where a whole number is required."""
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"the number {text[:20]} is too large")
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"the number {text[:20]}… is too large")
    return int(text)


def _depth(text: str) -> int:
    """Deepest nesting of brackets outside strings; 0 where there are too few brackets for it to matter."""
    if text.count("{") + text.count("[") <= MAX_DEPTH:
        return 0
    depth = deepest = 0
    for mark in _BRACKETS.findall(_STRING.sub("", text)):
        depth += 1 if mark in "{[" else -1
        deepest = max(deepest, depth)
    return deepest


def _encodable(reading: Reading) -> Reading | Refusal:
    """The reading, unless an escape made a character that can't be written as UTF-8."""
    if _has_lone_surrogate(json.dumps(reading.value, ensure_ascii=False)):
        return _malformed("unicode", "a \\u escape makes no valid character")
    return reading


def _has_lone_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _malformed(code: str, text: str, detail: str = "") -> Refusal:
    return Refusal(kind="malformed", text=_clipped(text), code=code, detail=_clipped(detail))


def _broken(broken: _Broken) -> Refusal:
    return _malformed("syntax", broken.why, broken.near)


def _clipped(text: str) -> str:
    return text if len(text) <= MAX_DETAIL else text[: MAX_DETAIL - 1] + "…"
