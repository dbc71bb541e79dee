"""Renders the chart by Helm's own engine, and checks what comes out against the schemas of Kubernetes: check.py ROOT"""

import sys

import helm_python as helm
import kubernetes_validate
import yaml

ROOT = sys.argv[1]
CHART = f"{ROOT}/deploy/helm"
VERSIONS = ["1.29", "1.31", "1.34"]
PEER = {"namespaceSelector": {"matchLabels": {"team": "search"}}}
EVERYTHING = {
    "autoscaling": {"enabled": True, "targetRequestsInFlight": 50},
    "networkPolicy": {"enabled": True, "from": [PEER], "metricsFrom": [PEER]},
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "imagePullSecrets": [{"name": "registry"}],
    "env": [{"name": "DATABASE_URL", "valueFrom": {"secretKeyRef": {"name": "database", "key": "url"}}}],
    "podAnnotations": {"team": "search"},
    "nodeSelector": {"pool": "gateways"},
    "tolerations": [{"key": "dedicated", "operator": "Exists"}],
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {"matchLabels": {"a": "b"}}}
    ],
}
VALUES = {
    "as shipped": {},
    "everything on": EVERYTHING,
    "an account and an image of others": {"serviceAccount": {"create": False, "name": "own"}, "image": {"tag": "1.2.3"}},
    "no disruption budget, no secrets": {"podDisruptionBudget": {"enabled": False}, "envFrom": []},
}
REFUSED = {"an unknown name": {"replica": 3}, "a text for a number": {"replicas": "many"}}
# A resource of the Prometheus operator, which Kubernetes has no schema of.
OPERATOR = "ServiceMonitor"


def documents(rendered):
    texts = [text for path, text in sorted(rendered.items()) if path.endswith(".yaml")]
    return [one for text in texts for one in yaml.safe_load_all(text) if one]


def key(document):
    return document["kind"], document["metadata"]["name"]


def expect(holds, what):
    if not holds:
        sys.exit(f"does not hold: {what}")


def valid(document, what):
    for version in VERSIONS:
        try:
            kubernetes_validate.validate(document, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            sys.exit(f"{what}, Kubernetes {version}: {key(document)}: {error.message}")


with helm.Chart.load(CHART) as chart:
    report = helm.lint(CHART, {}, strict=True)
    expect(not report["errors"], report)
    for name, values in VALUES.items():
        chart.validate_schema(values)
        made = documents(chart.render(values, name="model"))
        for document in made:
            if document["kind"] == OPERATOR:
                expect(document["spec"]["endpoints"][0]["port"] == "admin", document)
            else:
                valid(document, name)
        print(f"{name}: {len(made)} resources fit Kubernetes {', '.join(VERSIONS)}")
        if name == "as shipped":
            with open(f"{ROOT}/deploy/kubernetes/gateway.yaml", encoding="utf8") as file:
                plain = [one for one in yaml.safe_load_all(file) if one]
            expect(sorted(made, key=key) == sorted(plain, key=key), "deploy/kubernetes/gateway.yaml is what the chart renders")
        if name == "everything on":
            kinds = {document["kind"] for document in made}
            wanted = {"HorizontalPodAutoscaler", "NetworkPolicy", "ServiceMonitor", "PodDisruptionBudget", "ConfigMap"}
            expect(wanted <= kinds, f"{wanted - kinds} are rendered")
            scaler = next(one for one in made if one["kind"] == "HorizontalPodAutoscaler")
            expect("gateway_requests_in_flight" in str(scaler["spec"]["metrics"]), "the autoscaler reads a metric of the gateway")
    for name, values in REFUSED.items():
        try:
            chart.validate_schema(values)
        except helm.HelmValuesError:
            continue
        sys.exit(f"the values' schema accepts {name}")

broken = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {"replica": 1}}
try:
    kubernetes_validate.validate(broken, VERSIONS[0], strict=True)
    sys.exit("a broken manifest was found good")
except kubernetes_validate.ValidationError:
    pass
print(f"Helm {helm.helm_sdk_version()}: {len(VALUES)} sets of values rendered, {len(REFUSED)} refused")
