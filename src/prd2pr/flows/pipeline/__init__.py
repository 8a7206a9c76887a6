"""The moments at which roles beside the cycle are asked, each called from one place.

    before_plan.before_plan     Why, Research, Documentation, Spike → what the planner is told, or PrdRejected
    after_plan.after_plan       Designer, Security, Estimator, Deployment → the plan with what they add
    story.root_cause            Debugger, before the last attempt → advice
    story.before_integration    Smell, Pattern Validator, Review → warnings, or why the story is blocked
    story.after_last            Retrospective

Which of them run, and whether a model is asked, `core.profiles` says. What they answer is kept by `flows.consulting`;
`whole_plan` asks those around the plan in their order.
"""
