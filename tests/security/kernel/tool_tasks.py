"""What ordinary programs are asked to do inside, and what they print when it worked."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Task:
    """A script for /bin/sh in an empty folder; `says` is in what it prints. Where one of the
    `programs` is missing there is nothing to try."""

    programs: tuple[str, ...]
    script: str
    says: str


WHO = "-c user.name=a -c user.email=a@b.example"

QUICK = {
    "git": Task(
        ("git",),
        f"""git init -q -b main one && cd one && seq 2000 > f && git add f
        git {WHO} commit -qm first && git clone -q . ../two && cd ../two
        git gc -q --prune=now && git fsck --no-progress && git worktree add -q ../three
        cd ../three && echo more >> f && git {WHO} commit -qam second
        git push -q origin HEAD:second && git -C ../one log --oneline second""",
        "second\n",
    ),
    "node": Task(
        ("node",),
        """cat > a.js <<'X'
        const os = require("os"), http = require("http"), { Worker } = require("worker_threads");
        require("fs").watch(".", () => {}).close();
        console.log(Object.keys(os.networkInterfaces()));
        console.log(require("child_process").execSync("echo child").toString());
        new Worker("require('worker_threads').parentPort.postMessage(6)", { eval: true })
          .on("message", n => {
            const server = http.createServer((_, answer) => answer.end(String(n * 7)));
            server.listen(0, "127.0.0.1", async () => {
              const got = await fetch(`http://127.0.0.1:${server.address().port}`);
              console.log("answer", await got.text()); server.close();
            });
          });
X
        node a.js""",
        "answer 42\n",
    ),
    "gcc": Task(
        ("gcc",),
        r"""printf '#include <stdio.h>\nint main(){puts("compiled");}' > a.c
        gcc -O2 -o a a.c && ./a""",
        "compiled\n",
    ),
    "sqlite": Task(
        ("python3",),
        """python3 -c '
import sqlite3
base = sqlite3.connect("d.db")
base.execute("pragma journal_mode=wal")
base.execute("pragma synchronous=full")
base.execute("create table t(a)")
base.execute("insert into t values(40),(2)")
base.commit()
base.execute("vacuum")
print("sum", base.execute("select sum(a) from t").fetchone()[0])'""",
        "sum 42\n",
    ),
    "fakeroot": Task(
        ("fakeroot", "dpkg-deb"),
        r"""mkdir -p k/DEBIAN k/opt && echo inside > k/opt/f && chmod 755 k k/*
        printf 'Package: k\nVersion: 1\nArchitecture: all\nMaintainer: a\nDescription: k\n' \
            > k/DEBIAN/control
        fakeroot sh -c 'chmod 4755 k/opt/f; chmod 2755 k/opt; dpkg-deb -b k && dpkg-deb -c k.deb'
        dpkg-deb --fsys-tarfile k.deb | tar -xO ./opt/f""",
        "-rwsr-xr-x root/root",
    ),
    "flushing": Task(
        ("sync", "dd"),
        "echo x > f && sync && sync f && sync -f . && dd if=f of=g conv=fsync && echo flushed",
        "flushed\n",
    ),
}

SLOW = {
    "npm": Task(
        ("npm",),
        r"""mkdir p && cd p && cat > package.json <<'X'
        {"name":"p","version":"1.0.0","bin":"x.js","scripts":{"postinstall":"node after.js"}}
X
        echo 'require("fs").writeFileSync("ran", "1")' > after.js
        printf '#!/usr/bin/env node\nconsole.log("ran", 6 * 7)' > x.js
        npm pack -s && mkdir ../q && cd ../q && npm init -y > /dev/null
        npm install --offline --no-audit ../p/p-1.0.0.tgz && npx --offline p""",
        "ran 42\n",
    ),
    "pip": Task(
        ("python3", "pip3"),
        """cat > make.py <<'X'
import zipfile
with zipfile.ZipFile("hello-1-py3-none-any.whl", "w") as wheel:
    wheel.writestr("hello/__init__.py", "def f(): return 42")
    wheel.writestr("hello-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: hello\\nVersion: 1")
    wheel.writestr("hello-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nTag: py3-none-any\\n")
    wheel.writestr("hello-1.dist-info/RECORD", "")
X
        python3 make.py && python3 -m venv v && . v/bin/activate
        pip install --no-index hello-1-py3-none-any.whl
        ls v/lib/python3*/site-packages/hello/__pycache__
        python -c 'import hello; print("hello", hello.f())'""",
        "hello 42\n",
    ),
    "cargo": Task(
        ("cargo",),
        "cargo init -q --name hello --vcs none && cargo build -q --offline && target/debug/hello",
        "Hello, world!\n",
    ),
    "jvm": Task(
        ("javac", "java"),
        """cat > A.java <<'X'
        public class A {
          public static void main(String[] a) throws Exception {
            System.out.println(java.net.NetworkInterface.networkInterfaces().count() + " face");
            System.out.println("sum " + java.util.stream.IntStream.range(0, 2000000).parallel()
              .mapToObj(i -> new byte[100]).mapToLong(b -> b.length).sum());
          }
        }
X
        javac A.java && java -XX:+UseParallelGC -Xmx128m A && java -XX:+UseLargePages -Xmx128m A""",
        "sum 200000000\n",
    ),
    "chromium": Task(
        ("chromium",),
        """echo '<p id=a></p><script>document.all.a.textContent = 6 * 7</script>' > p.html
        chromium --headless --no-sandbox --disable-gpu --dump-dom "file://$PWD/p.html"
        chromium --headless --disable-gpu --dump-dom "file://$PWD/p.html" | tr '<' '+'""",
        '+p id="a">42',
    ),
    "postgres": Task(
        ("/usr/lib/postgresql/15/bin/initdb",),
        """PATH=/usr/lib/postgresql/15/bin:$PATH; export PGHOST=$PWD
        initdb -D d -A trust > log && pg_ctl -D d -o "-k $PWD -h ''" -l log -w start
        pgbench -i -q postgres && pgbench -c 4 -t 50 postgres; pg_ctl -D d -w stop""",
        "actually processed: 200/200\n",
    ),
}

SET_IDS = f"""
tell() {{ printf '%s: ' "$1"; shift; "$@" 2>&1 | head -1; }}
mkdir folder; echo x > file
tell chmod chmod g+s folder
tell mkdir mkdir -m 2755 other
tell git git init -q --shared=group shared
git init -q own; git -C own config core.sharedRepository group
tell commit git -C own {WHO} commit -q --allow-empty -m x
python3 -c '
import io, tarfile
with tarfile.open("t.tar", "w") as made:
    for name, mode, kind in (("t", 0o2775, tarfile.DIRTYPE), ("t/f", 0o4755, tarfile.REGTYPE)):
        one = tarfile.TarInfo(name)
        one.mode, one.type = mode, kind
        made.addfile(one, io.BytesIO())'
tell tar-p tar -xpf t.tar
rm -rf t; tar -xf t.tar && stat -c 'tar: %a' t t/f
cp -p file copy && mkdir -m 1777 sticky && stat -c 'others: %a' sticky
"""
"""Each program that sets these bits, and the first thing it says."""

REFUSALS = """\
chmod: chmod: changing permissions of 'folder': Operation not permitted
mkdir: mkdir: cannot change permissions of 'other': Operation not permitted
git: fatal: Could not make {here}/shared/.git/hooks/ writable by group
commit: error: unable to create temporary file: Operation not permitted
tar-p: tar: t/f: Cannot change mode to rwsr-xr-x: Operation not permitted
tar: 755
tar: 755
others: 1777
"""
