"""Settings of a simulation: lengths, limits, token budgets, economy, reward (SPEC 1-7). Defaults are the paper's."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]


class Settings(BaseModel):
    """Base of every settings section: unknown keys are refused, values never change, docstrings are the manual."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False)


class TimeSettings(Settings):
    """How long a run is (SPEC section 1)."""

    n_year: Annotated[int, Field(ge=1, le=1000)] = 10
    """Simulated years."""
    n_week: Annotated[int, Field(ge=1, le=60)] = 10
    """Weeks of a year."""
    n_day: Annotated[int, Field(ge=1, le=7)] = 5
    """Activity days of a week."""
    n_contact: Annotated[int, Field(ge=1, le=20)] = 5
    """Contact rounds of a week."""


class LimitSettings(Settings):
    """Counts that bound what agents and environment may do (SPEC sections 2-6)."""

    actions_per_round: Positive = 10
    """Contact actions of one agent in one round; the rest are refused."""
    weeks_ahead: Count = 4
    """How many weeks ahead a joint activity may be proposed."""
    turns_min: Positive = 5
    """Turns before the environment may end a joint activity or encounter."""
    turns_max: Positive = 20
    """Turns after which a joint activity or encounter ends."""
    tool_rounds: Positive = 8
    """Rounds of memory functions in one invocation; the last one allows text only."""
    structure_attempts: Annotated[int, Field(ge=1, le=10)] = 3
    """Tries at an answer of the required form, before the stage's safe default."""
    events_per_week: Count = 10
    """Public events that the environment may make in a week."""
    event_weeks: Positive = 5
    """Longest duration of a public event in weeks."""
    possessions: Positive = 50
    """Possessions an agent may keep; more are discarded at the week's end."""
    rated_people: Positive = 20
    """People an agent scores at judging: the most recently related."""
    met_people: Positive = 10
    """Most recently met people that encounters and new colleagues look at."""
    wishes: Annotated[int, Field(ge=1, le=5)] = 3
    """Ranked position wishes, and rounds of matching."""
    purchase_options: Positive = 4
    """Offers shown to an agent that wants to spend."""
    trait_change_per_year: Count = 3
    """Largest yearly change of a personality trait."""
    talent_change_per_year: Count = 5
    """Largest yearly change of a talent."""


class WindowSettings(Settings):
    """How far short-term memory reaches (SPEC section 2)."""

    diary_weeks: Positive = 5
    """Weekly diaries kept in the prompt; older ones are folded into summaries."""
    record_weeks: Positive = 2
    """Weeks of activity records."""
    contact_weeks: Positive = 3
    """Weeks of contact history."""


class BudgetSettings(Settings):
    """Token budgets of a prompt's sections (SPEC section 3); counted with the model's tokenizer."""

    context: Positive = 32768
    """max_model_len: prompt and answer together."""
    head: Positive = 3200
    """Worldview, rules, principles, output rules."""
    profile: Positive = 1500
    """Persona."""
    memory: Positive = 4000
    """Summaries of long-term memory files."""
    memory_people: Positive = 50
    """People whose memory summaries may stand in the prompt."""
    diaries: Positive = 4000
    """Weekly diaries and folded summaries."""
    stage: Positive = 6000
    """The stage prompt: instructions, state, schedule, records, partners."""
    history: Positive = 8000
    """Dialogue and function calls inside one stage; oldest turns drop first."""
    file: Positive = 600
    """One memory file; a longer text is refused with the limit named."""
    summary: Positive = 80
    """Summary of one memory file in the prompt."""


