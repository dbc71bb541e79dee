import { randomBytes } from 'node:crypto'
import { openSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { hostname } from 'node:os'

/** After what time without renewal the mark of a process that cannot be asked counts as left behind, milliseconds. */
const STALE_AFTER_MS = 20_000

/** Tokens of this process's marks: an older mark with its number belongs to no living process. */
const mine = new Set<string>()

/** A process that has a store open, as the name of a file tells of it. */
export interface Mark {
  readonly schema: number
  readonly pid: number
  readonly token: string
  readonly machine: string
  readonly host: string
}

/** A new mark of this process, until {@link forgetMark}. The token says in which namespace its number counts. */
export function newMark(schema: number): Mark {
  const token = `${randomBytes(6).toString('hex')}-${namespace()}`
  mine.add(token)
  return { schema, pid: process.pid, token, machine: machine(), host: hostname() }
}

export function forgetMark({ token }: Mark): void {
  mine.delete(token)
}

export function isMine({ token }: Mark): boolean {
  return mine.has(token)
}

export function nameOf({ schema, pid, token, machine: id, host }: Mark): string {
  return [schema, pid, token, id, encodeURIComponent(host)].join('_')
}

export function markOf(name: string): Mark | undefined {
  const [schema, pid, token, id, ...host] = name.split('_')
  if (token === undefined || id === undefined || host.length === 0) return undefined
  return { schema: Number(schema), pid: Number(pid), token, machine: id, host: decodeURIComponent(host.join('_')) }
}

/** The names of a folder's files; none where there is no folder. */
export function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}

/** Makes the file. Undefined where the disk has no room for a name: the store cannot be written then, but read. */
export function openMark(path: string): number | undefined {
  try {
    return openSync(path, 'w', 0o600)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') return undefined
    throw error
  }
}

export function isOnThisMachine(mark: Mark): boolean {
  return mark.machine === machine() || mark.host === hostname()
}

/**
 * Whether the process is gone. In another container its number may be another process, or none that can be seen: only that it no
 * longer renews its mark tells there. Marks of before have no namespace.
 */
export function isGone(mark: Mark, path: string): boolean {
  const [, from] = mark.token.split('-')
  if (from !== undefined && from !== namespace()) return isStale(path)
  if (mark.host === hostname()) return !lives(mark.pid)
  return isStale(path) || (isOnThisMachine(mark) && !lives(mark.pid))
}

export function isStale(path: string, milliseconds = STALE_AFTER_MS): boolean {
  return Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) > milliseconds
}

function lives(pid: number): boolean {
  if (pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return !isZombie(pid)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** Whether a process has ended, and its parent has not asked how: Linux alone tells. */
function isZombie(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return stat.startsWith('Z', stat.lastIndexOf(')') + 2)
  } catch {
    return false
  }
}

/** Of the numbers of processes; empty where there is one. */
function namespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid').replace(/\D/g, '')
  } catch {
    return ''
  }
}

let known: string | undefined

/** The running kernel, which containers share: they come and go with other names on the same machine. */
function machine(): string {
  try {
    known ??= readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    known ??= hostname().replaceAll('_', '-')
  }
  return known
}
