#!/bin/sh
# Makes what compose.yaml needs and must not lie in a repository: certificates of an authority of its own, the services'
# token, passwords. What is there already stays; remove a certificate and its key to have them made anew.
set -eu
umask 077
cd "$(dirname "$0")"
mkdir -p secrets state state-of-grafana data

once() { # file, command: what the command prints, unless the file is there
    file="secrets/$1"
    shift
    [ -s "$file" ] || { "$@" > "$file.new" && mv "$file.new" "$file"; }
}
# Without TLS: the network `database` is within this host, and nobody else is on it.
ledger_url() { printf 'postgresql://sdcgate:%s@postgres:5432/sdcgate?sslmode=disable\n' "$(cat secrets/postgres.password)"; }

once service.token openssl rand -hex 32
once postgres.password openssl rand -hex 32
once grafana.password openssl rand -hex 16
once sdcgate_ledger_url ledger_url

[ -s secrets/authority.pem ] || openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 \
    -subj "/CN=sdcgate" -addext "keyUsage=critical,keyCertSign,cRLSign" \
    -keyout secrets/authority.key -out secrets/authority.pem
for name in gateway facility risk protection; do
    [ -s "secrets/$name.pem" ] || openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365 \
        -CA secrets/authority.pem -CAkey secrets/authority.key -subj "/CN=$name" \
        -addext "basicConstraints=critical,CA:FALSE" -addext "extendedKeyUsage=serverAuth,clientAuth" \
        -addext "subjectAltName=DNS:$name,DNS:localhost,IP:127.0.0.1" \
        -keyout "secrets/$name.key" -out "secrets/$name.pem"
done

# The containers run as whoever owns these files, and never as root.
user="$(id -u):$(id -g)"
[ "$(id -u)" != 0 ] || { user=10001:10001 && chown -R "$user" secrets state state-of-grafana data; }
[ -s .env ] || printf 'HOST_USER=%s\n' "$user" > .env
echo "Ready. Keep secrets/ and state/ apart from other backups: whoever has both can read microdata and forge the ledger."
