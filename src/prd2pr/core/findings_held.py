"""Findings of the REFACTOR gate about behaviour: old code against new, unrun new code, dead code that goes."""

from __future__ import annotations

from prd2pr.core.findings_kind import FindingKind, advice, rule

HELD_FINDINGS: tuple[FindingKind, ...] = (
    rule(
        "RFC411",
        "a public function behaves in another way",
        "Old code and new were given the same calls: those that tests make, and others with values near to them. One "
        "ends in another way now, and no test noticed. Calls whose result is not the same twice, and those that reach "
        "outside of the process, are not judged, unless the old code answered them plainly.",
        bad="def earn(amount):\n    return round(amount / 10)   # was: amount // 10, and tests ask for 10 and 20 only",
        good="def earn(amount):\n    return amount // POINT_PRICE",
        hint="keep what the old code does with this input, or make the change a story of its own.",
    ),
    advice(
        "RFC412",
        "a public function may behave in another way",
        "On values that no test comes near, or in a way that few callers see: another type that is equal, an argument "
        "that is left otherwise.",
        bad="`earn(-7)` was -1 and is 0 (with values that no test comes near)",
        good="`earn(-7)` is -1 before and after",
        hint="look whether anybody leans on it.",
    ),
    rule(
        "RFC413",
        "new code that no test runs",
        "A refactoring brings in a branch or a function that no test gets to. Nobody asked for it, nothing holds it.",
        bad="def earn(amount):\n    if amount > LIMIT:   # new, and no test passes so much\n        return 0\n    "
        "return amount // 10",
        good="def earn(amount):\n    return amount // 10",
        hint="take it out; new behaviour begins with RED.",
    ),
    advice(
        "RFC414",
        "old code and new were not compared",
        "The same calls could not be given to both, so only the tests say that the behaviour is held.",
        bad="the tests could not be run by themselves: time",
        good="40 calls of 3 functions ended the same way before and after",
        hint="nothing needs to be done; let the tests of the changed code run by themselves, and more can be said.",
    ),
    rule(
        "RFC415",
        "the new code cannot be compared with the old",
        "Before the step the calls could be made, and after it they cannot. That is the step's own doing.",
        bad="after the step, the comparison ended: the test process ended by itself",
        good="the calls could be made before and after",
        hint="look for code that ends the process, or that replaces what tests run with.",
    ),
    advice(
        "RFC416",
        "new code that none of the asked tests runs",
        "There are more tests than could be asked here; perhaps one of the others runs it.",
        bad="no test runs `return 0` in `earn`, and it was not there before",
        good="every new line is run by a test",
        hint="look whether a test runs it.",
    ),
    advice(
        "RFC417",
        "dead code was removed",
        "Nothing that is left used it, no configuration names it, and the tests that went with it were about nothing "
        "else. The step did nothing beside that.",
        bad="`shop.points.redeem` is gone; nothing used it",
        good="`shop.points.redeem` is called by `shop.cart`, and stays",
        hint="look whether anybody outside of this repository calls it.",
    ),
    rule(
        "RFC418",
        "what was removed with its tests was not dead",
        "Dead code may go together with its tests, in a step that does nothing else: whole functions, classes or "
        "modules that nothing left can reach, and tests that are about nothing else.",
        bad="tests/test_points.py::test_redeem is also about `shop.points.earn`, which is left",
        good="`redeem` and test_redeem are gone; nothing else called `redeem`, and nothing else changed",
        hint="keep the tests of living code; take the removal into a commit of its own.",
    ),
    rule(
        "RFC419",
        "code was put into a text",
        "What `exec` and `eval` run is seen by no measure, and no deliberate fault gets into it: the code looks "
        "shorter and is the same.",
        bad="def parse(text):\n    exec(_PARSE, scope := {'text': text})\n    return scope['total']",
        good="def parse(text):\n    return sum(map(int, text))",
        hint="write the code as code.",
    ),
    rule(
        "RFC420",
        "data that the program reads was changed",
        "Other values in a data file are other behaviour, as much as other code is. They may be put in another order, "
        "under other names, or into another file.",
        bad="rates.json: 20 is gone, 15 is new",
        good="rates.json has the same rates, now under the names of the customers",
        hint="leave the values as they are, or make the change a story of its own.",
    ),
)
