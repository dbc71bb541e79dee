"""Renders the chart by Helm's own engine, and checks what comes out against the schemas of Kubernetes: check.py ROOT"""

import sys

import helm_python as helm
import kubernetes_validate
import yaml

ROOT = sys.argv[1]
CHART = f"{ROOT}/deploy/helm"
VERSIONS = ["1.29", "1.31", "1.34"]
PEER = {"namespaceSelector": {"matchLabels": {"team": "search"}}}
SCRAPER = {"namespaceSelector": {"matchLabels": {"team": "monitoring"}}}
STORE = {"ports": [{"port": 5432}], "to": [{"podSelector": {"matchLabels": {"app": "postgres"}}}]}
EVERYTHING = {
    "autoscaling": {"enabled": True, "targetRequestsInFlight": 50},
    "networkPolicy": {
        "from": [PEER],
        "metricsFrom": [SCRAPER],
        "egress": {"enabled": True, "ports": [443, 8443], "rules": [STORE]},
    },
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}, "authorization": {"secret": "gateway"}},
    "imagePullSecrets": [{"name": "registry"}],
    "env": [{"name": "DATABASE_URL", "valueFrom": {"secretKeyRef": {"name": "database", "key": "url"}}}],
    "podAnnotations": {"team": "search"},
    "nodeSelector": {"pool": "gateways"},
    "tolerations": [{"key": "dedicated", "operator": "Exists"}],
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {"matchLabels": {"a": "b"}}}
    ],
}
FILES = {"cert": "/etc/gateway-tls/tls.crt", "key": "/etc/gateway-tls/tls.key"}
HTTPS = {
    "config": {"listen": {"port": 8443, "tls": FILES}, "admin": {"port": 9000, "tls": FILES}},
    "volumes": [{"name": "tls", "secret": {"secretName": "gateway-tls"}}],
    "volumeMounts": [{"name": "tls", "mountPath": "/etc/gateway-tls", "readOnly": True}],
    "serviceMonitor": {"enabled": True, "tlsConfig": {"serverName": "gateway.example"}},
}
ANY_USER = {"podSecurityContext": {"runAsUser": None, "runAsGroup": None, "fsGroup": None}}
VALUES = {
    "as shipped": {},
    "everything on": EVERYTHING,
    "an account and an image of others": {"serviceAccount": {"create": False, "name": "own"}, "image": {"tag": "1.2.3"}},
    "a shorter drain": {"terminationGracePeriodSeconds": 135, "config": {"limits": {"drain": "1m", "drain_delay": None}}},
    "HTTPS on other ports": HTTPS,
    "no admin listener, the user of the namespace": {"config": {"admin": None}, "networkPolicy": {"metricsFrom": [SCRAPER]}, **ANY_USER},
    "no disruption budget, no policy, no secrets": {"podDisruptionBudget": {"enabled": False}, "networkPolicy": {"enabled": False}, "envFrom": []},
}
REFUSED = {
    "an unknown name": {"replica": 3},
    "a text for a number": {"replicas": "many"},
    "a port that is a variable, which probes cannot follow": {"config": {"listen": {"port": "${PORT:-8080}"}}},
    "a port that is none": {"networkPolicy": {"egress": {"ports": [70000]}}},
}
# Helm allows 53 characters for the name of a release, Kubernetes 63 for that of a resource.
LONG_NAME = "r" * 53
MAX_NAME_CHARS = 63
TOO_SHORT = [{"terminationGracePeriodSeconds": 144}, {"config": {"limits": {"drain": "2 m"}}}, {"config": {"limits": {"drain_delay": "20500ms"}}}]
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


def only(made, kind):
    found = [one for one in made if one["kind"] == kind]
    expect(len(found) == 1, f"there is one {kind}, not {len(found)}")
    return found[0]


