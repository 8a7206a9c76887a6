"""Planning in four passes: cycles, tasks, acceptance criteria, hints. What each answers, checked by code."""
