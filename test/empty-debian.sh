#!/bin/bash
# test/empty-debian.sh [trixie]        as root; needs debootstrap, systemd-container, slirp4netns, python3 and a Debian mirror
# Runs the commands of docs/install.md, docs/monitor.md and docs/backup.md as written, from the archive that `npm run release` made in
# dist/, in an empty Debian that boots systemd, most of them twice, and prints how long each took. Then it reboots, lets a backup fail and
# stops the service: mails must arrive. It also makes a new store by the commands of docs/import-export.md.
# What the documents do not have: answers to apt, names in /etc/hosts, a mail server, and a certificate of Caddy's own authority.
set -euo pipefail
suite=${1:-trixie}
repository=$(cd "$(dirname "$0")/.." && pwd)
machine=$(mktemp -d "/tmp/plant-store-$suite.XXXXXX")
network=$(basename "$machine")
root=$machine/root
authority=/var/lib/caddy/.local/share/caddy/pki/authorities/local/root.crt

clean_up() {
  kill "${booted:-}" "${slirp:-}" 2> /dev/null || true
  wait 2> /dev/null || true
  ip netns delete "$network" 2> /dev/null || true
  rm -rf "$machine"
}
trap clean_up EXIT

boot() {
  SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 systemd-nspawn --quiet --boot --register=no --keep-unit --directory="$root" --link-journal=no \
    --network-namespace-path="/run/netns/$network" --resolv-conf=off --timezone=off --console=pipe > "$machine/console" 2>&1 < /dev/null &
  booted=$!
  wait_for "systemctl is-system-running | grep -qE 'running|degraded'"
}

# As root signs in there.
inside() {
  local leader
  leader=$(pgrep -P "$booted" | head -1)
  nsenter -t "$leader" -m -u -i -n -p -C -r -w env -i HOME=/root USER=root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    DEBIAN_FRONTEND=noninteractive ${bundle:+"CURL_CA_BUNDLE=$bundle"} bash -c "cd /root/plant-store-*-linux-*/ 2> /dev/null || cd /root; $1"
}

wait_for() {
  for _ in {1..240}; do inside "$1" > /dev/null 2>&1 && return; sleep 1; done
  echo "waited for four minutes: $1"; exit 1
}

step() {
  local name=$1 start=$EPOCHREALTIME
  shift
  "$@" > "$machine/output" 2>&1 || { cat "$machine/output"; echo "FAILED: $name"; exit 1; }
  printf '%-50s %6.1f s\n' "$name" "$(echo "$EPOCHREALTIME - $start" | bc)"
}

# documented PAGE SECTION NUMBER: runs that code block of the section.
documented() {
  python3 - "$repository/docs/$1.md" "$2" "$3" > "$root/root/block.sh" << 'END'
import re, sys
section = re.search(r"(?ms)^##? " + re.escape(sys.argv[2]) + r"\n(.*?)(?=^## |\Z)", open(sys.argv[1]).read()).group(1)
print(re.findall(r"(?ms)^```sh\n(.*?)^```", section)[int(sys.argv[3])], end="")
END
  inside 'bash -e /root/block.sh'
}

# twice NAME PAGE SECTION NUMBER: runs that code block twice.
twice() {
  step "$1" documented "${@:2}"
  step "$1, a second time" documented "${@:2}"
}

mail_about() { wait_for "grep -rq '^Subject: .*$1' /root/mails"; }

mirror=$(sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/debian.sources 2> /dev/null | head -1)
step "an empty Debian, $suite" debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,ca-certificates,openssl,python3-aiosmtpd \
  "$suite" "$root" ${mirror:+"$mirror"}
