"""Pages as HTML. What is in them comes as values; what they link to comes from `Links`. Nothing here knows of HTTP."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from prd2pr import __version__
from prd2pr.core.board import charts, layout
from prd2pr.core.board.circuits import trees
from prd2pr.core.board.view import (
    BoardView,
    CircuitView,
    CostView,
    MetricsView,
    PhaseMeasure,
    PrdView,
    ProjectView,
    RunView,
    StoryView,
    WorkerView,
)
from prd2pr.core.board.words import cost, tries
from prd2pr.core.burndown import thinned
from prd2pr.core.picture_parts import BOARD_PHASES, Figure
from prd2pr.core.records import Spend
from prd2pr.core.wording import count, dollars, duration, moment, named, spans, token_count
from prd2pr.server.pages.links import SECTIONS, Links
from prd2pr.templating import Filters, environment

if TYPE_CHECKING:  # the static site has no orders, and needs no client
    from prd2pr.client.models import Asked

SHOWN_RUNS = 200
SHOWN_DAYS = 60
KINDS = {
    "model": "model",
    "recording": "recorded words of a model",
    "pool": "this server's own",
    "actions": "GitHub Actions",
    "plugin": "plugin",
}
CIRCUIT_TONES = {"closed": "proven", "half-open": "unproven", "open": "blocked"}
# Which events make a page look again.
TASKS = ("task_status_changed", "run_completed")
ORDERS = ("order_state_changed",)
ORDER_TONES = {"waiting": "unproven", "given": "unproven", "done": "proven", "refused": "refused", "failed": "blocked"}


@dataclass(frozen=True)
class Page:
    """What every page has besides its own."""

    title: str = ""
    section: str = "projects"
    is_section: bool = True  # not a page below it
    kinds: tuple[str, ...] = ()
    repo: str = ""  # only what happens in this one matters here
    visitor: str = "everybody"  # empty: not logged in
    csrf: str = ""  # empty: there is nothing to send
    log_in: str = ""  # where whoever looks without a token can bring one
    notice: str = ""
    now: str = ""
    policy: str = ""  # of a page that no server sends


@dataclass(frozen=True)
class Burning:
    repo: str
    prd: str
    title: str
    told: str
    chart: charts.LineChart


def weight(spend: Spend, by_money: bool) -> float:
    return (spend.usd or 0.0) if by_money else float(spend.tokens)


def part_of(value: float, whole: float, tone: str) -> tuple[charts.Segment, ...]:
    return (charts.Segment(0, charts.r(100 * value / whole), tone, ""),) if whole else ()


def first_tries(phase: PhaseMeasure) -> tuple[charts.Segment, ...]:
    later = phase.crossed - phase.at_first
    return charts.segments(
        (
            (phase.at_first, "proven", f"{phase.at_first} at the first attempt"),
            (later, "unproven", f"{later} after more than one"),
        )
    )


def board_link(name: str, links: Links) -> str:
    """`owner/repo:prd`, as costs name a PRD."""
    repo, _, prd = name.rpartition(":")
    return f"{links.board(repo)}#prd-{prd}"


def progress_of(it: ProjectView | PrdView | MetricsView) -> tuple[charts.Segment, ...]:
    return layout.progress(it.counts, it.proven)


FILTERS: Filters = {
    "spans": spans,
    "moment": moment,
    "count": count,
    "cost": cost,
    "tries": tries,
    "duration": duration,
    "progress": progress_of,
    "first_tries": first_tries,
    "part_of": part_of,
    "weight": weight,
    "board_link": board_link,
}


def render(template: str, links: Links, page: Page, **values: Any) -> str:
    found = environment(FILTERS).get_template(f"dashboard/{template}.html.j2")
    common = {"links": links, "page": page, "sections": SECTIONS, "phases": BOARD_PHASES, "version": __version__}
    tones = {"circuit_tones": CIRCUIT_TONES, "order_tones": ORDER_TONES}
    return found.render({**common, **tones, **values})


# --- pages ------------------------------------------------------------------------------------------------------------


def projects_page(links: Links, page: Page, projects: tuple[ProjectView, ...]) -> str:
    page = replace(page, title="Projects", section="projects", kinds=TASKS)
    return render("projects", links, page, projects=projects, total=overall(projects))


def board_page(links: Links, page: Page, board: BoardView) -> str:
    repo = board.project.repo
    page = replace(page, title=repo, section="projects", is_section=False, kinds=TASKS, repo=repo)
    several = len(board.project.prds) > 1
    return render("board", links, page, board=board, columns=layout.columns(board), several=several)


@dataclass(frozen=True)
class Orders:
    """What was ordered for what a page is about, and whether its visitor may order something."""

    given: tuple[Asked, ...] = ()
    may_order: bool = False


NO_ORDERS = Orders()


def story_page(links: Links, page: Page, story: StoryView, orders: Orders = NO_ORDERS) -> str:
    card = story.card
    title = f"{card.id} {card.title}"
    kinds = (*TASKS, *ORDERS)
    page = replace(page, title=title, section="projects", is_section=False, kinds=kinds, repo=card.repo)
    return render("story", links, page, story=story, card=card, entries=layout.notebook(story), orders=orders)


def runs_page(links: Links, page: Page, runs: tuple[RunView, ...]) -> str:
    page = replace(page, title="Runs", section="runs", kinds=TASKS)
    return render("runs", links, page, runs=runs[:SHOWN_RUNS], left_out=max(0, len(runs) - SHOWN_RUNS))


def workers_page(links: Links, page: Page, workers: tuple[WorkerView, ...]) -> str:
    page = replace(page, title="Workers", section="workers", kinds=("worker_heartbeat", "run_completed"))
    return render("workers", links, page, workers=workers, kinds=KINDS)


def circuits_page(
    links: Links,
    page: Page,
    circuits: tuple[CircuitView, ...],
    may_reset: Collection[str] = frozenset(),
    given: tuple[Asked, ...] = (),
) -> str:
    """`may_reset`: ids of the circuits that this visitor may ask to be reset; `given`: what was ordered for them."""
    page = replace(page, title="Circuits", section="circuits", kinds=("circuit_state_changed", *ORDERS))
    ordered = sorted(trees(circuits), key=lambda tree: not tree.not_closed)
    return render("circuits", links, page, trees=ordered, may_reset=may_reset, orders=Orders(given))


def metrics_page(links: Links, page: Page, metrics: MetricsView, projects: tuple[ProjectView, ...]) -> str:
    page = replace(page, title="Metrics", section="metrics", kinds=TASKS)
    settled = charts.bar_chart(
        [charts.Measured(each.day, each.stories, count(each.stories, "story")) for each in metrics.finished],
        f"Stories settled by day: {layout.stories_told(metrics.stories, metrics.proven)}",
        whole=True,
    )
    own = (project for project in projects if not project.server)
    burning = tuple(burn for project in own for prd in project.prds if (burn := burning_of(prd)))
    total = measured(metrics)
    return render("metrics", links, page, metrics=metrics, settled=settled, burning=burning, total=total)


def costs_page(links: Links, page: Page, costs: CostView, *, replays: bool = False) -> str:
    """`replays`: some of it was spent when it was recorded, and not now."""
    page = replace(page, title="Costs", section="costs", kinds=("run_completed", "task_status_changed"))
    by_money = bool(costs.total.usd)
    shown = costs.days[-SHOWN_DAYS:]
    days = charts.bar_chart(
        [charts.Measured(each.name, weight(each.spend, by_money), cost(each.spend) or "nothing") for each in shown],
        f"Spent by day, {count(len(shown), 'day')}: {cost(costs.total) or 'nothing'} in all",
        unit="$" if by_money else "",
    )
    values = {"costs": costs, "days": days, "by_money": by_money, "total": spent(costs), "replays": replays}
    return render("costs", links, page, **values)


def log_in_page(links: Links, page: Page, *, problem: str = "", wanted: str = "") -> str:
    page = replace(page, title="Log in", visitor="", csrf="", section="")
    return render("log_in", links, page, problem=problem, wanted=wanted)


def problem_page(links: Links, page: Page, title: str, what: str) -> str:
    return render("problem", links, replace(page, title=title, section="", is_section=False), what=what)


def again_page(here: str) -> str:
    """Loads itself once more, so that it is a page of ours that asks."""
    return environment(FILTERS).get_template("dashboard/again.html.j2").render(here=here)


# --- numbers with their denominators ----------------------------------------------------------------------------------


def overall(projects: tuple[ProjectView, ...]) -> tuple[Figure, ...]:
    stories, proven = sum(each.stories for each in projects), sum(each.proven for each in projects)
    prds = sum(len(each.prds) for each in projects)
    spend = sum((each.spend for each in projects), Spend())
    return (
        Figure(f"{len(projects):,}", named(len(projects), "repository")),
        Figure(f"{prds:,}", named(prds, "PRD")),
        Figure(f"{proven:,} of {stories:,}", f"{named(stories, 'story')} proven", strong=True),
        money_figure(spend),
    )


def measured(metrics: MetricsView) -> tuple[Figure, ...]:
    crossed = sum(each.crossed for each in metrics.phases)
    at_first = sum(each.at_first for each in metrics.phases)
    found = (
        Figure(f"{metrics.proven:,} of {metrics.stories:,}", f"{named(metrics.stories, 'story')} proven"),
        Figure(f"{metrics.tests:,} of {metrics.tests_in_all:,}", f"added {named(metrics.tests_in_all, 'test')} pass"),
        Figure(f"{metrics.faults:,} of {metrics.faults_in_all:,}", "deliberate faults noticed"),
        Figure(f"{at_first:,} of {crossed:,}", "phases crossed at the first attempt"),
    )
    return tuple(each for each in found if not each.value.endswith(" of 0"))


def spent(costs: CostView) -> tuple[Figure, ...]:
    total = costs.total
    cached = f", {100 * total.cached_tokens // total.tokens}% of them cached" if total.tokens else ""
    return (
        money_figure(total),
        Figure(f"{total.calls:,}", f"{named(total.calls, 'call')} of models"),
        Figure(token_count(total.tokens), f"in and out{cached}"),
        Figure(f"{len(costs.prds):,}", f"{named(len(costs.prds), 'PRD')} that spent"),
    )


def money_figure(spend: Spend) -> Figure:
    if spend.usd is None:
        return Figure("no price known", f"for {token_count(spend.tokens)}")
    return Figure(dollars(spend.usd), "spent") if spend.usd else Figure("nothing paid", token_count(spend.tokens))


def burning_of(prd: PrdView) -> Burning | None:
    points = [
        charts.Measured(moment(each.at).removesuffix(" UTC")[5:], each.left, f"{count(each.left, 'story')} left")
        for each in thinned(prd.burn_down)
    ]
    chart = charts.line_chart(points, f"{prd.title}: {prd.burned}")
    return Burning(prd.repo, prd.id, prd.title, prd.burned, chart) if chart else None
