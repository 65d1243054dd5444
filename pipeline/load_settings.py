"""Settings from a YAML file and key=value words: read, merged, checked, with errors that name key, value and remedy."""

import difflib
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from pipeline.settings import RunSettings

HIDDEN = {
    "key_env": "must be the NAME of an environment variable in capitals, such as MY_SERVER_KEY; never the key itself",
    "base_url": "must be an http(s) address without user, password or query, such as http://host:8000/v1",
}
"""Settings whose wrong values are not shown, since they may hold a secret."""
CHANGEABLE = ("serving", "cluster", "limits", "logging", "sim.scheduling", "rounds", "steps")
"""What may differ when a run goes on; nothing here changes what a given journal leads to."""


class SettingsError(ValueError):
    """Settings that can't be used; the text says what to change."""


def load_settings(path: Path, overrides: Sequence[str] = ()) -> RunSettings:
    """The settings of a file with `a.b=value` words laid over it. Raises SettingsError."""
    values = _read_yaml(path)
    for word in overrides:
        _lay_over(values, word)
    return check_settings(values, str(path))


def check_settings(values: Mapping[str, Any], source: str) -> RunSettings:
    """Typed settings of plain values. Raises SettingsError naming each wrong key."""
    try:
        return RunSettings.model_validate(values)
    except ValidationError as error:
        lines = [_explain(problem, values) for problem in error.errors()]
        raise SettingsError(f"{source}: " + "\n  ".join(["settings are wrong", *lines])) from error


def dump_settings(settings: RunSettings) -> str:
    """The resolved settings as YAML."""
    return yaml.safe_dump(settings.model_dump(mode="json"), sort_keys=False, allow_unicode=True)


def refused_changes(before: RunSettings, now: RunSettings) -> list[str]:
    """Differences to an existing run that would change its results, as lines `key: old → new`."""
    old, new = flat_settings(before.model_dump(mode="json")), flat_settings(now.model_dump(mode="json"))
    return [
        f"{key}: {old.get(key)!r} → {new.get(key)!r}"
        for key in sorted({*old, *new})
        if old.get(key) != new.get(key) and not _is_changeable(key)
    ]


def results_settings(settings: RunSettings) -> dict[str, Any]:
    """The settings that decide results, flat and sorted; their digest stands in manifests."""
    flat = flat_settings(settings.model_dump(mode="json"))
    return {key: flat[key] for key in sorted(flat) if not _is_changeable(key) and key != "run_dir"}


def _is_changeable(key: str) -> bool:
    return key == "run_dir" or any(key == part or key.startswith(f"{part}.") for part in CHANGEABLE)


def _read_yaml(path: Path) -> dict[str, Any]:
    if not path.is_file():
        near = sorted(str(other) for other in path.parent.glob("*.yaml")) if path.parent.is_dir() else []
        raise SettingsError(f"no settings file {path}; there are: {', '.join(near) or 'none in that folder'}")
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is no valid YAML: {error}") from error
    if not isinstance(values, dict):
        raise SettingsError(f"{path} must hold `key: value` lines, found {type(values).__name__}")
    return values


def _lay_over(values: dict[str, Any], word: str) -> None:
    key, sign, text = word.partition("=")
    if not sign or not key.strip():
        raise SettingsError(f"{word!r} is no `key=value` setting, such as seed=7 or sim.time.n_year=2")
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SettingsError(f"{word!r}: the value is no valid YAML ({error}); quote it") from error
    *parents, last = key.strip().split(".")
    place = values
    for depth, parent in enumerate(parents, start=1):
        inner = place.setdefault(parent, {})
        if not isinstance(inner, dict):
            raise SettingsError(f"{word!r}: {'.'.join(parents[:depth])} is a value, not a section")
        place = inner
    place[last] = value


def _explain(problem: Any, values: Mapping[str, Any]) -> str:
    location = [str(part) for part in problem["loc"]]
    key = ".".join(location) or "settings"
    if problem["type"] == "extra_forbidden":
        valid = _keys_at(location[:-1])
        near = difflib.get_close_matches(location[-1], valid, n=1, cutoff=0.0)
        hint = f"did you mean {'.'.join([*location[:-1], near[0]])}?" if near else "remove it"
        return f"{key} = {problem['input']!r}: no such setting; {hint}"
    if problem["type"] == "missing":
        return f"{key}: is required; set it in the file or as {key}=VALUE"
    message = problem["msg"].removeprefix("Value error, ")
    if location and location[-1] in HIDDEN:
        return f"{key}: {HIDDEN[location[-1]]}"
    if isinstance(problem["input"], Mapping) or not location:
        return f"{key}: {message}" if location else message
    return f"{key} = {problem['input']!r}: {message}"


def _keys_at(location: Sequence[str]) -> list[str]:
    """Valid keys of a section, found by walking the schema along a path."""
    model: Any = RunSettings
    for part in location:
        field = model.model_fields.get(part) if _is_model(model) else None
        annotation = field.annotation if field is not None else model
        model = _model_inside(annotation)
        if model is None:
            return []
    return sorted(model.model_fields) if _is_model(model) else []


def _model_inside(annotation: Any) -> Any:
    if _is_model(annotation):
        return annotation
    if typing.get_origin(annotation) in (typing.Union, types.UnionType, dict):
        return next((found for arg in typing.get_args(annotation) if (found := _model_inside(arg)) is not None), None)
    return None


def _is_model(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseModel)


def flat_settings(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested values by dotted keys."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and value:
            flat.update(flat_settings(value, f"{name}."))
        else:
            flat[name] = value
    return flat
