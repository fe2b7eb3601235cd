"""The two scripts that a guest starts with. Whatever they do not do, the guest does not have.

The first runs in the initial RAM disk and mounts the disks; the second starts the link. Disks come
in this order: root image, start archive, the sandbox's files, then one for each read-only folder.
"""

from typing import Final

READY: Final = b"ready"
FAILED: Final = b"atoll: failed"
SERVING: Final = b"serving"
"""The line by which a guest says that it takes a script."""

LINK_PORT: Final = "/dev/atoll-link"
STARTED: Final = "/run/atoll"
VIEWS: Final = "/mnt"
FILES: Final = "/box"
LETTERS: Final = "defghijklmnopqrstuvwxyz"
"""Letters of the disks of read-only folders: those that a guest's own three leave."""

PLACES: Final = ("box", "dev", "mnt", "proc", "run", "sys", "tmp")

FIRST: Final = r"""#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /new
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
exec </dev/null >/dev/console 2>&1
die() { echo "atoll: failed: $*"; poweroff -f; }
for m in /modules/*.ko; do insmod "$m" || die "module $m"; done
n=0; while [ ! -b /dev/vdc ]; do
  n=$((n+1)); [ $n -gt 600 ] && die "no disks"; sleep 0.05
done
mount -t ext4 -o ro,nodev,nosuid /dev/vda /new || die "root image"
mount -t tmpfs -o mode=755,nodev run /new/run
mkdir /new/run/atoll
tar -x -C /new/run/atoll -f /dev/vdb || die "start archive"
cp /bin/busybox /new/run/atoll/busybox
mount -t ext4 -o nodev,nosuid /dev/vdc /new/box || die "the disk with its files"
mount -t tmpfs -o mode=755,nodev views /new/mnt
mount -t tmpfs -o mode=1777,nodev,nosuid,size=64m tmp /new/tmp
for d in d e f g h i j k l m n o p q r s t u v w x y z; do
  [ -b "/dev/vd$d" ] || break
  mkdir "/new/mnt/$d" && mount -t ext4 -o ro,nodev,nosuid "/dev/vd$d" "/new/mnt/$d" ||
    die "read-only disk $d"
done
rm -rf /new/box/.live
for d in $(cat /new/run/atoll/live 2>/dev/null); do
  mkdir -p "/new/box/.live/$d" && mkdir -m 755 "/new/box/.live/$d/new" "/new/box/.live/$d/work" &&
    mount -t overlay -o "nodev,nosuid,lowerdir=/new/mnt/$d,upperdir=/new/box/.live/$d/new,\
workdir=/new/box/.live/$d/work" live "/new/mnt/$d" || die "what is new in disk $d"
done
mount --move /proc /new/proc; mount --move /sys /new/sys; mount --move /dev /new/dev
exec switch_root /new /bin/sh /run/atoll/second
"""
"""The init of the initial RAM disk."""

SECOND: Final = r"""
exec </dev/null >/dev/console 2>&1
cd /
b=/run/atoll/busybox
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs -o mode=1777,nodev,nosuid shm /dev/shm
# A machine that is killed loses no more than the last seconds.
echo 300 >/proc/sys/vm/dirty_expire_centisecs
echo 100 >/proc/sys/vm/dirty_writeback_centisecs
umask 077
mkdir -p /box/workspace /box/state
while read -r name; do mkdir -p "/box/state/$name"; done </run/atoll/states
rm -rf /box/etc; cp -R /run/atoll/etc /box/etc
chown 1000:1000 /box /box/workspace /box/state /box/state/*
chown -R 1000:1000 /box/etc
port() {
  n=0
  while :; do
    for d in /sys/class/virtio-ports/*; do
      [ "$(cat "$d/name" 2>/dev/null)" = "$1" ] && echo "/dev/${d##*/}" && return
    done
    n=$((n+1)); [ $n -gt 600 ] && exit 1
    sleep 0.05
  done
}
link_port=$(port atoll.link) && stop_port=$(port atoll.stop) && files_port=$(port atoll.files) || {
  echo "atoll: failed: no ports"; $b poweroff -f
}
ln -s "$link_port" /dev/atoll-link; chown 1000:1000 "$link_port"
exec 3</run/atoll/key; rm /run/atoll/key
sh /run/atoll/run <&3 3<&- &
link=$!
exec 3<&-
(while kill -0 $link; do
  read -r word <"$stop_port" && kill -TERM $link
  sleep 0.3
done) 2>/dev/null &
(while kill -0 $link; do
  sh /run/atoll/serve 0<>"$files_port" 1>&0
  sleep 0.2
done) 2>/dev/null &
wait $link
echo "atoll: the link ended with $?"
umount /box || sync
$b poweroff -f
"""
"""PID 1 of the guest, once the disks are there."""

SERVE: Final = rf"""
umask 077
rm -rf /run/atoll/asked; mkdir /run/atoll/asked; cd /run/atoll/asked
echo {SERVING.decode()}
read -r size && head -c "$size" >script || exit
while read -r size; do
  [ "$size" != 0 ] || {{ : >whole; break; }}
  head -c "$size"
done | {{
  sh script >output 2>complaint
  echo $? >code
  cat >/dev/null
}}
[ -e whole ] || exit
echo "$(cat code) $(wc -c <output) $(wc -c <complaint)"
cat output complaint
while read -r size; do :; done
"""
"""Serves one script over a port: its size and text, then chunks of its input, each after its size,
the last one of 0. Answers with its code and the sizes of what it printed, then with that. It waits
until the other side went away: what follows belongs to the next connection."""

FACTS: Final = r"""
exec </dev/null >/dev/console 2>&1
echo  # ends the line that the firmware began
for n in bin sbin lib lib64 lib32 libx32; do
  if [ -L "/$n" ]; then echo "link $n $(readlink "/$n")"
  elif [ -d "/$n" ]; then echo "folder $n"; fi
done
while read -r p; do
  if [ -d "$p" ]; then echo "masked-folder $p"; elif [ -e "$p" ]; then echo "masked-file $p"; fi
done </run/atoll/masked
echo "machine $(uname -s) $(uname -m)"
echo "base /box"
echo ready
/run/atoll/busybox poweroff -f
"""
"""The second script of a trial: it prints facts of the guest, as a machine's shell would."""
