"""Prepare a repository for prd2pr: the App's permissions, the workflow file, and the pull request that adds it.

Offers `offer.offer_setup`, `onboarding.open_setup_pull` and `workflow_file.render_workflow`. May import `github`
modules, config and templating.
"""
