"""Git, and the state that lives on the branch."""
