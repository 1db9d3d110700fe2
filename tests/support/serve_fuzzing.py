"""Requests of all kinds, made from the description of the interface (OpenAPI) by schemathesis.

Each route gets a copy of one database, so that what one request deletes others do not miss.
"""

import copy
import shutil

import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode, checks

from allgood import Additive, Gaussian, Plate, create_study, load_study
from allgood.serve.middleware import Limits

from .described import description
from .effort import THOROUGH, examples
from .serving import application

ARMS = ["ash", "<b>birch</b>", "cedar/2"]
UNLIMITED = Limits(rate=1e9, burst=1e9, wrong_tokens=1e9)
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.response_headers_conformance,
]
HOME = {"id": 1, "batch": 6, "name": ARMS[1]}
# What a route may compute for long is kept short.
SHORT = {"/v1/plan": {"budget": 500, "runs": 2}, "/v1/explore/run": {"max_pulls": 500}}


@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    """What is text is sent as it is; of anything else, what Python writes for it."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


def database(path):
    """A study with tickets, a plate, values and suspect ones; and an empty study."""
    question = {"arms": ARMS, "objective": Additive(0.5), "delta": 0.1, "model": Gaussian(0.5)}
    with create_study(path, "one", max_new_arms=3, **question) as study:
        study.quiet = True
        for i in range(4):
            study.tell([(ticket, 0.5 + 90.0 * (i == 3)) for ticket in study.ask(3)])
        study.ask(2, client="robot")
        study.ask(client="plates", plate=Plate(2, 3, {"DMSO": 1}))
    create_study(path, "two", **question).close()
    return path


def operations(path, spoil=lambda described: None):
    """All routes but the streams, which do not end.

    ``spoil`` may make the description wrong.
    """
    app = application(path)
    app.openapi_schema = copy.deepcopy(description())  # which is given out
    spoil(app.openapi())
    schema = schemathesis.openapi.from_asgi("/openapi.json", app, headers={"Host": "localhost"})
    app.state.study_cache.close()
    for found in schema.exclude(path_regex="/live$").get_all_operations():
        yield found.ok()


def fuzz(operation, template, path, count):
    """Send requests to one route.  Every answer must be as described, and none an error.

    The examples of the description come first, or a request that it allows.  These, and half of
    the others, are about the study that is there, its arms, its tickets and its plate.  Returns how
    often each status came.
    """
    shutil.copy(template, path)
    app = application(path, limits=UNLIMITED)
    with load_study(path, "one") as study:
        tickets = study.design.ticket_id
    known = {"arm": ARMS[1], "ticket": tickets(11), "measurement": tickets(2), "arms": ["x", "y"]}
    known |= {"tickets": [tickets(13)]}
    withdrawal = {"tickets": [tickets(2)], "reason": "air bubble", "basis": "cause"}
    known |= {"model": "gaussian", "sigma": 0.5, "censor_at": None}
    seen = {}

    usual = examples(
        count,
        derandomize=not THOROUGH,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )

    def send(case, at_home):
        if at_home and case.path_parameters:
            case.path_parameters |= {key: HOME[key] for key in case.path_parameters}
        if at_home and operation.path.endswith("/arms") and operation.method == "get":
            case.query = case.query | {"name": HOME["name"]}
        if at_home and operation.path.endswith("/withdraw"):
            case.body = withdrawal
        elif isinstance(case.body, dict):
            there = {key: known[key] for key in known if at_home and key in case.body}
            case.body = case.body | there | SHORT.get(operation.path, {})
        answer = case.call(base_url="http://localhost", app=app)
        seen[answer.status_code] = seen.get(answer.status_code, 0) + 1
        case.validate_response(answer, checks=CHECKS)

    allowed = operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
    cases = allowed | operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)
    try:
        for example in [*operation.get_strategies_from_examples()] or [allowed]:
            settings(usual, max_examples=1)(given(example, st.just(True))(send))()
        usual(given(cases, st.booleans())(send))()
    finally:
        app.state.study_cache.close()
    return seen
