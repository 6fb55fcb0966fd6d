"""Compose's and Kubernetes' files: valid by the schemas of both, configured as the service reads it, and locked down.

Nothing here runs them: there is neither a Docker daemon nor a cluster where the tests run.
"""

from __future__ import annotations

import copy
import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import typer.main
import yaml
from handraise.cli.app import app

from bot.app import build_app
from bot.config.loading import load
from core.errors import ConfigError
from tests.deploy import manifests
from tests.world import World

OBJECTS = {f"{one['kind']} {one['metadata']['name']}": one for one in manifests.kubernetes()}
VERSION = tomllib.loads((manifests.ROOT / "pyproject.toml").read_text())["project"]["version"]


def test_the_compose_file_is_one() -> None:
    jsonschema_rs.validate(manifests.schema("compose-spec"), manifests.compose())


@pytest.mark.parametrize("name", OBJECTS)
def test_each_kubernetes_object_is_of_its_kind(name: str) -> None:
    jsonschema_rs.validate(manifests.schema_of(OBJECTS[name]["kind"]), OBJECTS[name])


def test_the_schemas_refuse_what_is_misspelt() -> None:
    composed = manifests.compose()
    composed["services"]["handraise"]["readonly"] = True
    assert not jsonschema_rs.is_valid(manifests.schema("compose-spec"), composed)
    deployment = copy.deepcopy(OBJECTS["Deployment handraise-api"])
    deployment["spec"]["template"]["spec"]["containers"][0]["livenessProb"] = {}
    assert not jsonschema_rs.is_valid(manifests.schema_of("Deployment"), deployment)


@pytest.mark.parametrize("missing", manifests.GIVEN)
def test_compose_asks_for_what_it_has_to_be_given(missing: str) -> None:
    given = {name: value for name, value in manifests.GIVEN.items() if name != missing}
    with pytest.raises(KeyError, match=missing):
        manifests.compose(given)


def _commands() -> dict[str, list[str]]:
    """What each container of ours is started with."""
    default = json.loads(dict(manifests.instructions())["CMD"])
    composed = {f"compose: {name}": one.get("command", default) for name, one in manifests.our_services().items()}
    return composed | {f"kubernetes: {name}": pod["containers"][0]["args"] for name, pod in manifests.pods()}


@pytest.mark.parametrize("command", _commands().values(), ids=_commands())
def test_each_container_is_started_with_a_command_that_there_is(command: list[str]) -> None:
    group: Any = typer.main.get_command(app)
    name, *arguments = command
    found = group.get_command(None, name)
    assert found is not None, f"there is no {name}"
    found.make_context(name, list(arguments))


def test_the_service_takes_what_compose_gives_it(tmp_path: Path) -> None:
    file = tmp_path / "handraise.yaml"
    file.write_text("{}")
    for service in manifests.our_services().values():
        environ = _ours(manifests.image_variables()) | service["environment"] | manifests.SECRETS
        assert load(file, environ).database_url == "postgresql+psycopg://handraise:secret@postgres/handraise"


def test_the_service_takes_what_kubernetes_gives_it(tmp_path: Path) -> None:
    file = tmp_path / "handraise.yaml"
    file.write_text(OBJECTS["ConfigMap handraise"]["data"]["handraise.yaml"])
    given = OBJECTS["Secret handraise"]["stringData"] | manifests.SECRETS
    for _, pod in manifests.pods():
        own = {one["name"]: one["value"] for one in pod["containers"][0].get("env", [])}
        settings = load(file, _ours(manifests.image_variables()) | given | own)
        assert (settings.http.host, settings.http.port) == ("0.0.0.0", 8080)


def test_kubernetes_starts_nothing_before_the_secret_is_made(tmp_path: Path) -> None:
    """Whoever applies the file as it stands is told what is missing, and gets no service that others can sign in to."""
    file = tmp_path / "handraise.yaml"
    file.write_text(OBJECTS["ConfigMap handraise"]["data"]["handraise.yaml"])
    with pytest.raises(ConfigError) as refused:
        load(file, _ours(manifests.image_variables()) | OBJECTS["Secret handraise"]["stringData"])
    assert "secret_key is missing" in refused.value.message
    assert "openssl rand -hex 32" in refused.value.message


def _ours(variables: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if name.startswith("HANDRAISE_")}


