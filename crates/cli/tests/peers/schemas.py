"""Compares request bodies with what the vendors' own libraries take: lines {"dialect", "body"} in, a line of problems out.

Everything that a library does not name is a problem, so that a field that is misspelled is one.
"""

import base64
import json
import re
import sys

import anthropic.types.message_create_params as messages
import botocore.session
import botocore.validate
import google.genai.types as gemini
import jsonschema
import openai.types.chat.completion_create_params as chat
import openai.types.responses.response_create_params as responses
from pydantic import TypeAdapter, ValidationError


def strict(kind):
    """The JSON Schema of a library's type, with nothing allowed that it does not name."""
    schema = TypeAdapter(kind).json_schema()

    def close(node):
        if isinstance(node, dict):
            if node.get("type") == "object" and "properties" in node:
                node.setdefault("additionalProperties", False)
            for child in node.values():
                close(child)
        elif isinstance(node, list):
            for child in node:
                close(child)

    close(schema)
    return jsonschema.Draft202012Validator(schema)


TYPED = {
    "chat": strict(chat.CompletionCreateParamsStreaming),
    "responses": strict(responses.ResponseCreateParamsStreaming),
    "messages": strict(messages.MessageCreateParamsStreaming),
}
GEMINI = {
    "contents": list[gemini.Content],
    "systemInstruction": gemini.Content,
    "tools": list[gemini.Tool],
    "toolConfig": gemini.ToolConfig,
    "generationConfig": gemini.GenerationConfig,
    "safetySettings": list[gemini.SafetySetting],
}
CONVERSE = botocore.session.get_session().get_service_model("bedrock-runtime").operation_model("ConverseStream")


def deepest(error):
    """The most telling problem below one of many alternatives."""
    while error.context:
        error = max(error.context, key=lambda one: (len(one.absolute_path), one.validator == "additionalProperties"))
    return f"{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}"


# Older models take them; the library has stopped naming them.
OLDER = {"messages": {"temperature", "top_p", "top_k"}}


def unpacked(value, shape, place, found):
    """A part of a body of JSON as the library is given it, with what the library itself does not look at added to `found`:
    unknown members, more than one of a choice, words and letters that are not allowed, bytes that are no base64."""
    kind = shape.type_name
    if kind == "structure" and not shape.is_document_type and isinstance(value, dict):
        found += [f"{place}/{name} is no field" for name in value if name not in shape.members]
        if shape.is_tagged_union and len(value) != 1:
            found.append(f"{place} is {len(value)} of a choice of one")
        known = [(name, part) for name, part in value.items() if name in shape.members]
        return {name: unpacked(part, shape.members[name], f"{place}/{name}", found) for name, part in known}
    if kind == "list" and isinstance(value, list):
        return [unpacked(part, shape.member, f"{place}/{at}", found) for at, part in enumerate(value)]
    if kind == "blob":
        try:
            return base64.b64decode(value, validate=True)
        except (TypeError, ValueError):
            found.append(f"{place} is no base64")
    if kind == "string" and isinstance(value, str):
        if shape.enum and value not in shape.enum:
            found.append(f"{place}: {value!r} is none of {shape.enum}")
        letters = shape.metadata.get("pattern")
        if letters and not re.fullmatch(letters, value):
            found.append(f"{place}: {value!r} does not match {letters}")
        if len(value) > shape.metadata.get("max", len(value)):
            found.append(f"{place} is too long")
    return value


def problems(dialect, body):
    body = {name: value for name, value in body.items() if name not in OLDER.get(dialect, ())}
    if dialect in TYPED:
        return [deepest(error) for error in TYPED[dialect].iter_errors(body)]
    found = []
    if dialect == "gemini":
        for name, value in body.items():
            if name not in GEMINI:
                found.append(f"{name} is no field")
                continue
            try:
                TypeAdapter(GEMINI[name]).validate_json(json.dumps(value))
            except ValidationError as error:
                found += [f"{name}/{'/'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()]
        return found
    whole = unpacked({"modelId": "m", **body}, CONVERSE.input_shape, "", found)
    report = botocore.validate.ParamValidator().validate(whole, CONVERSE.input_shape)
    return found + report.generate_report().splitlines()


for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps(problems(asked["dialect"], asked["body"])), flush=True)
