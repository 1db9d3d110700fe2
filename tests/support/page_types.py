"""TypeScript types of every answer, made from OpenAPI, for checking the scripts of the page.

``check`` copies the scripts, gives ``get`` and ``post`` of api.js the types of the answers, by
their paths, and runs the type checker of Deno.  It reports uses of fields that no answer has.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

STATIC = Path(__file__).parents[2] / "src" / "allgood" / "serve" / "static"
SETTINGS = """{"compilerOptions": {"checkJs": true, "strict": false, "noImplicitAny": false,
  "lib": ["dom", "dom.iterable", "esnext"]}}"""
# ``Answer<P, M>`` compares the parts of a path with those of each route.
HEAD = """
type Split<P extends string> = P extends `${infer A}?${string}` ? Split<A>
  : P extends `${infer A}/${infer B}` ? [A, ...Split<B>] : [P];
type Find<P extends string[], R> = R extends [infer T extends string[], infer A]
  ? (P extends T ? A : never) : never;
export type Answer<P extends string, R> = [Find<Split<P>, R>] extends [never] ? any
  : Find<Split<P>, R>;
export type Get = <P extends string>(path: P, options?: any) => Promise<Answer<P, Getting>>;
export type Post =
  <P extends string>(path: P, body?: any, options?: any) => Promise<Answer<P, Posting>>;
"""
TYPED = {"get": "Get", "post": "Post"}
PLAIN = {"integer": "number", "number": "number", "string": "string", "boolean": "boolean"}
# A field that does not exist on a type, which may be a union.
MISSING = re.compile(
    r"^TS(?:2339|2551) \[ERROR\]: Property '(\w+)' does not exist on type '([^']+)'.*?"
    r"at file://\S*?/static/(\S+?):\d+$",
    re.M | re.S,
)


def type_of(schema):
    """Return the type of a schema in TypeScript."""
    if "$ref" in schema:
        return schema["$ref"].rpartition("/")[2]
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(map(type_of, schema["anyOf"])))
    if "enum" in schema or "const" in schema:
        return " | ".join(f'"{value}"' for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"({type_of(schema.get('items', {}))})[]"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"Record<string, {type_of(schema['additionalProperties'])}>"
    return "null" if schema.get("type") == "null" else PLAIN.get(schema.get("type"), "any")


def declarations(described):
    """Return the declarations of the types of an OpenAPI description."""
    parts = [HEAD]
    for name, schema in described["components"]["schemas"].items():
        if "properties" not in schema:
            parts.append(f"export type {name} = {type_of(schema)};")
            continue
        required = schema.get("required", ())
        fields = (
            f"  {field}{'' if field in required else '?'}: {type_of(part)};"
            for field, part in schema["properties"].items()
        )
        parts.append("\n".join([f"export interface {name} {{", *fields, "}"]))
    for alias, method in (("Getting", "get"), ("Posting", "post")):
        parts.append(f"type {alias} =\n  {' | '.join(routes(described, method))};")
    return "\n".join(parts) + "\n"


def routes(described, method):
    """Yield the parts of the path of each route, and the type of its answer."""
    for path, methods in described["paths"].items():
        answers = methods.get(method, {}).get("responses", {})
        content = (answers.get("200") or answers.get("201") or {}).get("content", {})
        if "application/json" in content:
            words = path.removeprefix("/v1/").split("/")
            parts = ("string" if word.startswith("{") else f'"{word}"' for word in words)
            yield f"[[{', '.join(parts)}], {type_of(content['application/json']['schema'])}]"


def deno():
    """Return the path of Deno; None if it is not installed."""
    beside = Path(sys.executable).with_name("deno")
    return str(beside) if beside.exists() else shutil.which("deno")


def check(described, folder, static=STATIC):
    """Return uses of fields that the answers do not have: (script, field, type)."""
    scripts = folder / "static"
    shutil.copytree(static, scripts)
    [api] = scripts.rglob("api.js")
    text = api.read_text(encoding="utf-8")
    for name, kind in TYPED.items():
        export = rf"(?m)^(?=export (?:const|function|async function) {name}\b)"
        text, number = re.subn(export, f'/** @type {{import("./answers.d.ts").{kind}}} */\n', text)
        assert number == 1, f"api.js must export {name} once"
    api.write_text(text, encoding="utf-8")
    api.with_name("answers.d.ts").write_text(declarations(described), encoding="utf-8")
    (folder / "deno.json").write_text(SETTINGS)
    command = [deno(), "check", "--no-remote", "--config", folder / "deno.json"]
    run = subprocess.run(
        [*command, scripts / "app.js"],
        env=os.environ | {"DENO_DIR": str(folder / "cache"), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "Check " in run.stderr, run.stderr  # else nothing was checked
    schemas = described["components"]["schemas"]
    found = set()
    for field, kind, script in MISSING.findall(run.stderr):
        named = [schemas[name] for name in re.findall(r"\w+", kind) if name in schemas]
        if named and not any(field in schema.get("properties", ()) for schema in named):
            found.add((script.partition(":")[0], field, kind))
    return sorted(found)
