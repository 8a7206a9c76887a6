"""The view of each document: one table."""

from __future__ import annotations

from collections.abc import Callable

from prd2pr.core.living.architecture import architecture
from prd2pr.core.living.changelog import changelog
from prd2pr.core.living.ci_cd import ci_cd
from prd2pr.core.living.codebase_map import codebase_map
from prd2pr.core.living.decisions import decisions
from prd2pr.core.living.deployment import deployment
from prd2pr.core.living.estimates import estimates
from prd2pr.core.living.failures import failures
from prd2pr.core.living.infrastructure import infrastructure
from prd2pr.core.living.patterns import patterns
from prd2pr.core.living.routing import routing
from prd2pr.core.living.runbook import runbook
from prd2pr.core.living.security import security
from prd2pr.core.living.trace import trace
from prd2pr.core.living.worked import LivingFacts

VIEWS: dict[str, Callable[[LivingFacts], object]] = {
    "CODEBASE_MAP": codebase_map,
    "ARCHITECTURE": architecture,
    "DECISIONS": decisions,
    "PATTERNS": patterns,
    "SECURITY": security,
    "FAILURES": failures,
    "ESTIMATES": estimates,
    "CHANGELOG": changelog,
    "INFRASTRUCTURE": infrastructure,
    "DEPLOYMENT": deployment,
    "ROUTING": routing,
    "CI_CD": ci_cd,
    "RUNBOOK": runbook,
    "TRACE": trace,
}
