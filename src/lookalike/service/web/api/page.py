"""The page ``/docs``: what the API offers, from its OpenAPI document, without scripts."""

from typing import Any

from fastapi import APIRouter, Request, Response

from lookalike.service.web.pages.routes import PageRoute, page

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/docs")
def docs(request: Request) -> Response:
    """Show the operations of the API."""
    document = request.app.openapi()
    return page(request, "docs.html", groups=operations(document))


def operations(document: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the operations of an OpenAPI document by their tags, in its order."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            group = (operation.get("tags") or ["other"])[0]
            groups.setdefault(group, []).append(
                {
                    "method": method.upper(),
                    "path": path,
                    "summary": operation.get("summary", ""),
                    "description": operation.get("description", ""),
                    "fields": _fields(document, operation),
                    "answer": _answer(document, operation),
                }
            )
    return groups


def _fields(document: dict[str, Any], operation: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the parameters and the fields of the body of an operation."""
    result = [
        _field(document, given["name"], given["schema"], given["in"], given.get("required", False))
        | ({"about": given["description"]} if "description" in given else {})
        for given in operation.get("parameters", [])
    ]
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        schema = _resolved(document, content.get("schema", {}))
        options = [_resolved(document, one) for one in schema.get("oneOf", [schema])]
        for option in options:
            needed = option.get("required", [])
            result += [
                _field(document, name, inner, "body", name in needed)
                for name, inner in option.get("properties", {}).items()
            ]
        if not any("properties" in option for option in options):
            result.append({"name": kind, "place": "body", "type": "the file", "about": ""})
    return result


def _field(
    document: dict[str, Any], name: str, schema: dict[str, Any], place: str, required: bool
) -> dict[str, Any]:
    about = schema.get("description", "")
    default = schema.get("default")
    parts = [about, f"Default: {default}." if default not in (None, "", []) else ""]
    return {
        "name": name,
        "place": f"{place}, required" if required else place,
        "type": _type(document, schema),
        "about": " ".join(filter(None, parts)),
    }


def _answer(document: dict[str, Any], operation: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the fields of what an operation answers with, if that is JSON."""
    for code in ("200", "201", "202"):
        content = operation.get("responses", {}).get(code, {}).get("content", {})
        schema = _resolved(document, content.get("application/json", {}).get("schema", {}))
        if schema.get("properties"):
            return [
                _field(document, name, inner, "", False)
                for name, inner in schema["properties"].items()
            ]
    return []


def _type(document: dict[str, Any], schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    choices = [_type(document, one) for one in schema.get("anyOf", []) if one != {"type": "null"}]
    if choices:
        return " or ".join(dict.fromkeys(choices))
    if schema.get("type") == "array":
        return f"list of {_type(document, schema.get('items', {}))}"
    return str(schema.get("const", schema.get("type", "")))


def _resolved(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    return document["components"]["schemas"][name] if name else schema
