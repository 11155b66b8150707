"""Tables out: whole or not at all, and nothing beside what the rows hold."""
