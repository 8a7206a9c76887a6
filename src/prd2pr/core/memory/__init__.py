"""What is learnt: records under `.orch-state/memory/`, one file each, and the rules by which they are used."""
