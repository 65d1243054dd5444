"""The YAML files of a world → typed entries, in NFC.

What cannot be read (no UTF-8, a key twice, an unknown key, a value out of range) is a ValueError with file, key and
remedy.
"""

import difflib
import re
import unicodedata
from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_origin

import msgspec
import yaml

from sim.world import schema

if TYPE_CHECKING or not hasattr(yaml, "CSafeLoader"):
    from yaml import SafeLoader
else:  # the same by libyaml, ten times as fast
    from yaml import CSafeLoader as SafeLoader

T = TypeVar("T")

FILES = ("world.yaml", "locations.yaml", "positions.yaml", "prices.yaml", "names.yaml", "stories.yaml")
CHARACTERS = "characters"

_PLACE_IN_FILE = re.compile(r"^(?P<what>.*?)(?: - at `\$\.?(?P<key>[^`]*)`)?$", re.DOTALL)
_STEP = re.compile(r"[^.\[\]]+")
_UNKNOWN_KEY = re.compile(r"unknown field `(?P<key>[^`]*)`")
_ENTRIES = (
    schema.WorldEntry,
    schema.LocationEntry,
    schema.PositionEntry,
    schema.RequirementsEntry,
    schema.Price,
    schema.SpareName,
    schema.Story,
    schema.Character,
    schema.Belonging,
    schema.Home,
)
_KNOWN_KEYS = sorted({key for entry in _ENTRIES for key in entry.__struct_fields__})


class _Loader(SafeLoader):
    """YAML in which a key that stands twice is an error, not the last one's victory."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """The mapping; its keys are texts and differ."""
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        seen: set[str] = set()
        for key, (key_node, _) in zip(keys, node.value, strict=True):
            if not isinstance(key, str):
                raise yaml.MarkedYAMLError(problem=f"key {key!r} is no text", problem_mark=key_node.start_mark)
            form = unicodedata.normalize("NFC", key).strip()
            if form in seen:
                raise yaml.MarkedYAMLError(problem=f"key {key!r} stands twice", problem_mark=key_node.start_mark)
            seen.add(form)
        return super().construct_mapping(node, deep=deep)


def read_list(folder: Path, key: str, entry: type[T]) -> tuple[T, ...]:
    """The entries of `<key>.yaml`, which holds one list under the same key."""
    file = f"{key}.yaml"
    content = read_yaml(folder, file)
    if not isinstance(content, dict) or list(content) != [key]:
        raise ValueError(
            f"{folder}/{file}: {key}: the file must hold one list under the key `{key}:`, and no other key"
        )
    return _converted(folder, file, content[key], tuple[entry, ...], prefix=key)


def read_entry(folder: Path, file: str, entry: type[T]) -> T:
    """One file that holds one entry."""
    return _converted(folder, file, read_yaml(folder, file), entry, prefix="")


def read_yaml(folder: Path, file: str) -> Any:
    """A file's content as it is, all text in NFC and trimmed."""
    path = folder / file
    if not path.is_file():
        raise ValueError(f"{path}: missing; a world has {', '.join(FILES)} and {CHARACTERS}/<name>.yaml")
    try:
        return _normal(yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader))
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 at byte {error.start}; save it as UTF-8") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ValueError(f"{path}: line {line}: {error.problem}; correct the YAML there") from error
    except yaml.YAMLError as error:
        raise ValueError(f"{path}: {error}; correct the YAML there") from error


def _normal(value: Any) -> Any:
    """Text in NFC and trimmed, everywhere inside."""
    match value:
        case str():
            return unicodedata.normalize("NFC", value).strip()
        case dict():
            return {_normal(key): _normal(item) for key, item in value.items()}
        case list():
            return [_normal(item) for item in value]
        case _:
            return value


def _converted(folder: Path, file: str, content: Any, kind: type[T], prefix: str) -> T:
    """The content as its type, or a ValueError that names file, key and remedy."""
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        found = _PLACE_IN_FILE.match(str(error))
        what, inner = (found["what"], found["key"] or "") if found else (str(error), "")
        inner = _with_key(inner, content, kind)
        key = f"{prefix}{inner}" if inner.startswith("[") else ".".join(part for part in (prefix, inner) if part)
        raise ValueError(f"{folder}/{file}: {key or 'whole file'}: {what}; {_remedy(what)}") from error


def _with_key(path: str, content: Any, kind: Any) -> str:
    """The path with `[...]`, which stands for some item of a mapping, replaced by the key of the wrong item."""
    before, dots, after = path.partition("[...]")
    if not dots:
        return path
    for step in _STEP.findall(before):
        kind = get_args(kind)[0] if get_origin(kind) is Annotated else kind
        place = int(step) if step.isdigit() else step
        kind = get_args(kind)[0] if step.isdigit() else {f.name: f.type for f in msgspec.structs.fields(kind)}[step]
        content = content[place]
    of_key, of_value = get_args(kind)
    wrong = (key for key, value in content.items() if not (_fits(key, of_key) and _fits(value, of_value)))
    return f"{before}.{next(wrong, '?')}{after}"


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is of a type."""
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


def _remedy(what: str) -> str:
    """What to do about a value that is not as the schema wants it."""
    unknown = _UNKNOWN_KEY.search(what)
    if unknown:
        close = difflib.get_close_matches(unknown["key"], _KNOWN_KEYS, n=1)
        return f"did you mean `{close[0]}`?" if close else "remove it"
    if "missing required field" in what:
        return "add it"
    return "give a value of that kind and range"