class AnswerSettings(Settings):
    """Longest answers in tokens (SPEC section 9: a truncated answer is never trained on)."""

    long: Positive = 1500
    """Plans, diaries, profile updates."""
    medium: Positive = 800
    """Contact rounds, analyses, reflections, feedback, event lists."""
    short: Positive = 400
    """Dialogue turns, solo actions, scores, choices."""
    temperature: Annotated[float, Field(ge=0.0, le=2.0)] = 1.0
    """Sampling temperature of the role-players."""
    environment_temperature: Annotated[float, Field(ge=0.0, le=2.0)] = 0.7
    """Sampling temperature of the environment model."""
    top_p: Annotated[float, Field(gt=0.0, le=1.0)] = 1.0
    """Nucleus sampling of both."""
    thinking: bool = False
    """The model reasons before it answers; the reasoning is compacted to ~200 words for later context."""
    thinking_tokens: Count = 4000
    """With `thinking`: tokens for the reasoning, beside those for the answer."""
    text_chars: Positive = 2000
    """Longest free text in characters that the grammar allows in an answer's field."""

    @property
    def reasoning_room(self) -> int:
        """Tokens that every call may take for reasoning."""
        return self.thinking_tokens if self.thinking else 0

    @property
    def longest(self) -> int:
        """Tokens that no call goes beyond, with its reasoning."""
        return max(self.long, self.medium, self.short) + self.reasoning_room

    @property
    def template_options(self) -> dict[str, bool]:
        """What chat templates are told, by serving and training alike; templates that know no such switch ignore it."""
        return {"enable_thinking": self.thinking}


class EconomySettings(Settings):
    """Money and fulfilment (SPEC sections 4, 5)."""

    decay: Share = 0.15
    """Weekly decay of mood, social and esteem."""
    unemployed_income: Count = 100
    """Weekly income without a position."""
    max_salary: Positive = 500
    """Highest weekly income of a position."""
    max_price: Positive = 15000
    """Dearest thing on offer."""
    encounter_share: Positive = 5
    """One encounter per this many idle agents and day."""


class RewardSettings(Settings):
    """Life reward (SPEC section 7)."""

    alpha: Annotated[float, Field(ge=0.0)] = 2.0
    """Weight of mutual regard in the social reward."""
    damping: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.85
    """PageRank damping."""
    tolerance: Annotated[float, Field(gt=0.0)] = 1e-9
    """PageRank convergence."""
    penalty: Annotated[float, Field(ge=0.0)] = 5.0
    """Subjective penalty per week and quantity in the lowest quarter."""
    social: Share = 0.4
    """Weight of the social z-score."""
    subjective: Share = 0.4
    """Weight of the subjective z-score."""
    economic: Share = 0.2
    """Weight of the economic z-score."""


class PromptSettings(Settings):
    """How prompts are written."""

    profile: Literal["full", "short"] = "full"
    """`short` leaves out what a weak model can't use and asks for brief, constrained answers."""
    tools: Literal["all", "review", "none"] = "all"
    """Where memory functions are on offer: all stages, the review only, or nowhere (for models that can't use them)."""
    check_principles: bool = True
    """Check dialogue responses against the 16 principles."""


class SchedulingSettings(Settings):
    """When units of work start; never what they do (SPEC section 12)."""

    barriers: bool = False
    """Wait for everybody after every stage. Same results, slower; for comparison and debugging."""
    max_in_flight: Positive = 512
    """Units of one world at work at the same time."""


class SimSettings(Settings):
    """Everything that decides a simulated life, apart from the world's text and the model."""

    n_agents: Annotated[int, Field(ge=1, le=100_000)] = 100
    """Agents: the first of the world's cast."""
    time: TimeSettings = TimeSettings()
    """Length of years, weeks and stages."""
    limits: LimitSettings = LimitSettings()
    """Counts."""
    windows: WindowSettings = WindowSettings()
    """Reach of short-term memory."""
    budgets: BudgetSettings = BudgetSettings()
    """Tokens per prompt section."""
    answers: AnswerSettings = AnswerSettings()
    """Lengths and sampling of answers."""
    economy: EconomySettings = EconomySettings()
    """Money and fulfilment."""
    reward: RewardSettings = RewardSettings()
    """Life reward."""
    prompts: PromptSettings = PromptSettings()
    """Prompt style."""
    scheduling: SchedulingSettings = SchedulingSettings()
    """Barriers and concurrency."""

    @model_validator(mode="after")
    def _consistent(self) -> "SimSettings":
        if self.limits.turns_min > self.limits.turns_max:
            raise ValueError("limits.turns_min must not be above limits.turns_max")
        budgets, answers = self.budgets, self.answers
        parts = budgets.head + budgets.profile + budgets.memory + budgets.diaries + budgets.stage + budgets.history
        if parts + answers.longest > budgets.context:
            raise ValueError(
                f"budgets: the sections add up to {parts} tokens and the longest answer to {answers.longest}, more "
                f"than budgets.context = {budgets.context}; lower a section or raise the context"
            )
        return self