# The name server of slirp4netns.
echo nameserver 10.0.2.3 > "$root/etc/resolv.conf"
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
echo 'APT::Get::Assume-Yes "true";' > "$root/etc/apt/apt.conf.d/99assume-yes"
echo '127.0.0.1 localhost plants.example.org mail.example.org' > "$root/etc/hosts"
case $(uname -m) in aarch64) target=linux-arm64 ;; *) target=linux-x64 ;; esac
archive=$(echo "$repository"/dist/plant-store-*-$target.tar.gz)
cp "$archive" "$root/root/"
mkdir "$root/root/mails"
cat > "$root/root/mail-server.py" << 'END'
import ssl, time
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult
class Mails:
    async def handle_DATA(self, server, session, envelope):
        open(f"/root/mails/{time.time()}", "wb").write(envelope.content)
        return "250 OK"
tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
tls.load_cert_chain("/root/mail.crt", "/root/mail.key")
def sign_in(server, session, envelope, mechanism, data):
    return AuthResult(success=(data.login, data.password) == (b"plants@example.org", b"SECRET"))
Controller(Mails(), hostname="127.0.0.1", port=587, tls_context=tls, authenticator=sign_in, auth_required=True).start()
time.sleep(1e9)
END
chroot "$root" openssl req -x509 -newkey rsa:2048 -nodes -keyout /root/mail.key -out /root/mail.crt -days 30 -subj /CN=mail.example.org \
  -addext subjectAltName=DNS:mail.example.org 2> /dev/null
cat "$root/root/mail.crt" >> "$root/etc/ssl/certs/ca-certificates.crt"
printf '[Service]\nExecStart=python3 /root/mail-server.py\n[Install]\nWantedBy=multi-user.target\n' > "$root/etc/systemd/system/mail-server.service"
systemctl --root="$root" --quiet enable mail-server

ip netns add "$network" && ip -n "$network" link set lo up
slirp4netns --netns-type=path --configure "/run/netns/$network" tap0 > /dev/null 2>&1 &
slirp=$!
step 'boot' boot
inside 'apt-get -qq update'
twice 'packages' install 'As a systemd service' 0
step 'unpack it, and start the service' documented install 'As a systemd service' 1
step 'unpack it, a second time' inside 'cd /root && bash -e block.sh'
twice 'the first plant and the first backup' install 'As a systemd service' 2
twice 'a new store without a plant' import-export 'Removing a plant' 0
step 'that runs' inside 'systemctl is-active plant-store && ! plant-store show 1 --database /var/lib/plant-store/plant-store.db'
inside 'plant-store token create --name again --database /var/lib/plant-store/plant-store.db > /root/again'
step 'the plant again' wait_for "curl --fail http://127.0.0.1:3000/plants -H 'Content-Type: application/json' \
  -d '{\"id\": 1, \"name\": \"Fern\"}' -H \"Authorization: Bearer \$(cat /root/again)\""
sed -i 's/^# tls internal/tls internal/' "$root"/root/plant-store-*-linux-*/deploy/Caddyfile
bundle=$authority twice 'https' install HTTPS 0
step 'a token' documented install Settings 0
twice 'doctor' install 'Check the machine' 0
step 'mail' documented monitor Mail 0
step 'until its mail' mail_about 'test failed'
rm "$root"/root/mails/*
step 'mail, a second time' documented monitor Mail 0
step 'until its mail' mail_about 'test failed'
twice 'Prometheus and Alertmanager' monitor Prometheus 0
step 'until its mail' mail_about Test
step 'a backup' inside 'systemctl start plant-store-backup'
twice 'a restore drill' backup Restore 0
twice 'a restore' backup Restore 1
inside 'systemctl reboot' || true
wait "$booted" || true
step 'a reboot' boot
step 'until the service is ready' wait_for 'plant-store ready'
inside 'plant-store show 1 --database /var/lib/plant-store/plant-store.db && systemctl is-active --quiet plant-store-backup.timer'
step 'until https responds' wait_for "curl --fail --cacert $authority https://plants.example.org/readyz"
inside 'mount -t tmpfs -o size=16k none /var/lib/private/plant-store-backups; ! systemctl start plant-store-backup 2> /dev/null
  umount /var/lib/private/plant-store-backups'
step 'a failing backup, until its mail' mail_about 'plant-store-backup.service failed'
inside 'systemctl stop plant-store'
step 'a stopped service, until its mail' mail_about PlantStoreDown