@pytest.mark.parametrize("name", manifests.compose()["services"])
def test_no_container_of_compose_may_do_more_than_it_has_to(name: str) -> None:
    service = manifests.compose()["services"][name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service.get("cap_add", []) == (["NET_BIND_SERVICE"] if name == "proxy" else [])
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []) if name != "proxy")


@pytest.mark.parametrize(("name", "pod"), list(manifests.pods()))
def test_no_pod_may_do_more_than_it_has_to(name: str, pod: dict[str, Any]) -> None:
    [container] = pod["containers"]
    uid = int(dict(manifests.instructions())["USER"].split(":")[0])
    assert pod["securityContext"].items() >= {"runAsNonRoot": True, "runAsUser": uid}.items()
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert (pod["automountServiceAccountToken"], pod["enableServiceLinks"]) == (False, False), name


def test_every_image_is_named_by_its_version() -> None:
    images = [one["image"] for one in manifests.compose()["services"].values()]
    images += [pod["containers"][0]["image"] for _, pod in manifests.pods()]
    ours = [image for image in images if "handraise" in image]
    assert {image.rpartition(":")[2] for image in ours} == {VERSION}
    assert all(image.rpartition(":")[2][0].isdigit() for image in images)


def test_what_runs_for_long_is_probed_where_the_service_answers(world: World) -> None:
    paths = {getattr(route, "path", "") for route in build_app(world.service).routes}
    for name, pod in manifests.pods():
        if not name.endswith("migrate"):
            [container] = pod["containers"]
            probes = {kind: container[f"{kind}Probe"]["httpGet"] for kind in ("startup", "liveness", "readiness")}
            assert {kind: probe["path"] for kind, probe in probes.items()} == {
                "startup": "/healthz",
                "liveness": "/healthz",
                "readiness": "/readyz",
            }
            assert {probe["path"] for probe in probes.values()} <= paths
            assert container["ports"] == [{"name": "http", "containerPort": 8080}]


def test_each_selector_finds_its_pods() -> None:
    labels = [one["spec"]["template"]["metadata"]["labels"] for one in OBJECTS.values() if one["kind"] == "Deployment"]
    for name, one in OBJECTS.items():
        if one["kind"] in {"Service", "PodDisruptionBudget", "Deployment"}:
            selector = one["spec"]["selector"]
            wanted = selector.get("matchLabels", selector)
            assert sum(wanted.items() <= of.items() for of in labels) == 1, name


def test_a_reload_finds_the_folder_and_not_a_single_file() -> None:
    """A single file that is mounted stays the old one when an editor, or a ConfigMap, puts a new one in its place."""
    mounts = [volume["target"] for one in manifests.our_services().values() for volume in one["volumes"]]
    mounted = [mount for _, pod in manifests.pods() for mount in pod["containers"][0]["volumeMounts"]]
    assert "/etc/handraise" in mounts
    assert not [mount for mount in mounted if "subPath" in mount or mount["mountPath"].endswith(".yaml")]
    assert not [target for target in mounts if target.endswith(".yaml")]


def test_the_image_is_the_service_and_neither_it_nor_the_tools_run_as_root() -> None:
    assert manifests.base_of_the_default() == "service"
    users = [dict(manifests.instructions(stage))["USER"] for stage in ("service", "tools")]
    assert users == ["10001:10001", "10001:10001"]
    targets = {name: one["build"].get("target") for name, one in manifests.our_services().items()}
    assert {name for name, target in targets.items() if target} == {"tools"}


def test_no_file_of_yours_gets_into_the_image() -> None:
    yours = [
        "handraise.yaml",
        "handraise.db",
        ".env",
        "deploy/.env",
        "deploy/secrets.env",
        "deploy/config/x",
        ".git/config",
    ]
    assert [path for path in yours if manifests.is_sent_to_docker(path)] == []
    assert manifests.is_sent_to_docker("bot/app.py")


def test_nothing_in_the_files_is_a_secret() -> None:
    secrets = OBJECTS["Secret handraise"]["stringData"]
    assert all("change-me" in value for value in secrets.values() if value)
    assert "key:" not in yaml.safe_dump(yaml.safe_load(OBJECTS["ConfigMap handraise"]["data"]["handraise.yaml"]))
