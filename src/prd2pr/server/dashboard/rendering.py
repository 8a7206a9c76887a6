"""Render views as HTML pages, with links from `PageLinks`. Independent of HTTP."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from prd2pr import __version__
from prd2pr.domain.records import Spend
from prd2pr.domain.wording import (
    count,
    format_dollars,
    format_duration,
    format_time,
    format_token_count,
    inflect_noun,
    split_code_spans,
)
from prd2pr.server.dashboard.links import SECTIONS, PageLinks
from prd2pr.templating import Filters, get_environment
from prd2pr.views.board import charts, layout
from prd2pr.views.board.breakers import group_circuits
from prd2pr.views.board.labels import format_attempts, format_spend
from prd2pr.views.board.models import BoardView, CostView, MetricsView, PhaseMeasure
from prd2pr.views.burndown import thin_points
from prd2pr.views.models import (
    BOARD_PHASES,
    CircuitView,
    Figure,
    PrdSummary,
    PrdView,
    ProjectView,
    RunView,
    StoryView,
    WorkerView,
)

if TYPE_CHECKING:  # the static site has no orders and does not need the client
    from prd2pr.client.models import Asked, Source

MAX_RUNS = 200
MAX_DAYS = 60
WORKER_KINDS = {
    "model": "model",
    "recording": "recorded answers of a model",
    "pool": "this server's local workers",
    "actions": "GitHub Actions",
    "plugin": "plugin",
}
CIRCUIT_TONES = {"closed": "proven", "half-open": "unproven", "open": "blocked"}
# Events that refresh a page.
TASK_EVENTS = ("task_status_changed", "run_completed")
ORDER_EVENTS = ("order_state_changed",)
ORDER_TONES = {"waiting": "unproven", "given": "unproven", "done": "proven", "refused": "refused", "failed": "blocked"}


@dataclass(frozen=True)
class PageContext:
    """Values that every page uses."""

    title: str = ""
    section: str = "projects"
    is_section: bool = True  # False on a page below the section
    kinds: tuple[str, ...] = ()
    repo: str = ""  # only events of this repository refresh the page
    visitor: str = "everybody"  # empty if not logged in
    csrf: str = ""  # empty if the page has no forms
    log_in: str = ""  # address of the login page for visitors without a token
    notice: str = ""
    now: str = ""
    policy: str = ""  # content security policy of a static page


@dataclass(frozen=True)
class BurnDown:
    repo: str
    prd: str
    title: str
    summary: str
    chart: charts.Chart


def get_spend_weight(spend: Spend, by_money: bool) -> float:
    return (spend.usd or 0.0) if by_money else float(spend.tokens)


def make_share_bar(value: float, whole: float, tone: str) -> tuple[charts.Segment, ...]:
    return (charts.Segment(0, charts.round_coordinate(100 * value / whole), tone, ""),) if whole else ()


def make_attempt_bar(phase: PhaseMeasure) -> tuple[charts.Segment, ...]:
    later = phase.crossed - phase.at_first
    return charts.build_segments(
        (
            (phase.at_first, "proven", f"{phase.at_first} at the first attempt"),
            (later, "unproven", f"{later} after more than one"),
        )
    )


def make_board_link(name: str, links: PageLinks) -> str:
    """Return the address of the board of a PRD, which the costs page names as `owner/repo:prd`."""
    repo, _, prd = name.rpartition(":")
    return f"{links.board(repo)}#prd-{prd}"


def make_progress_bar(it: ProjectView | PrdSummary | MetricsView) -> tuple[charts.Segment, ...]:
    return layout.build_progress_bar(it.counts, it.proven)


FILTERS: Filters = {
    "spans": split_code_spans,
    "moment": format_time,
    "count": count,
    "cost": format_spend,
    "tries": format_attempts,
    "duration": format_duration,
    "progress": make_progress_bar,
    "first_tries": make_attempt_bar,
    "part_of": make_share_bar,
    "weight": get_spend_weight,
    "board_link": make_board_link,
}


def render_dashboard_template(template: str, links: PageLinks, page: PageContext, **values: Any) -> str:
    found = get_environment(FILTERS).get_template(f"dashboard/{template}.html.j2")
    common = {"links": links, "page": page, "sections": SECTIONS, "phases": BOARD_PHASES, "version": __version__}
    tones = {"circuit_tones": CIRCUIT_TONES, "order_tones": ORDER_TONES}
    return found.render({**common, **tones, **values})


# --- pages ------------------------------------------------------------------------------------------------------------


def render_projects_page(
    links: PageLinks, page: PageContext, projects: tuple[ProjectView, ...], servers: tuple[Source, ...] = ()
) -> str:
    page = replace(page, title="Projects", section="projects", kinds=TASK_EVENTS)
    total = make_overview_figures(projects)
    return render_dashboard_template("projects", links, page, projects=projects, total=total, servers=servers)


def render_board_page(links: PageLinks, page: PageContext, board: BoardView) -> str:
    repo = board.project.repo
    page = replace(page, title=repo, section="projects", is_section=False, kinds=TASK_EVENTS, repo=repo)
    several = len(board.project.prds) > 1
    return render_dashboard_template(
        "board", links, page, board=board, columns=layout.build_columns(board), several=several
    )


@dataclass(frozen=True)
class OrderPanel:
    """The orders about a page's subject, and whether the visitor may give another one."""

    orders: tuple[Asked, ...] = ()
    can_order: bool = False


