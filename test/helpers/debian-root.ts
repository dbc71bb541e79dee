import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Where the `systemctl` of this root writes how it was called. */
const CALLS = '/var/log/systemctl'

/** A folder that dpkg takes for the root of a system whose init is systemd; `packages` (name, version) are installed there. */
export class DebianRoot {
  readonly folder: string

  constructor(folder: string, packages: Readonly<Record<string, string>>) {
    this.folder = folder
    for (const path of ['var/lib/dpkg/info', 'var/lib/dpkg/updates', 'var/log', 'run/systemd/system', 'tmp'])
      mkdirSync(join(folder, path), { recursive: true })
    const known = Object.entries(packages).map(
      ([name, version]) =>
        `Package: ${name}\nStatus: install ok installed\nMaintainer: none\nArchitecture: ${ARCHITECTURE()}\nVersion: ${version}\nDescription: ${name}\n`,
    )
    writeFileSync(join(folder, 'var/lib/dpkg/status'), known.join('\n'))
    this.#addShell()
    this.#write('/usr/bin/systemctl', `#!/bin/sh\necho "$*" >> ${CALLS}\n`)
  }

  /** `dpkg` with its scripts run in this root. */
  dpkg(...args: readonly string[]): { readonly status: number | null; readonly said: string } {
    const options = [`--root=${this.folder}`, '--force-confold', '--force-unsafe-io', '--log=/dev/null', ...args]
    const { status, stdout, stderr } = spawnSync('dpkg', options, { encoding: 'utf8', env: ENV })
    return { status, said: stdout + stderr }
  }

  /** What the package's scripts have asked of systemd since the last call. */
  calls(): readonly string[] {
    const path = join(this.folder, CALLS)
    if (!existsSync(path)) return []
    const calls = readFileSync(path, 'utf8').trim().split('\n')
    writeFileSync(path, '')
    return calls.filter(call => call !== '')
  }

  has(path: string): boolean {
    return existsSync(join(this.folder, path))
  }

  /** The shell that runs the scripts, with the libraries that it loads. */
  #addShell(): void {
    const shell = execFileSync('readlink', ['-f', '/bin/sh'], { encoding: 'utf8' }).trim()
    const loaded = execFileSync('ldd', [shell], { encoding: 'utf8' }).match(/\/\S+/g) ?? []
    for (const path of loaded) this.#copy(path, path)
    this.#copy(shell, '/bin/sh')
  }

  #copy(from: string, to: string): void {
    const path = join(this.folder, to)
    mkdirSync(dirname(path), { recursive: true })
    copyFileSync(from, path)
    chmodSync(path, 0o755)
  }

  #write(name: string, text: string): void {
    const path = join(this.folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text, { mode: 0o755 })
  }
}

const ENV = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin`, DEBIAN_FRONTEND: 'noninteractive' }
const ARCHITECTURE = (): string => execFileSync('dpkg', ['--print-architecture'], { encoding: 'utf8' }).trim()
