"""Makes a valid, plausible value for any JSON schema from a seeded generator; property names say what to write."""

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from sim.llm.json_reader import check
from sim.llm.scripted_pattern import text_like
from sim.llm.scripted_words import Words

Schema = Mapping[str, Any]

LONGEST_TEXT = 600
MORE_ITEMS = 3
TRIES = 30
RARE = 0.1
LIKELY = 0.85
AGREES = 0.75
MONEY = 1000
"""Ranges wider than this are taken as amounts: small ones are more frequent."""


class Maker:
    """Makes values for one answer."""

    def __init__(self, rng: random.Random, words: Words, root: Schema, *, brief: bool = False) -> None:
        """`root` is the whole schema, where `$ref` points; `brief` makes the shortest texts and lists."""
        self._rng = rng
        self._words = words
        self._root = root
        self._brief = brief

    def value(self, schema: Schema | bool, hint: str = "") -> Any:
        """A value that is valid by the schema."""
        if isinstance(schema, bool):
            return self._words.text(self._rng, hint, LONGEST_TEXT, brief=True)
        schema = self._merged(schema)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._choice(schema["enum"], hint)
        for choice in ("anyOf", "oneOf"):
            if choice in schema:
                return self._alternative(schema, schema[choice], hint)
        return self._typed(schema, self._type_of(schema, hint), hint)

    def _typed(self, schema: Schema, kind: str, hint: str) -> Any:
        match kind:
            case "null":
                return None
            case "boolean":
                return self._rng.random() < self._odds(hint)
            case "integer":
                return self._integer(schema)
            case "number":
                return self._number(schema)
            case "array":
                return self._array(schema, hint)
            case "object":
                return self._object(schema, hint)
            case _:
                return self._string(schema, hint)

    def _merged(self, schema: Schema) -> Schema:
        """The schema with references followed and `allOf` joined."""
        while "$ref" in schema or "allOf" in schema:
            merged = {name: item for name, item in schema.items() if name not in ("$ref", "allOf")}
            parts: list[Schema] = list(schema.get("allOf", ()))
            if "$ref" in schema:
                parts.append(self._referred(schema["$ref"]))
            for part in parts:
                merged = _joined(merged, part)
            schema = merged
        return schema

    def _referred(self, address: str) -> Schema:
        if not address.startswith("#"):
            raise ValueError(f"$ref {address!r}: only references into the same schema are known")
        found: Any = self._root
        for step in address.removeprefix("#").strip("/").split("/"):
            found = found[step.replace("~1", "/").replace("~0", "~")] if step else found
        return found

    def _type_of(self, schema: Schema, hint: str) -> str:
        kind = schema.get("type")
        if isinstance(kind, str):
            return kind
        if kind:
            rarely = self._words.rare(hint) and "null" in kind and self._rng.random() >= RARE
            return "null" if rarely else self._rng.choice(list(cast(Sequence[str], kind)))
        signs = {"object": ("properties", "required", "additionalProperties"), "array": ("items", "prefixItems")}
        signs |= {"integer": ("minimum", "maximum", "multipleOf")}
        return next((name for name, keys in signs.items() if any(key in schema for key in keys)), "string")

    def _odds(self, hint: str) -> float:
        name = hint.rsplit(".", 1)[-1]
        return RARE if self._words.rare(name) else LIKELY if self._words.likely(name) else 0.5

    def _choice(self, options: Sequence[Any], hint: str) -> Any:
        """One of the listed values: as a rule `nothing` where what is named happens seldom, and yes rather than no."""
        name = hint.rsplit(".", 1)[-1]
        nothing = [option for option in options if self._words.is_nothing(option)]
        others = [option for option in options if not self._words.is_nothing(option)]
        if nothing and others:
            odds = RARE if self._words.rare(name) else AGREES if len(options) == 2 else len(others) / len(options)
            options = others if self._rng.random() < odds else nothing
        power = 2 if self._words.early(name) else 1
        return options[int(len(options) * self._rng.random() ** power)]

    def _alternative(self, schema: Schema, options: Sequence[Schema], hint: str) -> Any:
        """A value of one alternative that is valid by the whole schema."""
        outer = {name: item for name, item in schema.items() if name not in ("anyOf", "oneOf")}
        fixed = [names_in(self._merged(option)) for option in options]
        weights = [RARE if any(map(self._words.rare, names)) else 1.0 for names in fixed]
        for _ in range(TRIES):
            option = self._rng.choices(list(options), weights)[0]
            value = self.value(_joined(outer, option), hint)
            if (
                len(options) == 1
                or "oneOf" not in schema
                or check(value, {**schema, "$defs": self._definitions()}) is None
            ):
                return value
        raise ValueError(f"the scripted model finds no value for the alternatives at {hint or 'the root'}: {schema}")

    def _definitions(self) -> Any:
        return self._root.get("$defs", {})

    def _bounds(self, schema: Schema) -> tuple[float, float]:
        low = schema.get("minimum", schema.get("exclusiveMinimum"))
        high = schema.get("maximum", schema.get("exclusiveMaximum"))
        if low is None:
            low = 0 if high is None or high >= 0 else high - 100
        return low, low + 100 if high is None else high

    def _draw(self, low: float, high: float) -> float:
        """Around zero where the range holds it inside, mostly small for amounts, else even."""
        if low < -0.5 and high > 0.5:
            return min(high, max(low, self._rng.gauss(0.1 * high, max(1.5, (high - low) / 25))))
        if high - low > MONEY:
            return low + (high - low) * self._rng.random() ** 4
        return self._rng.uniform(low, high)

    def _integer(self, schema: Schema) -> int:
        low, high = self._bounds(schema)
        first, last = math.ceil(low), math.floor(high)
        if "minimum" not in schema and first == schema.get("exclusiveMinimum"):
            first += 1
        if "maximum" not in schema and last == schema.get("exclusiveMaximum"):
            last -= 1
        step = int(schema.get("multipleOf", 1))
        first = -(-first // step) * step
        last = last // step * step
        if first > last:
            raise ValueError(f"no whole number is allowed by {schema}")
        drawn = round(self._draw(first - 0.49, last + 0.49) / step) * step
        return min(last, max(first, drawn))

    def _number(self, schema: Schema) -> float:
        low, high = self._bounds(schema)
        if "multipleOf" in schema:
            return schema["multipleOf"] * self._integer(
                {"minimum": math.ceil(low / schema["multipleOf"]), "maximum": math.floor(high / schema["multipleOf"])}
            )
        for _ in range(TRIES):
            value = self._draw(low, high)
            value = round(value, 2) if low <= round(value, 2) <= high else value
            if value not in (schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")):
                return value
        raise ValueError(f"no number is allowed by {schema}")

    def _string(self, schema: Schema, hint: str) -> str:
        shortest, longest = (
            schema.get("minLength", 0),
            schema.get("maxLength", max(LONGEST_TEXT, schema.get("minLength", 0))),
        )
        if "pattern" in schema:
            for _ in range(TRIES):
                text = text_like(schema["pattern"], self._rng)
                if shortest <= len(text) <= longest:
                    return text
            raise ValueError(
                f"the scripted model finds no text of {shortest}..{longest} characters like {schema['pattern']}"
            )
        text = self._words.text(self._rng, hint, longest, brief=self._brief)
        while len(text) < shortest:
            text = (text + " " + self._words.text(self._rng, "", LONGEST_TEXT, brief=True))[:longest]
        return text

    def _many(self, low: int, high: int, hint: str) -> int:
        """How many: the least, seldom more, and hardly ever more of what happens seldom."""
        many, odds = low, RARE if self._words.rare(hint.rsplit(".", 1)[-1]) else 0.6
        while not self._brief and many < min(high, low + MORE_ITEMS) and self._rng.random() < odds:
            many += 1
        return many

    def _array(self, schema: Schema, hint: str) -> list[Any]:
        first: Sequence[Schema] = schema.get("prefixItems", ())
        rest: Schema | bool = schema.get("items", True)
        low = schema.get("minItems", 0)
        high = schema.get("maxItems", low + MORE_ITEMS if rest is not False else len(first))
        values: list[Any] = []
        seen: set[bytes] = set()
        many, tries = self._many(max(low, min(len(first), high)), high, hint), 0
        while len(values) < many and tries < TRIES * (many + 1):
            tries += 1
            value = self.value(first[len(values)] if len(values) < len(first) else rest, hint)
            mark = msgspec.json.encode(value, order="deterministic")
            if mark not in seen or (not schema.get("uniqueItems") and tries > TRIES):
                values.append(value)
                seen.add(mark)
        if len(values) < low:
            raise ValueError(f"the scripted model finds no {low} different items at {hint or 'the root'}")
        return values

    def _object(self, schema: Schema, hint: str) -> dict[str, Any]:
        required = schema.get("required", ())
        value: dict[str, Any] = {}
        properties: Mapping[str, Schema] = schema.get("properties", {})
        for name, item in properties.items():
            if name in required or (not self._brief and self._rng.random() < self._odds(name)):
                value[name] = self.value(item, f"{hint}.{name}")
        others = schema.get("additionalProperties", True)
        least = schema.get("minProperties", 0)
        for name in self._further_names(schema, value, required, least, others is not True):
            value[name] = self.value(others, f"{hint}.{name}")
        return value

    def _further_names(
        self, schema: Schema, value: Mapping[str, Any], required: Sequence[str], least: int, described: bool
    ) -> list[str]:
        """Names of properties that the schema does not list: required ones, and some where it says what they hold."""
        missing = [name for name in required if name not in value]
        if schema.get("additionalProperties") is False:
            return missing
        low = max(0, least - len(value) - len(missing))
        high = schema.get("maxProperties", len(value) + len(missing) + low + MORE_ITEMS) - len(value) - len(missing)
        names = list(missing)
        for _ in range(TRIES * (low + 1)):
            if len(names) - len(missing) >= (self._many(low, high, "") if described else low):
                break
            name = str(self.value({"type": "string", "maxLength": 40, **schema.get("propertyNames", {})}, "skill"))
            if name not in names and name not in value:
                names.append(name)
        return names


def names_in(schema: Schema) -> list[str]:
    """Texts that a schema or its properties fix: they tell what kind of value it describes."""
    properties: Mapping[str, Schema] = schema.get("properties", {})
    names: list[Any] = []
    for fixed in (schema, *properties.values()):
        listed: Sequence[Any] = fixed.get("enum", ())
        names += [fixed["const"]] if "const" in fixed else listed if len(listed) == 1 else []
    return [name for name in names if isinstance(name, str)]


def _joined(first: Schema, second: Schema) -> dict[str, Any]:
    """Both schemas at once, as far as their keywords differ or are lists of properties."""
    joined = {**first, **second}
    if "properties" in first and "properties" in second:
        joined["properties"] = {**first["properties"], **second["properties"]}
    if "required" in first and "required" in second:
        joined["required"] = [*first["required"], *(n for n in second["required"] if n not in first["required"])]
    return joined
