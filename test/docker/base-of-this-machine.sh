#!/bin/sh
# Makes a base image for the Dockerfile without a registry: this machine's Node.js and npm, with the libraries and the
# few programs that they need. For Linux with glibc.
#
#   test/docker/base-of-this-machine.sh localhost/node-of-this-machine
set -eu
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
# It becomes the root, which others than root must be able to enter.
chmod 755 "$stage"

# To the same place in the image, which need not be a link there if it is one here.
take() {
  mkdir -p "$stage$(dirname "$1")"
  cp -rL "$1" "$stage$1"
}

for name in node sh env ln rm chmod install; do
  program=$(command -v "$name")
  for file in "$program" $(ldd "$program" | grep -o '/[^ ]*'); do take "$file"; done
done
# What every glibc image has, and native modules may name: empty by now, but looked for.
for file in $(ldd "$(command -v node)" | grep -o '/[^ ]*libc\.so\.6'); do
  for name in libdl.so.2 libpthread.so.0 librt.so.1; do
    if [ -e "$(dirname "$file")/$name" ]; then take "$(dirname "$file")/$name"; fi
  done
done
# npm's command is a link, by which it finds the rest of itself.
npm=$(command -v npm)
take "$(dirname "$(dirname "$(readlink -f "$npm")")")"
ln -s "$(readlink -f "$npm")" "$stage$npm"
# Authorities that this machine trusts beyond those of Node.js, such as a company's proxy.
authorities=/etc/ssl/certs/ca-certificates.crt
if [ -e "$authorities" ]; then take "$authorities"; fi

# As in every image: root's home is /root.
mkdir -p "$stage/etc" "$stage/root"
echo 'root:x:0:0:root:/root:/bin/sh' >"$stage/etc/passwd"
mkdir -p "$stage/usr/local/bin"
mkdir -m 1777 "$stage/tmp"
# The shell is looked for in /bin.
[ -e "$stage/bin" ] || ln -s usr/bin "$stage/bin"
tar -C "$stage" -c . | docker import \
  --change "ENV PATH=$(dirname "$(command -v node)"):/usr/local/bin:/usr/bin:/bin" \
  --change "ENV NODE_EXTRA_CA_CERTS=$authorities" \
  - "$1"
