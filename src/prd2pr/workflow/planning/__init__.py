"""Plan a PRD: consult roles before and after the plan, make the plan, and change it when the PRD changes.

`preparation` asks Why, Research, Documentation and Spike before the plan; `planner` makes the plan, a large PRD in
several parts; `plan_review` asks Designer, Security, Estimator and Deployment after it; `replan` plans a changed PRD.
`domain.costs.profiles` defines which roles run; `workflow.roles.consultation` records their answers.
"""
