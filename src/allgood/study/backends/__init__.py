"""Backends store the events of a study: in an SQL database, or behind an HTTP server."""
