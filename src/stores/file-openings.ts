import { closeSync, existsSync, rmdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeFolderSync } from '../core/folders.js'
import { type Holder, isWritten } from './file-holders.js'
import { forgetMark, isGone, isMine, isStale, markOf, nameOf, namesIn, newMark, openMark } from './file-marks.js'

// A process that opens the file of a store sets the number of its last transaction, which all processes share, to the
// one that it has read a moment before. If another process commits in this moment, its commit is lost, and its pages are
// used twice (LMDB's ITS#9496, which the library's copy of LMDB still has). So no process writes while another one opens:
// one that opens leaves a mark, and waits for those that write; one that writes leaves a mark, and then looks for openings.

/** How long an opening waits for others that write: one that needs longer is stopped, and commits nothing meanwhile. */
const PATIENCE_MS = 5000
/** After what time the mark of an opening is left behind, or its process stopped: writes wait 10 s for their turn at most. */
const OPENING_STALE_AFTER_MS = 8000
const POLL_MS = 1
/** How long a process still counts as writing after its last write: most writes then change no file but the store's. */
const REST_AFTER_MS = 50

/** Runs what opens the file of a store while no other process writes into it. */
export function openAlone<T>(folder: string, open: () => T): T {
  for (;;) {
    const opening = announce(folder)
    try {
      const until = performance.now() + PATIENCE_MS
      while (isWritten(folder) && performance.now() < until) pause()
      // Others take away what is left for long: this process was stopped.
      if (opening.isKnown()) return open()
    } finally {
      opening.end()
    }
  }
}

/** The turns of one process at writing into a store. */
export class WriteTurns {
  readonly #folder: string
  readonly #holder: Holder
  #writes = 0
  /** Fulfilled when no process opens the store any more; waiting writes continue in their order. */
  #paused: Promise<void> | undefined
  #rest: NodeJS.Timeout | undefined

  constructor(folder: string, holder: Holder) {
    this.#folder = folder
    this.#holder = holder
  }

  /** Begins a write, which {@link leave} ends: at once, or when no process opens the store. */
  enter(): Promise<void> | undefined {
    return this.#paused === undefined && this.begin() ? undefined : this.wait()
  }

  leave(): void {
    if (--this.#writes > 0) return
    if (this.#paused !== undefined) this.#holder.endWriting()
    else this.#rest ??= setTimeout(() => this.rest(), REST_AFTER_MS).unref()
  }

  /** Fulfilled when all writes that wait have begun. */
  async begun(): Promise<void> {
    while (this.#paused !== undefined) {
      await this.#paused.catch(() => undefined)
      await new Promise(resolve => setImmediate(resolve))
    }
  }

  /** Writes at once, before any other write begins; blocks the thread while another process opens the store. */
  writeSync<T>(write: () => T): T {
    if (this.#writes > 0) return write()
    while (!this.begin()) pause()
    try {
      return write()
    } finally {
      this.#writes--
      this.#holder.endWriting()
    }
  }

  end(): void {
    clearTimeout(this.#rest)
  }

  private begin(): boolean {
    this.#holder.beginWriting()
    if (isOpening(this.#folder)) {
      if (this.#writes === 0) this.#holder.endWriting()
      return false
    }
    this.#writes++
    return true
  }

  private async wait(): Promise<void> {
    do {
      this.#paused ??= this.opened()
      await this.#paused
    } while (this.#paused !== undefined || !this.begin())
  }

  private async opened(): Promise<void> {
    try {
      do await sleep(POLL_MS)
      while (isOpening(this.#folder))
    } finally {
      this.#paused = undefined
    }
  }

  private rest(): void {
    this.#rest = undefined
    if (this.#writes === 0) this.#holder.endWriting()
  }
}

interface Opening {
  /** Whether others still see it. */
  isKnown(): boolean
  end(): void
}

function announce(folder: string): Opening {
  const openings = openingsOf(folder)
  const mark = newMark(0)
  const path = join(openings, nameOf(mark))
  const isSeen = leave(openings, path)
  return {
    isKnown: () => !isSeen || existsSync(path),
    end: () => {
      forgetMark(mark)
      remove(path)
      removeEmpty(openings)
    },
  }
}

/** False where this process may not write, so that it cannot lock either, or where the disk has no room: hardly anyone writes then. */
function leave(openings: string, path: string): boolean {
  for (;;) {
    try {
      makeFolderSync(openings, 0o755)
      const file = openMark(path)
      if (file !== undefined) closeSync(file)
      return file !== undefined
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined
      if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS' || code === 'ENOSPC') return false
      // Another opening has ended just now, and has taken the folder away.
      if (code !== 'ENOENT') throw error
    }
  }
}

/** Whether another process opens the store. What one that is gone has left behind is taken away, where that is allowed. */
function isOpening(folder: string): boolean {
  const openings = openingsOf(folder)
  if (!existsSync(openings)) return false
  const names = namesOf(openings)
  if (names === undefined) return !isStale(openings, OPENING_STALE_AFTER_MS)
  let found = false
  for (const name of names) {
    const [mark, path] = [markOf(name), join(openings, name)]
    if (mark !== undefined && isMine(mark)) continue
    if (mark === undefined || isGone(mark, path) || isStale(path, OPENING_STALE_AFTER_MS)) remove(path)
    else found = true
  }
  if (!found) removeEmpty(openings)
  return found
}

/** Undefined where another user has made the folder, who lets no one read it. */
function namesOf(openings: string): readonly string[] | undefined {
  try {
    return namesIn(openings)
  } catch {
    return undefined
  }
}

function remove(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // It is another user's.
  }
}

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder)
  } catch {
    // Others open the store, or were faster.
  }
}

function openingsOf(folder: string): string {
  return join(folder, 'openings')
}

function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_MS)
}
