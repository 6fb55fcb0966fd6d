"""Makes ``schemas/``: two packages' schemas, without descriptions and without kinds that we don't use.

    pip download --no-deps kubernetes-validate==1.37.0 check-jsonschema==0.39.0
    python -m tests.deploy.vendoring kubernetes_validate-*.whl check_jsonschema-*.whl

Both packages and both schemas are under the Apache License 2.0 (``schemas/README.md``).
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from pathlib import Path
from typing import Any

SCHEMAS = Path(__file__).parent / "schemas"
RELEASE = "v1.37.0"
KINDS = (
    "io.k8s.api.apps.v1.Deployment",
    "io.k8s.api.batch.v1.Job",
    "io.k8s.api.core.v1.ConfigMap",
    "io.k8s.api.core.v1.Secret",
    "io.k8s.api.core.v1.Service",
    "io.k8s.api.policy.v1.PodDisruptionBudget",
)
_DEFINITIONS = f"kubernetes_validate/kubernetes-json-schema/{RELEASE}-local-strict/_definitions.json"
_COMPOSE = "check_jsonschema/builtin_schemas/vendor/compose-spec.json"
_ABOUT = frozenset({"description", "title", "$comment", "deprecated", "x-kubernetes-group-version-kind"})
_OF_NAMES = frozenset({"properties", "patternProperties", "$defs", "definitions"})


def main(kubernetes: str, compose: str) -> None:
    found = json.loads(zipfile.ZipFile(kubernetes).read(_DEFINITIONS))["$defs"]
    needed: dict[str, Any] = {}
    wanted = list(KINDS)
    while wanted:
        name = wanted.pop()
        if name not in needed:
            needed[name] = _slim(found[name])
            wanted += _names(needed[name])
    _write("kubernetes.json", {"$defs": dict(sorted(needed.items()))})
    _write("compose-spec.json", _slim(json.loads(zipfile.ZipFile(compose).read(_COMPOSE))))


def _slim(schema: Any, *, is_names: bool = False) -> Any:
    """Without what only people read. What stands under ``properties`` are names, whatever they are called."""
    if isinstance(schema, list):
        return [_slim(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    slim = {}
    for key, value in schema.items():
        if key == "$ref" and not is_names:
            slim[key] = value.replace("/api/_definitions.json#", "#")
        elif is_names or key not in _ABOUT:
            slim[key] = _slim(value, is_names=not is_names and key in _OF_NAMES)
    return slim


def _names(schema: Any) -> list[str]:
    return re.findall(r'"#/\$defs/([^"]+)"', json.dumps(schema))


def _write(name: str, schema: Any) -> None:
    (SCHEMAS / name).write_text(json.dumps(schema, separators=(",", ":"), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
