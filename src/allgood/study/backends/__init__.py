"""Where the events of a study are stored: in an SQL database, or behind an HTTP server."""
