"""Other modes of `prd2pr serve`: set-up, demo, backup and tokens. Each is imported only when used."""
