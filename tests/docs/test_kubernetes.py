"""The Kubernetes files that pages show have fields that there are, of the right types, and their commands work.

Written after the API reference of batch/v1 Job, core/v1 Pod (kubernetes.io/docs/reference/kubernetes-api) and the Dask
operator's DaskCluster (kubernetes.dask.org). Unknown
fields are refused, as `kubectl apply` does. No cluster is asked; a field that is not listed here yet is an error. What
the containers do is run on this machine, with the variables that Kubernetes and the operator would set.
"""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest

from decpomdp.cli.main import code_of
from docs.pages import fences

ROOT = Path(__file__).resolve().parents[2]
FILE = re.compile(r"^```yaml title=\"([^\"]+)\"\n(.*?)^```", re.S | re.M)
FILES = [
    pytest.param(text, id=f"{page.name}:{name}")
    for page in sorted((ROOT / "docs").rglob("*.md"))
    for name, text in FILE.findall(page.read_text())
]

Name = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=63)]
Count = Annotated[int, msgspec.Meta(ge=0)]
Quantity = (
    Annotated[str, msgspec.Meta(pattern=r"^[0-9]+(\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$")]
    | Annotated[float, msgspec.Meta(ge=0)]
)
Amounts = dict[Literal["cpu", "memory", "ephemeral-storage"], Quantity]


class Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    pass


class Metadata(Strict):
    name: Name
    namespace: Name = "default"
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class PodMetadata(Strict):
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class Variable(Strict):
    name: Annotated[str, msgspec.Meta(pattern=r"^[-._a-zA-Z][-._a-zA-Z0-9]*$")]
    value: str = ""
    value_from: dict[str, Any] | None = None


class Mount(Strict):
    name: Name
    mount_path: Annotated[str, msgspec.Meta(pattern=r"^/[^:]*$")]
    sub_path: str = ""
    read_only: bool = False


class Resources(Strict):
    requests: Amounts = {}
    limits: Amounts = {}


class Port(Strict):
    container_port: Annotated[int, msgspec.Meta(ge=1, le=65535)]
    name: Name = "port"
    protocol: Literal["TCP", "UDP"] = "TCP"


class HttpGet(Strict):
    port: int | Name
    path: str = "/"


class Probe(Strict):
    http_get: HttpGet
    initial_delay_seconds: Count = 0
    period_seconds: Count = 10
    timeout_seconds: Count = 1
    failure_threshold: Count = 3


class Container(Strict):
    ports: list[Port] = []
    readiness_probe: Probe | None = None
    liveness_probe: Probe | None = None
    name: Name = "container"
    image: str = ""
    command: list[str] = []
    args: list[str] = []
    working_dir: str = ""
    env: list[Variable] = []
    resources: Resources = Resources()
    volume_mounts: list[Mount] = []
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] = "IfNotPresent"
    security_context: dict[str, Any] = {}


class Claim(Strict):
    claim_name: Name
    read_only: bool = False


class Volume(Strict):
    name: Name
    persistent_volume_claim: Claim | None = None
    empty_dir: dict[str, Any] | None = None
    config_map: dict[str, Any] | None = None


class Pod(Strict):
    containers: Annotated[list[Container], msgspec.Meta(min_length=1)]
    restart_policy: Literal["Always", "Never", "OnFailure"] = "Always"
    volumes: list[Volume] = []
    termination_grace_period_seconds: Count = 30
    security_context: dict[str, Any] = {}
    node_selector: dict[str, str] = {}


class Template(Strict):
    spec: Pod
    metadata: PodMetadata = PodMetadata()


class ExitCodes(Strict):
    operator: Literal["In", "NotIn"]
    values: Annotated[list[int], msgspec.Meta(min_length=1)]
    container_name: str = ""


class PodCondition(Strict):
    type: str
    status: Literal["True", "False", "Unknown"] = "True"


class Rule(Strict):
    action: Literal["FailJob", "FailIndex", "Ignore", "Count"]
    on_exit_codes: ExitCodes | None = None
    on_pod_conditions: list[PodCondition] = []


class FailurePolicy(Strict):
    rules: list[Rule]


class JobSpec(Strict):
    template: Template
    completion_mode: Literal["Indexed", "NonIndexed"] = "NonIndexed"
    completions: Count = 1
    parallelism: Count = 1
    backoff_limit: Count = 6
    backoff_limit_per_index: Count | None = None
    max_failed_indexes: Count | None = None
    pod_failure_policy: FailurePolicy | None = None
    active_deadline_seconds: Count | None = None
    ttl_seconds_after_finished: Count | None = None
    suspend: bool = False


class Job(Strict):
    api_version: Literal["batch/v1"]
    kind: Literal["Job"]
    metadata: Metadata
    spec: JobSpec


class ServicePort(Strict):
    port: Annotated[int, msgspec.Meta(ge=1, le=65535)]
    target_port: int | Name
    name: Name = "port"
    protocol: Literal["TCP", "UDP"] = "TCP"


class Service(Strict):
    type: Literal["ClusterIP", "NodePort", "LoadBalancer"]
    selector: dict[str, str]
    ports: Annotated[list[ServicePort], msgspec.Meta(min_length=1)]


class DaskWorker(Strict):
    replicas: Count
    spec: Pod


class DaskScheduler(Strict):
    spec: Pod
    service: Service


class DaskSpec(Strict):
    worker: DaskWorker
    scheduler: DaskScheduler


class DaskCluster(Strict):
    api_version: Literal["kubernetes.dask.org/v1"]
    kind: Literal["DaskCluster"]
    metadata: Metadata
    spec: DaskSpec


KINDS = {"Job": Job, "DaskCluster": DaskCluster}


