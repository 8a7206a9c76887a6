"""What the branches say, in tables: read when asked, dropped and made again at will. Nothing in here is the truth."""