EMPTY_ORDER_PANEL = OrderPanel()


def render_story_page(
    links: PageLinks, page: PageContext, story: StoryView, orders: OrderPanel = EMPTY_ORDER_PANEL
) -> str:
    title = f"{story.id} {story.title}"
    kinds = (*TASK_EVENTS, *ORDER_EVENTS)
    page = replace(page, title=title, section="projects", is_section=False, kinds=kinds, repo=story.repo)
    return render_dashboard_template(
        "story", links, page, story=story, entries=layout.build_notebook(story), orders=orders
    )


def render_runs_page(links: PageLinks, page: PageContext, runs: tuple[RunView, ...]) -> str:
    page = replace(page, title="Runs", section="runs", kinds=TASK_EVENTS)
    return render_dashboard_template("runs", links, page, runs=runs[:MAX_RUNS], left_out=max(0, len(runs) - MAX_RUNS))


def render_workers_page(links: PageLinks, page: PageContext, workers: tuple[WorkerView, ...]) -> str:
    page = replace(page, title="Workers", section="workers", kinds=("worker_heartbeat", "run_completed"))
    return render_dashboard_template("workers", links, page, workers=workers, kinds=WORKER_KINDS)


def render_circuits_page(
    links: PageLinks,
    page: PageContext,
    circuits: tuple[CircuitView, ...],
    may_reset: Collection[str] = frozenset(),
    given: tuple[Asked, ...] = (),
) -> str:
    """Render the circuits page.

    `may_reset` contains the ids of the circuits that this visitor may reset, and `given` the orders about circuits.
    """
    page = replace(page, title="Circuits", section="circuits", kinds=("circuit_state_changed", *ORDER_EVENTS))
    ordered = sorted(group_circuits(circuits), key=lambda tree: not tree.not_closed)
    return render_dashboard_template(
        "circuits", links, page, trees=ordered, may_reset=may_reset, orders=OrderPanel(given)
    )


def render_metrics_page(
    links: PageLinks, page: PageContext, metrics: MetricsView, projects: tuple[ProjectView, ...]
) -> str:
    page = replace(page, title="Metrics", section="metrics", kinds=TASK_EVENTS)
    settled = charts.build_bar_chart(
        [charts.ChartValue(each.day, each.stories, count(each.stories, "story")) for each in metrics.finished],
        f"Stories completed by day: {layout.format_proven_stories(metrics.stories, metrics.proven)}",
        whole=True,
    )
    prds = (prd for project in projects for prd in project.prds if isinstance(prd, PrdView))  # workers of this server
    burn_downs = tuple(burn for prd in prds if (burn := make_burn_down(prd)))
    total = make_metrics_figures(metrics)
    return render_dashboard_template(
        "metrics", links, page, metrics=metrics, settled=settled, burn_downs=burn_downs, total=total
    )


