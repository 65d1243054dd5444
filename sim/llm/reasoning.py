"""A model's reasoning kept apart from its answer, whether the server gives it in a field or leaves it in the text."""

import re

_BLOCK = re.compile(r"<think(?:ing)?>(.*?)</think(?:ing)?>", re.DOTALL)
_OPEN = re.compile(r"<think(?:ing)?>")
_CLOSE = re.compile(r"</think(?:ing)?>")


def apart(text: str, reasoning: str) -> tuple[str, str]:
    """Answer and reasoning. What stands in `<think>…</think>` is no part of the answer.

    Some chat templates open the block in the prompt, so that the text holds its end alone; a block that never ends was
    cut off, and no answer follows it. A text without such marks stays as it is.
    """
    thoughts = [block.strip() for block in _BLOCK.findall(text)]
    answer = _BLOCK.sub("", text)
    if end := _CLOSE.search(answer):
        thoughts.insert(0, answer[: end.start()].strip())
        answer = answer[end.end() :]
    if begin := _OPEN.search(answer):
        thoughts.append(answer[begin.end() :].strip())
        answer = answer[: begin.start()]
    if answer == text:
        return text, reasoning
    return answer.strip(), "\n\n".join(thought for thought in (reasoning.strip(), *thoughts) if thought)
