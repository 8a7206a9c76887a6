"""What a project is made of: languages, runners, roots, and which of the gates' layers exist for each. Pure."""