def render_costs_page(links: PageLinks, page: PageContext, costs: CostView, *, replays: bool = False) -> str:
    """Render the costs page; `replays` is True if some of the costs come from a recording."""
    page = replace(page, title="Costs", section="costs", kinds=("run_completed", "task_status_changed"))
    by_money = bool(costs.total.usd)
    shown = costs.days[-MAX_DAYS:]
    days = charts.build_bar_chart(
        [
            charts.ChartValue(each.name, get_spend_weight(each.spend, by_money), format_spend(each.spend) or "nothing")
            for each in shown
        ],
        f"Spent by day, {count(len(shown), 'day')}: {format_spend(costs.total) or 'nothing'} in all",
        unit="$" if by_money else "",
    )
    values = {"costs": costs, "days": days, "by_money": by_money, "total": make_cost_figures(costs), "replays": replays}
    return render_dashboard_template("costs", links, page, **values)


def render_log_in_page(links: PageLinks, page: PageContext, *, problem: str = "", wanted: str = "") -> str:
    page = replace(page, title="Log in", visitor="", csrf="", section="")
    return render_dashboard_template("log_in", links, page, problem=problem, wanted=wanted)


def render_problem_page(links: PageLinks, page: PageContext, title: str, what: str) -> str:
    return render_dashboard_template(
        "problem", links, replace(page, title=title, section="", is_section=False), what=what
    )


def render_reload_page(here: str) -> str:
    """Render a page that reloads itself, so that the browser sends its cookie with the new, same-site request."""
    return get_environment(FILTERS).get_template("dashboard/again.html.j2").render(here=here)


# --- numbers with their denominators ----------------------------------------------------------------------------------


def make_overview_figures(projects: tuple[ProjectView, ...]) -> tuple[Figure, ...]:
    stories, proven = sum(each.stories for each in projects), sum(each.proven for each in projects)
    prds = sum(len(each.prds) for each in projects)
    spend = sum((each.spend for each in projects), Spend())
    return (
        Figure(f"{len(projects):,}", inflect_noun(len(projects), "repository")),
        Figure(f"{prds:,}", inflect_noun(prds, "PRD")),
        Figure(f"{proven:,} of {stories:,}", f"{inflect_noun(stories, 'story')} done", strong=True),
        make_money_figure(spend),
    )


def make_metrics_figures(metrics: MetricsView) -> tuple[Figure, ...]:
    passed = sum(each.crossed for each in metrics.phases)
    at_first = sum(each.at_first for each in metrics.phases)
    found = (
        Figure(f"{metrics.proven:,} of {metrics.stories:,}", f"{inflect_noun(metrics.stories, 'story')} done"),
        Figure(
            f"{metrics.tests:,} of {metrics.tests_in_all:,}", f"added {inflect_noun(metrics.tests_in_all, 'test')} pass"
        ),
        Figure(f"{metrics.faults:,} of {metrics.faults_in_all:,}", "mutants killed"),
        Figure(f"{at_first:,} of {passed:,}", "phases passed at the first attempt"),
    )
    return tuple(each for each in found if not each.value.endswith(" of 0"))


def make_cost_figures(costs: CostView) -> tuple[Figure, ...]:
    total = costs.total
    cached = f", {100 * total.cached_tokens // total.tokens}% of them cached" if total.tokens else ""
    return (
        make_money_figure(total),
        Figure(f"{total.calls:,}", f"model {inflect_noun(total.calls, 'call')}"),
        Figure(format_token_count(total.tokens), f"in and out{cached}"),
        Figure(f"{len(costs.prds):,}", f"{inflect_noun(len(costs.prds), 'PRD')} with costs"),
    )


def make_money_figure(spend: Spend) -> Figure:
    if spend.usd is None:
        return Figure("no price known", f"for {format_token_count(spend.tokens)}")
    return (
        Figure(format_dollars(spend.usd), "spent")
        if spend.usd
        else Figure("nothing paid", format_token_count(spend.tokens))
    )


def make_burn_down(prd: PrdView) -> BurnDown | None:
    points = [
        charts.ChartValue(format_time(each.at).removesuffix(" UTC")[5:], each.left, f"{count(each.left, 'story')} left")
        for each in thin_points(prd.burn_down)
    ]
    chart = charts.build_line_chart(points, f"{prd.title}: {prd.burned}")
    return BurnDown(prd.repo, prd.id, prd.title, prd.burned, chart) if chart else None
