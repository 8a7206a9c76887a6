"""Workflow jobs for parallel stories: one job per story, and the scheduler for the planning and integrating jobs.

Offers `story_job.run_story_job` and `wave_scheduler.advance_parallel_stories`. May import `github` modules and
workflow.
"""
