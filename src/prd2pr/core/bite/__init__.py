"""Do the tests bite? Deliberate faults, planned from texts alone; carried out by `runners/`, judged by the gates."""
