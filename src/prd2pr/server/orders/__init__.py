"""Orders by API and dashboard: put on record, handed on through the inbox, and followed until it is known what came of
them. Nothing is carried out here."""
