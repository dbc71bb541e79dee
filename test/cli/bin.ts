import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { childrenOf } from '../helpers/children.js'

const BIN = join(packageRoot(), 'bin', 'gateway.js')

export interface Options {
  readonly cwd?: string
  /** Joins a bare environment. */
  readonly env?: Readonly<Record<string, string>>
  /**
   * Without what the test runner puts into the processes of tests: it catches signals that would be ignored, and ends
   * the process by them.
   */
  readonly bare?: boolean
  /** Standard input, whole. */
  readonly input?: string
  /** Of the runtime, before the file. */
  readonly flags?: readonly string[]
  /** `gateway.js` of another place than this one. */
  readonly file?: string
  /** Number of the user and group that it runs as. */
  readonly user?: number
}

export interface Result {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** `gateway` as a process, the way a person starts it. */
export class Bin {
  readonly child: ChildProcess
  readonly ended: Promise<Result>
  stdout = ''
  stderr = ''
  #waiting: (() => void)[] = []

  constructor(args: readonly string[], { cwd, env, input, bare = false, flags = [], file = BIN, user }: Options = {}) {
    const least = { PATH: process.env.PATH ?? '' }
    // The runner's hook adds to the environment of whatever is started, so that it takes another program to undo that.
    const [command, ...first] = bare ? ['env', '-u', 'NODE_OPTIONS', process.execPath] : [process.execPath]
    const all = [...first, ...flags, file, ...args]
    const as = user === undefined ? {} : { uid: user, gid: user }
    this.child = spawn(command as string, all, { cwd, env: { ...least, ...env }, stdio: 'pipe', ...as })
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => this.#grow({ stdout: text }))
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => this.#grow({ stderr: text }))
    this.ended = new Promise(resolve => {
      this.child.once('close', (code, signal) => {
        resolve({ code, signal, stdout: this.stdout, stderr: this.stderr })
      })
    })
    // A program that has ended without reading its input breaks the pipe.
    this.child.stdin?.on('error', () => undefined)
    this.child.stdin?.end(input ?? '')
  }

  /** Waits until both outputs together match; fails when the process ends before. */
  async until(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.stdout) ?? pattern.exec(this.stderr)
      if (found !== null) return found
      const more = new Promise<'more'>(resolve => this.#waiting.push(() => resolve('more')))
      const result = await Promise.race([more, this.ended])
      if (result !== 'more') throw new Error(`ended before ${pattern}: ${JSON.stringify(result)}`)
    }
  }

  #grow({ stdout = '', stderr = '' }: { stdout?: string; stderr?: string }): void {
    this.stdout += stdout
    this.stderr += stderr
    for (const wake of this.#waiting.splice(0)) wake()
  }
}

/** Runs a command to its end. */
export function run(args: readonly string[], options?: Options): Promise<Result> {
  return new Bin(args, options).ended
}

/** Starts a command that continues; killed at the end of the test, with its workers, which would write into their folder. */
export function start(t: Test, args: readonly string[], options?: Options): Bin {
  const bin = new Bin(args, options)
  t.teardown(async () => {
    const workers = childrenOf(bin.child.pid)
    bin.child.kill('SIGKILL')
    for (const pid of workers) kill(pid)
    await bin.ended
  })
  return bin
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has just ended.
  }
}
