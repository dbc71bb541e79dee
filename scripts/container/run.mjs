// Runs an image's command the way `docker run --read-only --cap-drop ALL` does: as its user, process 1 of its own namespaces, with a
// file system that it cannot write to and a network of its own.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { chownSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Mounts inside of the new namespaces, and then becomes the command. */
const ENTER = `
set -e
root=$1 data=$2 user=$3; shift 3
ip link set lo up
mount --bind "$root" "$root"
mount --bind "$data" "$root/data"
mount -t proc proc "$root/proc"
mount -o remount,ro,bind "$root"
exec setpriv --no-new-privs chroot --userspec="$user" "$root" "$@"
`

export class Container {
  output = ''
  #process
  #user
  #env

  /** `root` is the file system, `data` the folder for the image's volume, `env` joins the image's. */
  constructor({ root, data, config, env }) {
    const { User, Entrypoint, Cmd, Env } = config
    this.#user = User
    this.#env = { ...Object.fromEntries(Env.map(text => text.split(/=(.*)/s))), ...env }
    mkdirSync(data)
    chownSync(data, ...User.split(':').map(Number))
    const namespaces = ['--mount', '--pid', '--net', '--fork', '--kill-child']
    const inside = ['sh', '-c', ENTER, 'enter', root, data, User, ...Entrypoint, ...Cmd]
    // The first PATH is for the programs of the namespaces; after them the image's own holds.
    const outer = { ...this.#env, PATH: `${this.#env.PATH}:/usr/sbin:/sbin:/usr/bin:/bin` }
    this.#process = spawn('unshare', [...namespaces, ...inside], { env: outer, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [this.#process.stdout, this.#process.stderr])
      stream.setEncoding('utf8').on('data', text => {
        this.output += text
      })
    this.ended = new Promise(resolve => this.#process.once('close', (code, signal) => resolve({ code, signal })))
  }

  /** Runs a command beside it, as its user: status and output. */
  exec(...command) {
    const [user, group] = this.#user.split(':')
    const where = ['--target', this.#inner(), '--mount', '--pid', '--net', '--root', '--wd=/', '-S', user, '-G', group]
    const { status, stdout, stderr } = spawnSync('nsenter', [...where, ...command], {
      env: this.#env,
      encoding: 'utf8',
    })
    return { status, output: stdout + stderr }
  }

  /** The signal goes to process 1 of the container. */
  kill(signal) {
    process.kill(Number(this.#inner()), signal)
  }

  destroy() {
    this.#process.kill('SIGKILL')
  }

  #inner() {
    const { pid } = this.#process
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  }
}

/** Each file below a folder with its rights, owner, size or target, and digest: one line each, sorted. */
export function listing(root) {
  const script = `cd "$1" && { find . -type f -exec sha256sum {} + ; find . -printf '%p %M %U:%G %l\\n'; } | LC_ALL=C sort`
  return execFileSync('sh', ['-c', script, 'list', root], { encoding: 'utf8', maxBuffer: 256 * 1024 * 1024 }).split(
    '\n',
  )
}

/** Bytes of the files below a folder of a file system. */
export function sizeOf(root, folder) {
  return Number(execFileSync('du', ['--summarize', '--bytes', join(root, folder)], { encoding: 'utf8' }).split('\t')[0])
}