def pods(made):
    """What holds of the pods for all values: how they are probed, where configuration and secrets come from."""
    pod = only(made, "Deployment")["spec"]["template"]
    container = pod["spec"]["containers"][0]
    ports = {one["name"]: one["containerPort"] for one in container["ports"]}
    config = yaml.safe_load(only(made, "ConfigMap")["data"]["gateway.yaml"])
    scheme = "HTTPS" if "tls" in config["listen"] else "HTTP"
    for probe, path in {"startupProbe": "/livez", "livenessProbe": "/livez", "readinessProbe": "/readyz"}.items():
        expect(container[probe]["httpGet"] == {"path": path, "port": "http", "scheme": scheme}, f"{probe} asks {path} by {scheme}")
    mount = next(one for one in container["volumeMounts"] if one["name"] == "config")
    expect(mount["mountPath"] == "/etc/gateway" and "subPath" not in mount, "the ConfigMap is mounted as a folder, which is replaced")
    volume = next(one for one in pod["spec"]["volumes"] if one["name"] == "config")
    files = only(made, "ConfigMap")
    expect(volume["configMap"]["name"] == files["metadata"]["name"], "the mounted ConfigMap is the one that is made")
    listeners = {name: config[section]["port"] for name, section in {"http": "listen", "admin": "admin"}.items() if config.get(section)}
    expect(ports == listeners, "the ports are those of the configuration")
    secrets = [one["secret"] for one in [config.get("admin"), *config["keys"].values()] if one]
    expect(all(list(secret) == ["env"] for secret in secrets), "the ConfigMap names variables, and has no secret")
    for service in (one for one in made if one["kind"] == "Service"):
        expect(service["spec"]["selector"].items() <= pod["metadata"]["labels"].items(), "a service finds the pods")
        expect(service["spec"]["ports"][0]["targetPort"] in ports, "a service finds the port")
    return pod, container


def as_shipped(made):
    pod, container = pods(made)
    expect(container["envFrom"] == [{"secretRef": {"name": "gateway"}}], "secrets come from the Secret gateway")
    budget = only(made, "PodDisruptionBudget")["spec"]
    expect(budget["maxUnavailable"] == 1, "one pod at a time is taken away")
    policy = only(made, "NetworkPolicy")["spec"]
    for selector in (budget["selector"], policy["podSelector"]):
        expect(selector["matchLabels"].items() <= pod["metadata"]["labels"].items(), "budget and policy are about the pods")
    expect(policy["policyTypes"] == ["Ingress"] and "egress" not in policy, "what goes out is not bounded")
    expect(policy["ingress"] == [{"ports": [{"port": "http"}]}], "anyone may call the gateway, and no one the admin port")


def everything_on(made):
    pods(made)
    scaler = only(made, "HorizontalPodAutoscaler")["spec"]
    expect("gateway_requests_in_flight" in str(scaler["metrics"]), "the autoscaler reads a metric of the gateway")
    expect(scaler["scaleTargetRef"]["name"] == only(made, "Deployment")["metadata"]["name"], "the autoscaler scales the gateway")
    policy = only(made, "NetworkPolicy")["spec"]
    ingress = [{"ports": [{"port": "http"}], "from": [PEER]}, {"ports": [{"port": "admin"}], "from": [SCRAPER]}]
    expect(policy["ingress"] == ingress, "peers reach their port alone")
    names = [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]
    calls = [{"protocol": "TCP", "port": port} for port in (443, 8443)]
    expect(policy["policyTypes"] == ["Ingress", "Egress"], "what goes out is bounded")
    expect(policy["egress"] == [{"ports": names}, {"ports": calls}, STORE], "DNS, the ports and the store can be reached")
    monitor = only(made, OPERATOR)
    endpoint = monitor["spec"]["endpoints"][0]
    expect(endpoint["authorization"] == {"credentials": {"name": "gateway", "key": "GATEWAY_ADMIN_KEY"}}, "the admin key is sent")
    wanted = monitor["spec"]["selector"]["matchLabels"].items()
    found = [one for one in made if one["kind"] == "Service" and wanted <= one["metadata"]["labels"].items()]
    expect([one["spec"]["ports"][0]["name"] for one in found] == [endpoint["port"]], "the monitor finds the admin service")


