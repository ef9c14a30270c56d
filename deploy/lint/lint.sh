#!/usr/bin/env bash
# Container file, compose file, units, chart and contract, by the tools of the field in these versions.
# Needs Go, Debian's systemd and apt, and the environment of `make`; tools and schemas are kept in build/tools.
set -euo pipefail
cd "$(dirname "$0")/../.."

HELM=v3.22.0
KUBECONFORM=v0.8.0
CERT_MANAGER=v1.21.2
GATEWAY_API=v1.6.3
PROMETHEUS_OPERATOR=v0.85.0
KUBERNETES=(1.30.0 1.34.0 1.37.0)

python=.venv/bin/python
tools=$PWD/build/tools
chart=helm/sdcgate
export PATH=$tools/python/bin:$PATH

say() { printf '== %s\n' "$*"; }

go_tool() { # name, package, version: a build of this version, made once
    local folder=$tools/$1-$3
    [ -x "$folder/$1" ] || { say "build $1 $3" && GOBIN=$folder go install -trimpath "$2@$3"; }
    PATH=$folder:$PATH
}

promtool_of_debian() { # the module of Prometheus names versions that the proxy of modules has not
    if ! command -v promtool > /dev/null; then
        local folder=$tools/debian
        [ -x "$folder/usr/bin/promtool" ] ||
            (mkdir -p "$folder" && cd "$folder" && { apt-get download prometheus || { apt-get update && apt-get download prometheus; }; } &&
                dpkg-deb --extract prometheus_*.deb .)
        PATH=$folder/usr/bin:$PATH
    fi
}

python_tools() {
    local mark
    mark=$tools/python/.$(sha256sum deploy/lint/requirements.txt | cut -c1-16)
    [ -e "$mark" ] && return
    "$python" -m venv --clear "$tools/python"
    "$tools/python/bin/pip" install --quiet --disable-pip-version-check --requirement deploy/lint/requirements.txt
    touch "$mark"
}

schemas() { # of Kubernetes, and of what the chart makes beyond it from the modules that define it
    local mark definitions=() module
    mark=$tools/schemas/.$(cat deploy/lint/lint.sh deploy/lint/schemas.py | sha256sum | cut -c1-16)
    [ -e "$mark" ] && return
    say "make schemas"
    rm -rf "$tools/schemas"
    for module in "github.com/cert-manager/cert-manager@$CERT_MANAGER/deploy/crds" \
        "sigs.k8s.io/gateway-api@$GATEWAY_API/config/crd/standard" \
        "github.com/prometheus-operator/prometheus-operator@$PROMETHEUS_OPERATOR/example/prometheus-operator-crd"; do
        [[ $module =~ ^(.*@[^/]*)/(.*)$ ]]
        definitions+=("$(folder_of "${BASH_REMATCH[1]}")/${BASH_REMATCH[2]}"/*.yaml)
    done
    "$tools/python/bin/python" deploy/lint/schemas.py "$tools/schemas" \
        --kubernetes "${KUBERNETES[@]}" --definitions "${definitions[@]}"
    touch "$mark"
}

folder_of() { # of a Go module that has been fetched
    go mod download -json "$1" | "$python" -c 'import json, sys; print(json.load(sys.stdin)["Dir"])'
}

lint_containers() {
    say "hadolint, shellcheck, compose schema"
    hadolint --failure-threshold info deploy/container/Containerfile
    shellcheck deploy/compose/prepare.sh deploy/lint/lint.sh
    prepare
    check-jsonschema --builtin-schema vendor.compose-spec deploy/compose/compose.yaml
}

prepare() { # twice: what is there stays
    local folder name
    folder=$(mktemp -d)
    cp -r deploy/compose/. "$folder"
    "$folder/prepare.sh" > "$tools/prepared" 2>&1 || { cat "$tools/prepared" && return 1; }
    for name in gateway facility risk protection; do
        openssl verify -CAfile "$folder/secrets/authority.pem" -purpose sslserver -verify_hostname $name "$folder/secrets/$name.pem"
        openssl verify -CAfile "$folder/secrets/authority.pem" -purpose sslclient "$folder/secrets/$name.pem" > /dev/null
    done
    cp -r "$folder/secrets" "$folder/before"
    "$folder/prepare.sh" > /dev/null && diff -r "$folder/before" "$folder/secrets"
    rm -r "$folder"
}

lint_units() {
    say "systemd-analyze"
    local root service
    root=$(mktemp -d)
    mkdir -p "$root/etc/systemd/system" "$root/opt/sdcgate/bin" "$root/bin" "$root/usr/lib/systemd"
    cp -r deploy/systemd/* "$root/etc/systemd/system/"
    cp -r /usr/lib/systemd/system "$root/usr/lib/systemd/"
    # Verified is that the programs are there, too.
    cp /bin/true "$root/opt/sdcgate/bin/sdcgate" && cp /bin/kill "$root/bin/"
    systemd-analyze verify --root="$root" sdcgate.target sdcgate-gateway.socket
    for service in sdcgate-{risk,protection,facility,gateway}.service; do
        systemd-analyze verify --root="$root" "$service"
        # Of 100, the less the better; a unit that sets nothing has 96.
        systemd-analyze security --root="$root" --offline=true --threshold=15 "$service" | tail -n 1
    done
    rm -r "$root"
}

lint_chart() {
    local values version
    for values in "$chart"/ci/*.yaml; do
        say "helm, kubeconform: $values"
        helm lint --strict --quiet --values "$values" "$chart"
        for version in "${KUBERNETES[@]}"; do
            helm template gate "$chart" --namespace sdcgate --kube-version "$version" --values "$values" > "$tools/rendered.yaml"
            kubeconform -strict -summary -kubernetes-version "$version" \
                -schema-location "$tools/schemas/$version/{{ .ResourceKind }}{{ .KindSuffix }}.json" \
                -schema-location "$tools/schemas/{{ .Group }}/{{ .ResourceKind }}_{{ .ResourceAPIVersion }}.json" \
                "$tools/rendered.yaml"
            env -i "$python" deploy/lint/rendered.py < "$tools/rendered.yaml"
        done
    done
    for values in "$chart"/ci/refused/*.yaml; do
        # The first line says where the schema has to find it.
        if helm template gate "$chart" --kube-version "${KUBERNETES[0]}" --values "$values" > /dev/null 2> "$tools/refusal"; then
            say "accepted, and should be refused: $values" && return 1
        fi
        grep --quiet --fixed-strings "$(head -n 1 "$values" | cut -c3-)" "$tools/refusal" || { cat "$tools/refusal" && return 1; }
    done
}

lint_monitoring() {
    say "promtool"
    sed "s#/etc/prometheus/rules#$PWD/deploy/prometheus#" deploy/compose/prometheus.yml > "$tools/prometheus.yml"
    promtool check config "$tools/prometheus.yml"
    make lint-rules PROMTOOL="$(command -v promtool)"
}

lint_contract() { # against what the version before means; docs/house.md says when that file is made
    local against=tests/contract/previous.binpb.gz
    say "buf lint, buf breaking against $against"
    .venv/bin/buf lint
    .venv/bin/buf breaking --against "$against"
}

python_tools
go_tool helm helm.sh/helm/v3/cmd/helm $HELM
go_tool kubeconform github.com/yannh/kubeconform/cmd/kubeconform $KUBECONFORM
promtool_of_debian
schemas
lint_containers
lint_units
lint_chart
lint_monitoring
lint_contract
say "all in order"