def checked(text: str) -> Job | DaskCluster:
    """The file as what it says it is; what the fields mean for each other is checked too."""
    thing = msgspec.yaml.decode(text, type=KINDS[msgspec.yaml.decode(text)["kind"]])
    if isinstance(thing, DaskCluster):
        scheduler = thing.spec.scheduler
        check_pod(thing.spec.worker.spec)
        check_pod(scheduler.spec)
        offered = {port.name for container in scheduler.spec.containers for port in container.ports}
        if not {port.target_port for port in scheduler.service.ports} <= offered:
            raise ValueError("the service leads to ports that the scheduler does not have")
        return thing
    spec = thing.spec
    pod = spec.template.spec
    check_pod(pod)
    if pod.restart_policy == "Always":
        raise ValueError("restartPolicy of a job: expected Never or OnFailure")
    if spec.backoff_limit_per_index is not None and spec.completion_mode != "Indexed":
        raise ValueError("backoffLimitPerIndex needs completionMode Indexed")
    if spec.pod_failure_policy is not None and pod.restart_policy != "Never":
        raise ValueError("podFailurePolicy needs restartPolicy Never")
    return thing


def check_pod(pod: Pod) -> None:
    """Mounts have their volumes, requests are within limits."""
    volumes = {volume.name for volume in pod.volumes}
    for container in pod.containers:
        for mount in container.volume_mounts:
            if mount.name not in volumes:
                raise ValueError(f"container {container.name} mounts {mount.name}, and there is no such volume")
        for name, asked in container.resources.requests.items():
            if name in container.resources.limits and amount(asked) > amount(container.resources.limits[name]):
                raise ValueError(f"container {container.name} asks for more {name} than its limit")


UNITS = {"m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "": 1}


def amount(quantity: str | float) -> float:
    if isinstance(quantity, float | int):
        return float(quantity)
    figures = re.match(r"[0-9.]+", quantity)[0]
    return float(figures) * UNITS[quantity[len(figures) :]]


@pytest.mark.parametrize("text", FILES)
def test_the_file_is_what_it_says(text):
    thing = checked(text)
    if isinstance(thing, Job):
        assert thing.spec.completion_mode == "Indexed"  # seeds are numbered by it
        assert thing.spec.parallelism <= thing.spec.completions


def test_there_is_one():
    assert FILES


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("completions: 20", "completion: 20"),
        ("completions: 20", "completions: twenty"),
        ("batch/v1", "batch/v2"),
        ("restartPolicy: Never", "restartPolicy: Always"),
        ("- {name: shared, mountPath: /shared}", "- {name: other, mountPath: /shared}"),
        ("limits: {cpu:", "limits: {cpus:"),
        ("memory: 1Gi", "memory: 3Gi"),
    ],
)
def test_mistakes_are_noticed(before, after):
    text = next(param.values[0] for param in FILES if before in param.values[0])
    with pytest.raises((msgspec.ValidationError, ValueError)):
        checked(text.replace(before, after))


def shown(name):
    page = (ROOT / "docs/howto/cluster.md").read_text()
    return next(fence.text for fence in fences(page) if fence.title == name)


def in_container(words, folder, **variables):
    """The process of a container; $(NAME) in its words is replaced as Kubernetes does."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    filled = [re.sub(r"\$\((\w+)\)", lambda found: variables[found[1]], word) for word in words]
    with (folder / "log.txt").open("a") as log:
        return subprocess.Popen(
            filled, cwd=folder, env={**os.environ, "PATH": path, **variables}, stdout=log, stderr=log
        )


def test_the_job_does_one_seed(tmp_path):
    """Slurm's variables are not there, and the seed is the index; a second pod finds the work done."""
    (tmp_path / "seed.sh").write_text(shown("seed.sh"))
    (container,) = checked(shown("job.yaml")).spec.template.spec.containers
    for _ in range(2):
        pod = in_container(container.command, tmp_path, JOB_COMPLETION_INDEX="3")
        assert pod.wait(300) == 0, (tmp_path / "log.txt").read_text()
    told = msgspec.json.decode((tmp_path / "runs/3/run.json").read_bytes())
    assert told["seed"] == 3


def test_scheduler_and_workers_find_each_other(tmp_path):
    """Other ports than the file's, because others may test here at the same time; all else as it says."""
    cluster = checked(shown("dask.yaml"))
    (scheduler,), (worker,) = cluster.spec.scheduler.spec.containers, cluster.spec.worker.spec.containers
    file = tmp_path / "scheduler.json"
    here = ("--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0")
    pods = [in_container([*scheduler.args, "--port", "0", "--scheduler-file", str(file), *here], tmp_path)]
    try:
        address = when(lambda: file.exists() and msgspec.json.decode(file.read_bytes() or b"{}").get("address"))
        given = {"DASK_SCHEDULER_ADDRESS": address, "DASK_WORKER_NAME": "team-worker-0"}
        pods.append(in_container([*worker.args, *here], tmp_path, **given))
        made = str(tmp_path / "made.parquet")
        asked = ["simulate", "dectiger", "--episodes", "2000", "--horizon", "5", "--out", made]
        assert code_of([*asked, "--engine", "dask", "--scheduler", address]) == 0
        assert Path(made).exists()
        assert "Registered to" in (tmp_path / "log.txt").read_text()
    finally:
        for pod in reversed(pods):
            pod.send_signal(signal.SIGTERM)
        for pod in reversed(pods):
            pod.wait(60)


def when(found, seconds=60):
    """What `found` gives as soon as it gives something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if answer := found():
            return answer
        time.sleep(0.05)
    raise TimeoutError
