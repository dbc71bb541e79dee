import { randomBytes } from 'node:crypto'
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, statSync, utimes } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { StoreError } from '../core/store.js'

/** How often a holder renews its file, and after what time without renewal it counts as gone, milliseconds. */
const HEARTBEAT_MS = 5000
const STALE_AFTER_MS = 20_000

/** The names of this process: an older file with this process's number belongs to no living process. */
const mine = new Set<string>()

interface Mark {
  readonly schema: number
  readonly pid: number
  readonly token: string
  readonly machine: string
  readonly host: string
}

/**
 * The processes that have a store open, as empty files beside it (so that a full disk locks no one out). Processes of
 * one machine may share a store; its library makes that safe. Two machines cannot: the library's locks are in memory
 * that they do not share, so the second one is refused. A process that would change the schema under a running one is
 * refused as well.
 */
export class Holder {
  readonly #path: string
  readonly #timer: NodeJS.Timeout
  readonly #token: string

  /** Throws {@link StoreError} if a process that cannot share the store has it open. */
  constructor(folder: string, schema: number) {
    const holders = join(folder, 'holders')
    mkdirSync(holders, { recursive: true, mode: 0o700 })
    const own: Mark = {
      schema,
      pid: process.pid,
      token: randomBytes(6).toString('hex'),
      machine: machine(),
      host: hostname(),
    }
    this.#token = own.token
    this.#path = join(holders, nameOf(own))
    mine.add(own.token)
    leaveMark(this.#path)
    try {
      for (const name of readdirSync(holders)) judge(holders, name, own)
    } catch (error) {
      this.remove()
      throw error
    }
    this.#timer = setInterval(() => this.beat(), HEARTBEAT_MS)
    this.#timer.unref()
  }

  release(): void {
    clearInterval(this.#timer)
    this.remove()
  }

  private remove(): void {
    mine.delete(this.#token)
    rmSync(this.#path, { force: true })
  }

  private beat(): void {
    const now = new Date()
    utimes(this.#path, now, now, error => {
      // Another process took it for the file of a process that is gone.
      if (error?.code === 'ENOENT' && mine.has(this.#token)) renewMark(this.#path)
    })
  }
}

function judge(holders: string, name: string, own: Mark): void {
  const other = markOf(name)
  if (other === undefined || other.token === own.token || mine.has(other.token)) return
  const age = Date.now() - (statSync(join(holders, name), { throwIfNoEntry: false })?.mtimeMs ?? 0)
  const here = other.machine === own.machine || other.host === own.host
  // A stopped process on this machine keeps its lock. In another container the same number may be another process.
  const isOver = other.host === own.host ? !lives(other.pid) : age > STALE_AFTER_MS || (here && !lives(other.pid))
  if (isOver) {
    rmSync(join(holders, name), { force: true })
    return
  }
  const who = here ? `process ${other.pid}` : `another machine (${other.host}), which cannot share it`
  if (here && other.schema === own.schema) return
  if (here && other.schema > own.schema) {
    throw new StoreError('newer', `the store is in use by a newer version (${who})`)
  }
  throw new StoreError('refused', `the store is in use by ${here ? `an older version (${who})` : who}`)
}

function lives(pid: number): boolean {
  if (pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

function leaveMark(path: string): void {
  try {
    closeSync(openSync(path, 'w', 0o600))
  } catch (error) {
    // If there is no room for a name, the store cannot be written either, but it can still be read.
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
  }
}

function renewMark(path: string): void {
  try {
    leaveMark(path)
  } catch {
    // The folder may be gone, and the store with it: the next beat tries again.
  }
}

function nameOf({ schema, pid, token, machine: id, host }: Mark): string {
  return [schema, pid, token, id, encodeURIComponent(host)].join('_')
}

function markOf(name: string): Mark | undefined {
  const [schema, pid, token, id, ...host] = name.split('_')
  if (token === undefined || id === undefined || host.length === 0) return undefined
  return { schema: Number(schema), pid: Number(pid), token, machine: id, host: decodeURIComponent(host.join('_')) }
}

/** The running kernel, which containers share: they come and go with other names on the same machine. */
function machine(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return hostname().replaceAll('_', '-')
  }
}