def https(made):
    pod, container = pods(made)
    expect(HTTPS["volumes"][0] in pod["spec"]["volumes"] and HTTPS["volumeMounts"][0] in container["volumeMounts"], "the certificate is mounted")
    endpoint = only(made, OPERATOR)["spec"]["endpoints"][0]
    expect((endpoint["scheme"], endpoint["tlsConfig"]) == ("https", {"serverName": "gateway.example"}), "Prometheus speaks TLS")
    expect([one["spec"]["ports"][0]["port"] for one in made if one["kind"] == "Service"] == [80, 9000], "the admin service has its port")


def no_admin(made):
    pod, _ = pods(made)
    only(made, "Service")
    expect(len(only(made, "NetworkPolicy")["spec"]["ingress"]) == 1, "no policy names a port that is not there")
    expect(not pod["spec"]["securityContext"].keys() & {"runAsUser", "runAsGroup", "fsGroup"}, "the cluster chooses the user")


def restart_mark(chart, config):
    made = documents(chart.render({"config": config}, name="model"))
    return only(made, "Deployment")["spec"]["template"]["metadata"]["annotations"]["checksum/restart"]


def restarts(chart):
    """Pods are replaced by what only a restart changes, and by nothing else."""
    before = restart_mark(chart, {})
    live = [
        {"models": {"other-*": "sim"}},
        {"listen": {"trusted_proxies": ["10.0.0.0/8"], "cors": {"origins": ["https://app.example"]}}},
        {"admin": {"metrics": "off", "write": True, "secret": {"env": "OTHER"}, "oidc": {"client_id": "a"}}},
    ]
    fixed = [
        {"store": {"type": "redis"}},
        {"spool": {"memory": "1MiB"}},
        {"workers": 2},
        {"transport": "node"},
        {"listen": {"host": "127.0.0.1"}},
        {"listen": {"tls": {"cert": "a", "key": "b"}}},
        {"admin": {"port": 9000}},
    ]
    expect(all(restart_mark(chart, one) == before for one in live), "what is reloaded replaces no pod")
    marks = [restart_mark(chart, one) for one in fixed]
    expect(len({before, *marks}) == len(fixed) + 1, "what needs a restart replaces the pods")
    files = {"cert": "a", "key": "b"}
    marks = [restart_mark(chart, {"listen": {"tls": {**files, **more}}}) for more in ({}, {"cert": "c"}, {"client_ca": "d"})]
    expect(marks[0] == marks[1] != marks[2], "a certificate is reloaded, whether clients show one is not")


def names(chart):
    made = documents(chart.render({"serviceMonitor": {"enabled": True}, "autoscaling": {"enabled": True}}, name=LONG_NAME))
    expect(all(len(one["metadata"]["name"]) <= MAX_NAME_CHARS for one in made), "the names of a long release fit")


def drains(chart):
    """A pod that would be killed before it has drained is refused."""
    for values in TOO_SHORT:
        try:
            chart.render(values, name="model")
        except helm.HelmError as error:
            expect("terminationGracePeriodSeconds has to be at least" in str(error), error)
            continue
        sys.exit(f"the chart accepts {values}")


HOLDS = {
    "as shipped": as_shipped,
    "everything on": everything_on,
    "HTTPS on other ports": https,
    "no admin listener, the user of the namespace": no_admin,
}

with helm.Chart.load(CHART) as chart:
    report = helm.lint(CHART, {}, strict=True)
    expect(not report["errors"], report)
    for name, values in VALUES.items():
        chart.validate_schema(values)
        made = documents(chart.render(values, name="model"))
        for document in made:
            if document["kind"] != OPERATOR:
                valid(document, name)
        print(f"{name}: {len(made)} resources fit Kubernetes {', '.join(VERSIONS)}")
        if name == "as shipped":
            with open(f"{ROOT}/deploy/kubernetes/gateway.yaml", encoding="utf8") as file:
                plain = [one for one in yaml.safe_load_all(file) if one]
            expect(sorted(made, key=key) == sorted(plain, key=key), "deploy/kubernetes/gateway.yaml is what the chart renders")
        HOLDS.get(name, pods)(made)
    restarts(chart)
    names(chart)
    drains(chart)
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
