# Sourced by .ci/run (needs its function `say`). engine_up leaves a working Docker engine that holds $BASE_IMAGE,
# or returns 1 with the reason in $NO_ENGINE. engine_down undoes what engine_up did.
BASE_IMAGE=docker.io/library/python:3.12-slim
NO_ENGINE= ENGINE_DIR= ENGINE_PID= ENGINE_BRIDGE=

engine_up() { # $1: a Python 3.12 (the stand-in base image gets a copy of its base prefix)
  _engine_start && say 'engine is up' && _engine_base "$1" && return 0
  engine_down; export NO_ENGINE; return 1
}

_engine_start() {
  if timeout 10 docker info --format '{{.ServerVersion}}' 2>/dev/null | grep -q .; then return 0; fi
  unset DOCKER_HOST
  [ "$(id -u)" = 0 ] || { NO_ENGINE="no Docker engine answers, and only root can start one"; return 1; }
  if ! type -P dockerd >/dev/null || ! type -P mmdebstrap >/dev/null; then
    type -P apt-get >/dev/null || { NO_ENGINE="no Docker engine, and no apt-get to install one"; return 1; }
    export DEBIAN_FRONTEND=noninteractive
    { timeout 120 apt-get -qq -o Acquire::Retries=3 -o DPkg::Lock::Timeout=60 update &&
      timeout 300 apt-get -qq -y -o Acquire::Retries=3 -o DPkg::Lock::Timeout=60 install --no-install-recommends docker.io mmdebstrap iproute2
    } >/tmp/engine-apt.log 2>&1 </dev/null || { NO_ENGINE="docker.io could not be installed: $(tail -n1 /tmp/engine-apt.log)"; return 1; }
  fi
  # a short path, since a Unix socket lies in it; in memory where there is room: twice as fast, and gone at once
  local at=/tmp; [ "$(df --output=avail -BG /dev/shm 2>/dev/null | tr -dc '0-9')" -ge 8 ] 2>/dev/null && at=/dev/shm
  ENGINE_DIR=$(mktemp -d $at/engine.XXXXXX)
  ENGINE_BRIDGE=eng$$                               # docker0 is shared: another engine with --bridge=none deletes it
  { ip link add name "$ENGINE_BRIDGE" type bridge && ip address add "172.31.$((RANDOM % 256)).1/24" dev "$ENGINE_BRIDGE" &&
    ip link set "$ENGINE_BRIDGE" up; } 2>"$ENGINE_DIR/log" || { NO_ENGINE="no network bridge: $(tail -n1 "$ENGINE_DIR/log")"; return 1; }
  # an engine of our own: own socket, data and bridge, published ports on loopback only
  setsid dockerd -H "unix://$ENGINE_DIR/docker.sock" --data-root "$ENGINE_DIR/data" --exec-root "$ENGINE_DIR/exec" \
    --pidfile "$ENGINE_DIR/docker.pid" --bridge "$ENGINE_BRIDGE" --ip 127.0.0.1 >"$ENGINE_DIR/log" 2>&1 </dev/null &
  ENGINE_PID=$!
  export DOCKER_HOST="unix://$ENGINE_DIR/docker.sock"
  export TESTCONTAINERS_RYUK_DISABLED=true           # its image would have to be pulled
  export TESTCONTAINERS_HOST_OVERRIDE=127.0.0.1 TESTCONTAINERS_CONNECTION_MODE=docker_host  # /.dockerenv exists on this machine
  local i
  for i in $(seq 150); do
    docker version >/dev/null 2>&1 && return 0
    kill -0 "$ENGINE_PID" 2>/dev/null || break
    sleep 0.2
  done
  NO_ENGINE="dockerd did not come up: $(grep -E 'level=(error|fatal)|^failed' "$ENGINE_DIR/log" | tail -n1)"; return 1
}

_engine_base() {
  docker image inspect "$BASE_IMAGE" >/dev/null 2>&1 && return 0
  timeout 120 docker pull -q "$BASE_IMAGE" >/dev/null 2>&1 && return 0
  # no registry: a stand-in from Debian's packages and the host's own CPython
  local py root=$ENGINE_DIR/rootfs
  [ -n "$ENGINE_DIR" ] || { NO_ENGINE="$BASE_IMAGE cannot be pulled"; return 1; }
  py=$("$1" -c 'import sys; assert sys.version_info[:2] == (3, 12); print(sys.base_prefix)') &&
    case $py in /usr|/usr/local|/) false;; esac || { NO_ENGINE="$BASE_IMAGE cannot be pulled, and no Python 3.12 to build a stand-in from"; return 1; }
  { timeout 300 mmdebstrap -q --variant=minbase \
      --include=ca-certificates,netbase,tzdata,libssl3t64,libffi8,libsqlite3-0,libreadline8t64,libbz2-1.0,liblzma5,zlib1g,libncursesw6,libuuid1,libexpat1 \
      trixie "$root" &&
    tar -C "$py" --exclude='*/test' --exclude='*/idlelib' --exclude='*/config-3*' --exclude=__pycache__ --exclude='*.a' \
      --exclude='_tkinter*' --exclude='site-packages/*' -cf - bin/python bin/python3 bin/python3.12 lib include | tar -C "$root/usr/local" --no-same-owner -xf - &&
    cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt" &&
    printf '[global]\ncert = /etc/ssl/certs/ca-certificates.crt\n' >"$root/etc/pip.conf" &&
    ldconfig -r "$root" &&
    chroot "$root" /usr/local/bin/python3.12 -m ensurepip --default-pip &&
    tar -C "$root" --numeric-owner -cf - . | docker import -c 'ENV PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin' \
      -c 'ENV LANG=C.UTF-8' -c 'ENV SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt' -c 'CMD ["python3"]' \
      -m 'stand-in, no registry' - "$BASE_IMAGE"
  } >"$ENGINE_DIR/base.log" 2>&1 </dev/null || { NO_ENGINE="no base image: $(tail -n1 "$ENGINE_DIR/base.log")"; return 1; }
  rm -rf "$root"
}

engine_down() {
  [ -n "$ENGINE_DIR" ] || return 0
  local i
  if [ -n "$ENGINE_PID" ]; then
    kill "$ENGINE_PID" 2>/dev/null || :               # TERM: dockerd stops its containers
    for i in $(seq 150); do kill -0 "$ENGINE_PID" 2>/dev/null || break; sleep 0.1; done
    kill -KILL "$ENGINE_PID" 2>/dev/null || :
    wait "$ENGINE_PID" 2>/dev/null || :
  fi
  local t rule                                        # dockerd leaves its bridge's rules
  for t in filter nat; do
    { iptables -t $t -S 2>/dev/null || :; } | sed -n "/ $ENGINE_BRIDGE /s/^-A /-D /p" | while read -r rule; do iptables -t $t $rule || :; done
  done
  ip link delete "$ENGINE_BRIDGE" 2>/dev/null || :
  awk -v d="$ENGINE_DIR/" 'index($2, d) == 1 {print $2}' /proc/mounts | sort -r | xargs -r -n1 umount -l || :
  rm -rf "$ENGINE_DIR" || :
  ENGINE_DIR= ENGINE_PID=; unset DOCKER_HOST
}
