"""``allgood serve``: a live page and an HTTP interface for the studies of one database.

tokens.py       tokens, their roles, and sessions
middleware.py   authentication, rate limits and size limits before routing
connections.py  limits on connections
slow_work.py    run slow computations, at most a few at once
problems.py     errors as responses
requests.py     request bodies, derived from the commands of a study
responses.py    responses that are not results of the package
schemas.py      OpenAPI schemas derived from dataclasses
cache.py        the cache of open studies
feed.py         the change feed of live streams
routes/         the HTTP interface, version 1
app.py          the application and the server
static/         the page

The server has no rules of its own: the commands of a study decide.
"""
