"""``allgood serve``: a live page and an HTTP interface for the studies of one database.

tokens.py     who may do what
guard.py      what is refused before anything is read: hosts, origins, sizes, rates
problems.py   errors as answers
bodies.py     what may be sent
desk.py       the studies of the database, opened when they are needed
live.py       who waits for news, and what is new
exploring.py  instances without a study
routes.py     the HTTP interface, version 1
app.py        all of it together
static/       the page

Every rule is that of ``Study``: nothing is decided here.
"""
